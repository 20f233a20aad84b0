"""``python -m core.training RECIPE --corpus DIR``: the training command without the rest of the command line."""

from __future__ import annotations

import argparse
from pathlib import Path

from core.training.run import cli_train

parser = argparse.ArgumentParser(prog="python -m core.training", description="Train a recipe.")
parser.add_argument("recipe")
parser.add_argument("--corpus", type=Path, required=True)
parser.add_argument("--minutes", type=float)
parser.add_argument("--threads", type=int)
parser.add_argument("--output", type=Path)
parser.add_argument("--fresh", action="store_true")
given = parser.parse_args()
print(
    cli_train(
        given.recipe,
        given.corpus,
        minutes=given.minutes,
        threads=given.threads,
        output=given.output,
        fresh=given.fresh,
    )
)
