"""Models: all live models in a table, two on one sentence, and learning curves."""

from core.checkpoints.listing import live
from core.ui.picker import nothing_runs
from core.ui.section import Page
from core.ui.zoo.models import CURVES, MODELS
from core.ui.zoo.side_by_side import SIDE

PAGE = Page("zoo", (MODELS, SIDE, CURVES), unavailable=lambda: nothing_runs(live()))

if __name__ == "__main__":
    PAGE.run()
