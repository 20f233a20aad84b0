"""The props of the picture's component: one bounded JSON of a run, with tensors as 16-bit integers in base64.

A tensor is ``{"shape": [...], "scale": s, "data": base64}``: value = integer · s, little-endian, row by row. Of a mask,
the cells are written as a text of 0 and 1.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np

from core.attention.inside.overview import Lane, Overview, Tensors
from core.attention.inside.steps import slug
from core.attention.trace import Floats

WEIGHT = 1e-4
"""The step of attention weights."""
_LARGEST = 32_000


def packed(values: Floats, scale: float | None = None) -> dict[str, Any]:
    """``values`` as integers: each is exact to half a step; without ``scale``, steps suit the largest value."""
    finite = np.where(np.isfinite(values), values, 0)
    step = scale or max(float(np.abs(finite).max(initial=0)) / _LARGEST, 1e-6)
    integers = np.round(finite / step).astype("<i2")
    return {
        "shape": list(values.shape),
        "scale": step,
        "data": base64.b64encode(integers.tobytes()).decode("ascii"),
    }


def run_data(run: Overview) -> dict[str, Any]:
    """The run itself, without words."""
    return {
        "lanes": [_lane(lane) for lane in run.lanes],
        "answers": [
            {"position": one.position, "tokens": one.tokens, "probabilities": _rounded(one.probabilities)}
            for one in run.answers
        ],
        "lens": [{"tokens": one.tokens, "probabilities": _rounded(one.probabilities)} for one in run.by_layer],
        "vocabulary": run.vocabulary,
    }


def first_position(run: Overview) -> int:
    """The predicting position (from 0) that the picture opens with; of an output one that has tokens before it."""
    if not run.answers:
        return len(run.lanes[-1].tokens) - 1
    return run.answers[0 if len(run.lanes) == 1 else min(2, len(run.answers) - 1)].position


def first_head(run: Overview) -> int:
    """The head (from 0) that the picture opens with: of the first block, the one whose predicting position attends most
    to a token that is neither itself, nor its neighbor, nor at an end: there is something to see."""
    lane, row = run.lanes[-1], first_position(run)
    weights = lane.block[slug("attention", "weights")].values[0, :, row].copy()  # (H, n)
    weights[:, max(row - 1, 0) : row + 2] = 0
    weights[:, [0, -1]] = 0
    return int(weights.max(-1).argmax())


def _lane(lane: Lane) -> dict[str, Any]:
    return {
        "side": lane.side,
        "tokens": lane.tokens,
        "ids": lane.ids,
        "layers": lane.layers,
        "heads": lane.heads,
        "prenorm": lane.pre_norm,
        "embedding": _entries(lane.embedding),
        "block": _entries(lane.block),
        "end": _entries(lane.end),
    }


def _entries(steps: Mapping[str, Tensors]) -> dict[str, Any]:
    return {name: _entry(name, tensors) for name, tensors in steps.items()}


def _entry(name: str, tensors: Tensors) -> dict[str, Any]:
    shape = {"shape": list(tensors.shape)}
    if name.endswith("-mask"):
        allowed = np.isfinite(tensors.values[0, 0])
        return shape | {"allowed": "".join("1" if cell else "0" for cell in allowed.ravel())}
    entry = shape | {"values": packed(tensors.values, WEIGHT if name.endswith("-weights") else None)}
    return entry if tensors.norms is None else entry | {"norms": packed(tensors.norms)}


def _rounded(probabilities: tuple[float, ...]) -> list[float]:
    return [float(f"{probability:.4g}") for probability in probabilities]
