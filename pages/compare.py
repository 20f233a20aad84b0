"""Compare: every system in one table with its sources, two trees laid side by side by meaning, sizes and costs."""

from core.ui.compare.sizes import SIZES
from core.ui.compare.table import TABLE
from core.ui.compare.trees import TREES
from core.ui.section import Page

PAGE = Page("compare", (TABLE, TREES, SIZES))

if __name__ == "__main__":
    PAGE.run()
