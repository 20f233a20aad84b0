"""Search: every system, term, demo, page, live model and correction that fits a few words."""

from core.ui.links import close_page, link_row, open_page
from core.ui.page import header
from core.ui.search import search_page

header("Search", "Find a system, a term, a demo or a correction by a word of it, even misspelt.")
state = open_page("search")
search_page(state)
link_row(state)
close_page(state)
