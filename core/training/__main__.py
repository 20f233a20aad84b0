"""``python -m core.training RECIPE --corpus DIR``: the training command without the rest of the command line.

It is what a launcher starts: ``accelerate launch --num_processes 4 -m core.training RECIPE --corpus DIR``.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from core.errors import AtlasError


def main() -> None:
    """Trains as the arguments say; an `AtlasError` becomes its sentence and exit status 1."""
    parser = argparse.ArgumentParser(prog="python -m core.training", description="Train a recipe.")
    parser.add_argument("recipe")
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--fresh", action="store_true")
    given = parser.parse_args()
    try:
        from core.training.run import cli_train

        made = cli_train(**vars(given))
        if os.environ.get("RANK", "0") == "0":  # of several processes one says where the result is
            print(made)
    except AtlasError as error:
        print(error, file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
