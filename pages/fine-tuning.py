"""Fine-tuning: a pretrained model learns a few labeled texts."""

from core.ui.finetuning.learn import LEARN
from core.ui.finetuning.learning_curve import CURVE
from core.ui.finetuning.run import MODEL
from core.ui.finetuning.spans import SPANS
from core.ui.finetuning.tags import TOKENS
from core.ui.picker import nothing_runs
from core.ui.section import Page

PAGE = Page(
    "fine-tuning",
    (LEARN, CURVE, TOKENS, SPANS),
    unavailable=lambda: nothing_runs(MODEL.offered()),
)

if __name__ == "__main__":
    PAGE.run()
