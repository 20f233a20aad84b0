"""The terms of the field and all that fits a few words; where the five documents err; citations and attribution."""

from core.ui.about import ABOUT
from core.ui.corrections import CORRECTIONS
from core.ui.glossary_list import TERMS
from core.ui.section import Page

PAGE = Page("glossary", (TERMS, CORRECTIONS, ABOUT))

if __name__ == "__main__":
    PAGE.run()
