"""Experiments: claims of papers, repeated at a small size, each with its numbers and the command that repeats it; and
duplicates in a text of the visitor's."""

from core.ui.dedup import DEDUP
from core.ui.experiments import PAGE as SLUG
from core.ui.experiments import experiment
from core.ui.section import Page

STUDIES = (
    *("examples", "pretraining", "scaling", "distillation", "widths", "compression"),
    *("lengths", "facts", "duplication", "batches", "noise"),
)
PAGE = Page(SLUG, (*map(experiment, STUDIES), DEDUP))

if __name__ == "__main__":
    PAGE.run()
