"""Sources: where the five documents err, what they are, and every citation with how it was read."""

from core.ui.section import Page
from core.ui.sources.citations import CITATIONS, DOCUMENTS
from core.ui.sources.corrections import CORRECTIONS

PAGE = Page("sources", (CORRECTIONS, DOCUMENTS, CITATIONS))

if __name__ == "__main__":
    PAGE.run()
