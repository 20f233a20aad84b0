"""Glossary: the terms of the field in plain words, each with a place to try it."""

from core.ui.glossary_list import glossary_page
from core.ui.links import close_page, link_row

state = glossary_page()
link_row(state)
close_page(state)
