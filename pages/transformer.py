"""The Transformer: a live model's run as one picture, from a sentence to the prediction."""

from core.ui.picker import nothing_runs
from core.ui.section import Page
from core.ui.transformer import SECTION, models

PAGE = Page("transformer", (SECTION,), unavailable=lambda: nothing_runs(models()))

if __name__ == "__main__":
    PAGE.run()
