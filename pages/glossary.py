"""Glossary, search: the terms of the field, each with a place to try it, and all that fits a few words."""

from core.ui.glossary_list import TERMS
from core.ui.section import Page

PAGE = Page("glossary", (TERMS,))

if __name__ == "__main__":
    PAGE.run()
