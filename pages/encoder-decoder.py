"""The encoder-decoder branch: text in, text out, and the cross-attention of each new token."""

from core.ui.branch import branch_page
from core.ui.demos.rewrite import REWRITE
from core.ui.demos.structure import UNIFIED

DEMOS = (REWRITE,)
PAGE = branch_page("encoder-decoder", *DEMOS, other_demos={"unilm": (UNIFIED.section(),)})

if __name__ == "__main__":
    PAGE.run()
