"""The Transformer: a live model's run as one picture, attention by hand, and one sentence in three architectures."""

from core.ui.architectures import BESIDE
from core.ui.byhand import SECTION as BY_HAND
from core.ui.picker import nothing_runs
from core.ui.section import Page
from core.ui.transformer import SECTION, models

PAGE = Page("transformer", (SECTION, BY_HAND, BESIDE), unavailable=lambda: nothing_runs(models()))

if __name__ == "__main__":
    PAGE.run()
