"""Writes what pages open with: the runs of Training (`core.finetuning.record`), Home's masked word
(`core.attention.masked_word`)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import TypeAdapter

from core import checkpoints
from core.attention import masked_word
from core.checkpoints.spec import Checkpoint
from core.finetuning.record import FIELDS, FILE, OPENS_WITH, SETS, data, runs
from core.finetuning.train import fine_tune


def write(path: Path = FILE) -> None:
    """Train and store the runs of all ready sets, each with the model that its page opens with."""
    arrays: dict[str, Any] = {}
    for name in SETS:
        arrays |= trained(checkpoints.load(checkpoints.first(OPENS_WITH.get(name, "fine-tuning"))[0]), name)
    np.savez_compressed(path, allow_pickle=False, **arrays)


def trained(checkpoint: Checkpoint, name: str) -> dict[str, Any]:
    """Train the runs of a set; what the file stores of them."""
    arrays: dict[str, Any] = {f"{name}.model": np.array(checkpoint.spec.slug)}
    for run, setup in runs(name).items():
        epochs = list(fine_tune(checkpoint, data(name), replace(setup, seconds=float("inf"))))
        for field in FIELDS:
            values = np.array([getattr(epoch, field) for epoch in epochs])
            arrays[f"{name}.{run}.{field}"] = values.astype(np.float16 if field == "probabilities" else np.float32)
    return arrays


def write_home(path: Path = masked_word.FILE) -> None:
    """Compute and store the masked word that Home opens with, and the SHA-256 of the model's files."""
    checkpoint = checkpoints.load(checkpoints.first("home")[0])
    opening = masked_word.Stored(
        masked_word.hashes(Path(checkpoint.spec.location)),
        masked_word.read_masked_word(checkpoint, masked_word.OPENS_WITH),
    )
    path.write_bytes(TypeAdapter(masked_word.Stored).dump_json(opening, indent=1) + b"\n")
