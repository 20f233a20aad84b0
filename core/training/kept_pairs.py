"""Pairs of texts as tokens, kept beside a run's state: written once for a recipe's sources and data, then mapped."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from core.training.batches import Ints, Ragged
from core.training.recipe import Recipe

Kept = tuple[Any, Ragged, Ragged, Ints, dict[str, list[list[str]]]]
"""Tokeniser; n inputs; n outputs; (n,) the number of each pair's source; held-out pairs of texts by task."""


def kept_pairs(recipe: Recipe, cache: Path, write: Callable[[Path], None]) -> Kept:
    """What ``write`` put into a folder of ``cache``, which it is asked for where nothing is there yet.

    It writes ``tokenizer.json``, ``inputs``, ``outputs``, ``task.npy`` and, last, ``test.json``.
    """
    key = hashlib.blake2b(repr((recipe.sources, recipe.data)).encode(), digest_size=6).hexdigest()
    stem = cache / key
    if not (stem / "test.json").is_file():
        write(stem)
    from tokenizers import Tokenizer

    return (
        Tokenizer.from_file(str(stem / "tokenizer.json")),
        Ragged.load(stem / "inputs"),
        Ragged.load(stem / "outputs"),
        np.load(stem / "task.npy", mmap_mode="r"),
        json.loads((stem / "test.json").read_text(encoding="utf-8")),
    )
