"""Representations: what a word is to a model, layer by layer; its input embeddings and its positions."""

from core.ui.picker import nothing_runs
from core.ui.section import Page
from core.ui.vectors.common import MODEL
from core.ui.vectors.input_embeddings import SUM
from core.ui.vectors.positions import POSITIONS
from core.ui.vectors.word import WORD_SECTION

PAGE = Page("vectors", (WORD_SECTION, SUM, POSITIONS), unavailable=lambda: nothing_runs(MODEL.offered()))

if __name__ == "__main__":
    PAGE.run()
