"""Fine-tuning: a pretrained model learns a few labeled texts, beside a frozen one and random weights."""

from core.ui.finetuning import LEARN, MODEL
from core.ui.picker import nothing_runs
from core.ui.section import Page

PAGE = Page("fine-tuning", (LEARN,), unavailable=lambda: nothing_runs(MODEL.offered()))

if __name__ == "__main__":
    PAGE.run()
