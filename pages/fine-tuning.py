"""Fine-tuning: a pretrained model learns a few labeled texts; adapters and LoRA by size."""

from core.ui.finetuning import CHANGED, CURVE, LEARN, MODEL, TOKENS
from core.ui.picker import nothing_runs
from core.ui.section import Page
from core.ui.widths import WIDTHS

PAGE = Page("fine-tuning", (LEARN, CURVE, CHANGED, TOKENS, WIDTHS), unavailable=lambda: nothing_runs(MODEL.offered()))

if __name__ == "__main__":
    PAGE.run()
