"""About: licenses and attribution of every text and weight used, versions, how to add models, how to cite."""

from core.ui.about import ABOUT
from core.ui.section import Page

PAGE = Page("about", (ABOUT,))

if __name__ == "__main__":
    PAGE.run()
