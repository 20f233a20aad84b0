"""Sources: where the five documents err, what they are, and every citation with how it was read."""

from core.ui.section import Page
from core.ui.sources.corrections import CITATIONS, CORRECTIONS, DOCUMENTS

PAGE = Page("sources", (CORRECTIONS, DOCUMENTS, CITATIONS))

if __name__ == "__main__":
    PAGE.run()
