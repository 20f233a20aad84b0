r"""Attention of three tokens with two dimensions, computed by hand: the example of ``assets/by-hand.toml``.

.. math:: S = Q K^\top, \quad A = \mathrm{softmax}\Bigl(\frac{S / \sqrt d + M}{T}\Bigr), \quad O = A V

(Vaswani et al. 2017, arXiv 1706.03762). With rotation, queries and keys are first rotated by their position times an
angle (RoPE: Su et al. 2021, arXiv 2104.09864). Two heads are concatenated and projected, :math:`Y = [O_1; O_2] W_O`.

``assets/components/byhand/compute.js`` computes the same in the browser; ``tests/byhand.json`` holds cases for both. A
tensor is named by a letter and, of a head, its number: ``q1`` queries, ``k1`` keys, ``v1`` values; ``r1`` and ``u1``
rotated queries and keys; ``s1`` scores, ``d1`` divided by √d, ``m1`` masked, ``x1`` divided by the temperature; ``a1``
weights, ``o1`` output; ``c`` concatenated, ``w`` W_O, ``y`` projected; ``p`` positions, ``g`` angle, ``t`` temperature.
A cell of a link is ``q131_4``: in q1, row 3, column 1 is 4. Cells are joined by ``~``.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Literal

from core.settings import ASSETS

Mode = Literal["head", "rotation", "temperature", "heads"]
Matrix = tuple[tuple[float, ...], ...]
MODES: tuple[Mode, ...] = ("head", "rotation", "temperature", "heads")
DIMENSION = 2
"""d of each head."""
MOST_CHARACTERS = 900
"""Of all changed cells in a link: the longest value in each of the 57 fits."""
BOUNDS: Mapping[str, tuple[float, float, int]] = MappingProxyType(
    {"p": (0, 999, 0), "g": (-360, 360, 2), "t": (0.01, 99, 2)}
)
"""The lowest and the highest value of a cell, and its decimals; all others are bounded by :data:`OTHERS`."""
OTHERS = (-99.0, 99.0, 2)
_CELL = re.compile(
    r"(?P<tensor>[a-z][12]?)(?P<row>[1-9])(?P<column>[1-9])_(?P<value>-?\d{1,3}(?:\.\d{1,2})?)", re.ASCII
)


@dataclass(frozen=True, slots=True)
class Example:
    """The tokens, and each tensor that a visitor may change."""

    tokens: tuple[str, ...]
    dimensions: tuple[str, ...]
    """What the two dimensions of queries and keys mean here."""
    cells: Mapping[str, Matrix]


@cache
def example() -> Example:
    """The one of ``assets/by-hand.toml``."""
    stored = tomllib.loads((ASSETS / "by-hand.toml").read_text(encoding="utf-8"))
    cells = {name: _matrix(rows) for name, rows in stored["cells"].items()}
    return Example(tuple(stored["tokens"]), tuple(stored["dimensions"]), MappingProxyType(cells))


def read_cells(written: str) -> dict[str, Matrix]:
    """The example's tensors with the cells of a link changed.

    Raises:
        ValueError: it is too long, or has a cell or a value that there is not; the message completes a sentence.
    """
    if len(written) > MOST_CHARACTERS:
        raise ValueError(f"its cells have {len(written):,} characters; at most {MOST_CHARACTERS} fit")
    changed = {name: [list(row) for row in rows] for name, rows in example().cells.items()}
    for cell in filter(None, written.split("~")):
        match = _CELL.fullmatch(cell)
        rows = changed.get(match["tensor"], []) if match else []
        if match is None or int(match["row"]) > len(rows) or int(match["column"]) > len(rows[0]):
            raise ValueError(f"“{cell[:20]}” is no cell; one is written as q131_4")
        low, high, decimals = BOUNDS.get(match["tensor"], OTHERS)
        value = float(match["value"])
        if not low <= value <= high or round(value, decimals) != value:
            raise ValueError(f"“{cell[:20]}” must lie from {low:g} to {high:g}, with at most {decimals} decimals")
        rows[int(match["row"]) - 1][int(match["column"]) - 1] = value
    return {name: _matrix(rows) for name, rows in changed.items()}


def compute(cells: Mapping[str, Matrix], mode: Mode, *, causal: bool) -> dict[str, Matrix]:
    """Every tensor of a mode by its name, those of ``cells`` included; a masked score is −∞."""
    tensors = dict(cells)
    for head in "12" if mode == "heads" else "1":
        queries, keys = cells[f"q{head}"], cells[f"k{head}"]
        if mode == "rotation":
            angles = [position * cells["g"][0][0] for (position,) in cells["p"]]
            queries = tuple(rotate(row, angle) for row, angle in zip(queries, angles, strict=True))
            keys = tuple(rotate(row, angle) for row, angle in zip(keys, angles, strict=True))
            tensors |= {f"r{head}": queries, f"u{head}": keys}
        scores = tuple(tuple(_dot(query, key) for key in keys) for query in queries)
        divided = _map(scores, 1 / math.sqrt(DIMENSION))
        masked = tuple(
            tuple(-math.inf if causal and j > i else score for j, score in enumerate(row))
            for i, row in enumerate(divided)
        )
        logits = masked
        if mode == "temperature":
            logits = tensors[f"x{head}"] = _map(masked, 1 / cells["t"][0][0])
        weights = tuple(softmax(row) for row in logits)
        output = product(weights, cells[f"v{head}"])
        tensors |= {f"s{head}": scores, f"d{head}": divided, f"m{head}": masked}
        tensors |= {f"a{head}": weights, f"o{head}": output}
    if mode == "heads":
        joined = tuple(first + second for first, second in zip(tensors["o1"], tensors["o2"], strict=True))
        tensors |= {"c": joined, "y": product(joined, cells["w"])}
    return tensors


def rotate(vector: tuple[float, ...], degrees: float) -> tuple[float, float]:
    """A pair of numbers rotated counterclockwise; exact for multiples of 90 degrees."""
    x, y = vector
    cos, sin = _turn(degrees)
    return x * cos - y * sin, x * sin + y * cos


def _turn(degrees: float) -> tuple[float, float]:
    """Cosine and sine."""
    quarters, rest = divmod(degrees % 360, 90)
    if rest == 0:
        return ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))[int(quarters) % 4]
    return math.cos(math.radians(degrees)), math.sin(math.radians(degrees))


def softmax(scores: tuple[float, ...]) -> tuple[float, ...]:
    """Weights that sum to 1; at least one score is finite."""
    most = max(scores)
    shares = [math.exp(score - most) for score in scores]
    return tuple(share / sum(shares) for share in shares)


def product(left: Matrix, right: Matrix) -> Matrix:
    """The matrix product."""
    columns = tuple(zip(*right, strict=True))
    return tuple(tuple(_dot(row, column) for column in columns) for row in left)


def _dot(first: tuple[float, ...], second: tuple[float, ...]) -> float:
    return sum(x * y for x, y in zip(first, second, strict=True))


def _map(rows: Matrix, factor: float) -> Matrix:
    return tuple(tuple(value * factor for value in row) for row in rows)


def _matrix(rows: list[list[float]]) -> Matrix:
    return tuple(tuple(float(value) for value in row) for row in rows)
