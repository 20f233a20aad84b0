"""Calculators: how many parameters a network has, and what training and running it takes."""

from core.ui.calculators.memory import CACHE, FIT, TRAINING
from core.ui.calculators.parallel import PARALLEL
from core.ui.calculators.parameters import PARAMETERS
from core.ui.calculators.scaling import SCALING
from core.ui.section import Page

PAGE = Page("calculators", (PARAMETERS, TRAINING, CACHE, FIT, SCALING, PARALLEL))

if __name__ == "__main__":
    PAGE.run()
