"""Training: how a task is written as tokens, and a pretrained model that learns one from a few labeled examples."""

from core.ui.picker import nothing_runs
from core.ui.section import Page
from core.ui.training.data import DATA
from core.ui.training.inputs import INPUTS
from core.ui.training.run import MODEL
from core.ui.training.scratch import SCRATCH
from core.ui.training.train import TRAIN

PAGE = Page("training", (SCRATCH, DATA, TRAIN, INPUTS), unavailable=lambda: nothing_runs(MODEL.offered()))

if __name__ == "__main__":
    PAGE.run()
