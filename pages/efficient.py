"""The efficient branch: what each system saves, and a long text through sparse and through full attention."""

from core.ui.branch import branch_page
from core.ui.demos.buckets import HASHING, READING
from core.ui.demos.generate import GENERATE
from core.ui.demos.sparse import SPARSE, WINDOW
from core.ui.efficient.batches import BATCH
from core.ui.efficient.measured import MEASURED
from core.ui.efficient.saved import SAVED

DEMOS = (HASHING, READING, GENERATE, WINDOW, SPARSE)
PAGE = branch_page("efficient", *DEMOS, lead=SAVED, more=(MEASURED, BATCH))

if __name__ == "__main__":
    PAGE.run()
