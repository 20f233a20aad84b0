"""Experiments: claims of papers, repeated at a small size, each with its numbers and the command that repeats it; and
duplicates in a text of the visitor's."""

from core.ui.dedup import DEDUP
from core.ui.experiments import PAGE as SLUG
from core.ui.experiments import experiment
from core.ui.section import grouped

PAGE = grouped(
    SLUG,
    {
        "tuning": tuple(map(experiment, ("examples", "widths", "warm-start", "preferences"))),
        "pretraining": (*map(experiment, ("pretraining", "scaling", "batches", "noise")), DEDUP),
        "smaller": (experiment("distillation"), experiment("compression")),
        "long": (experiment("lengths"), experiment("facts"), experiment("duplication")),
    },
)

if __name__ == "__main__":
    PAGE.run()
