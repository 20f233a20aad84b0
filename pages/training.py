"""Training: how a task is written as tokens, and a pretrained model that learns one from a few labeled examples."""

from core.ui.finetuning.inputs import INPUTS
from core.ui.finetuning.run import MODEL
from core.ui.finetuning.train import TRAIN
from core.ui.picker import nothing_runs
from core.ui.section import Page

PAGE = Page("training", (INPUTS, TRAIN), unavailable=lambda: nothing_runs(MODEL.offered()))

if __name__ == "__main__":
    PAGE.run()
