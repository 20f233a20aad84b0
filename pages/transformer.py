"""The Transformer: a live model's run as one picture, from a sentence to the prediction."""

from core.ui.section import Page
from core.ui.transformer import SECTION, no_model

PAGE = Page("transformer", (SECTION,), unavailable=no_model)

if __name__ == "__main__":
    PAGE.run()
