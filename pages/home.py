"""Home: the family over the years, the four doors, where to begin, and what runs here. Nothing here needs torch."""

from core.ui.home import HOME
from core.ui.section import Page

PAGE = Page("home", (HOME,))

if __name__ == "__main__":
    PAGE.run()
