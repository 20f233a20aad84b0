"""About, sources: where the five documents err, every citation with how it was read, what the Atlas builds on."""

from core.ui.about import ABOUT
from core.ui.section import Page
from core.ui.sources.corrections import CITATIONS, CORRECTIONS

PAGE = Page("sources", (CORRECTIONS, CITATIONS, ABOUT))

if __name__ == "__main__":
    PAGE.run()
