"""Objectives: what each model of the family is asked while it learns, on the visitor's own sentence."""

from core.ui.masks.masks import MASKS
from core.ui.objectives.objective import MODEL, OBJECTIVES, TEXT
from core.ui.section import Page

PAGE = Page("objectives", (OBJECTIVES, MASKS), params=(MODEL, TEXT))

if __name__ == "__main__":
    PAGE.run()
