"""Search: every system, term, demo, page, live model and correction that fits a few words."""

from core.ui.search import SEARCH
from core.ui.section import Page

PAGE = Page("search", (SEARCH,))

if __name__ == "__main__":
    PAGE.run()
