"""Glossary: the terms of the field in plain words, each with a place to try it."""

from core.ui.glossary_list import TERMS
from core.ui.section import Page

PAGE = Page("glossary", (TERMS,))

if __name__ == "__main__":
    PAGE.run()
