"""The efficient branch: a long text through sparse and through full attention, and what each system saves."""

from dataclasses import replace

from core.ui.branch import branch_page
from core.ui.demos.buckets import HASHING, READING
from core.ui.demos.fill_mask import MASKS
from core.ui.demos.generate import GENERATE
from core.ui.demos.rewrite import REWRITE
from core.ui.demos.sparse import SPARSE, WINDOW
from core.ui.efficient.saved import saving

_ENCODER = replace(MASKS, only=lambda spec: not (WINDOW.fits(spec) or SPARSE.fits(spec)))
"""Of a host's FNet or Funnel, whose way to save has no demo of its own."""
DEMOS = (_ENCODER, REWRITE, HASHING, READING, GENERATE, WINDOW, SPARSE)
PAGE = branch_page("efficient", *DEMOS, below=saving)

if __name__ == "__main__":
    PAGE.run()
