"""The Transformer: a live model's run as one picture, and one sentence in three architectures."""

from core.ui.architectures import BESIDE
from core.ui.picker import nothing_runs
from core.ui.section import Page
from core.ui.transformer import SECTION, models

PAGE = Page("transformer", (SECTION, BESIDE), unavailable=lambda: nothing_runs(models()))

if __name__ == "__main__":
    PAGE.run()
