"""The timeline: the family over the years, by branch or by size, played; one line of descent; the same as a table."""

from core.ui.section import Page
from core.ui.timeline import FAMILY

PAGE = Page("timeline", (FAMILY,))

if __name__ == "__main__":
    PAGE.run()
