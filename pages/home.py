"""Home: a masked word predicted live, three doors, where to begin, and what runs here."""

from core.ui.home import HOME
from core.ui.section import Page

PAGE = Page("home", (HOME,))

if __name__ == "__main__":
    PAGE.run()
