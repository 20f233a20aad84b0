"""Tokenizers: how a text becomes tokens, what each kind loses, and how one is trained."""

from core.ui.section import Page
from core.ui.tokenizers.side_by_side import BESIDE, LANGUAGES
from core.ui.tokenizers.steps import STEPS
from core.ui.tokenizers.train import TRAIN

PAGE = Page("tokenizers", (BESIDE, STEPS, TRAIN, LANGUAGES))

if __name__ == "__main__":
    PAGE.run()
