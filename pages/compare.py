"""Compare: every system in one table with its sources, and two trees laid side by side by meaning."""

from core.ui.compare.table import TABLE
from core.ui.compare.trees import TREES
from core.ui.section import Page

PAGE = Page("compare", (TABLE, TREES))

if __name__ == "__main__":
    PAGE.run()
