"""Every live model in one list: what its files and its card state, in an order that the reader chooses.

Nothing is known by name here. A model of a kind that this module has never heard of is listed like any other, with what
its card and its files say.

A checkpoint's learning curve: what was measured while it was trained, from ``curve.csv`` beside its card.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from core.catalogue import BRANCHES
from core.checkpoints import registry
from core.checkpoints.sizes import Size, size_of
from core.checkpoints.spec import CheckpointSpec, Measure


@dataclass(frozen=True, slots=True)
class Point:
    """One measurement. ``tokens`` is how many tokens had been seen, ``split`` the texts it was measured on."""

    tokens: int
    minutes: float
    split: str
    measure: str
    value: float


def read_curve(folder: Path) -> tuple[Point, ...]:
    """The measurements in order of the file; empty when there is no readable curve (a curve is never essential)."""
    try:
        with (folder / "curve.csv").open(newline="", encoding="utf-8") as stream:
            return tuple(
                Point(int(row["tokens"]), float(row["minutes"]), row["split"], row["measure"], float(row["value"]))
                for row in csv.DictReader(stream)
            )
    except (OSError, ValueError, KeyError, TypeError):
        return ()


_FALLS = ("loss", "bits", "perplexity", "error", "brier", "cer ")


@dataclass(frozen=True, slots=True)
class Listed:
    """One live model. ``size`` is None where its files cannot be read."""

    spec: CheckpointSpec
    size: Size | None

    @property
    def tokens(self) -> int | None:
        """How many tokens it saw in training; None where no card says so."""
        return self.spec.card.tokens if self.spec.card else None

    @property
    def quality(self) -> Measure | None:
        """The measure that its card calls its headline, else the first one."""
        card = self.spec.card
        if card is None or not card.measures:
            return None
        headline = card.extra.get("headline")
        return next((measure for measure in card.measures if measure.name == headline), card.measures[0])


@dataclass(frozen=True, slots=True)
class Curve:
    """A model's learning curve."""

    spec: CheckpointSpec
    points: tuple[Point, ...]


def live() -> tuple[Listed, ...]:
    """Every model that can run here without a download."""
    return tuple(Listed(spec, size_of(spec)) for spec in registry.available() if spec.ready)


def curves() -> tuple[Curve, ...]:
    """The live models that have a learning curve, with it."""
    curves_found = []
    for spec in registry.available():
        # Only what was trained here has one; a host's folder is never searched for it.
        if spec.ready and spec.card is not None:
            points = read_curve(registry.bundled_root() / spec.slug)
            if points:
                curves_found.append(Curve(spec, points))
    return tuple(curves_found)


def falls(measure: str) -> bool:
    """Whether a smaller value of ``measure`` is a better one."""
    return any(word in measure.lower() for word in _FALLS)


Order = Callable[[Listed], tuple[object, ...]]


def ordered(models: Iterable[Listed], by: str = "branch", seconds: Mapping[str, float] | None = None) -> list[Listed]:
    """``models`` in an order of :data:`ORDERS`; what lacks the number stands last.

    ``seconds`` are measured times by slug, for the order ``fast``.
    """
    times = seconds or {}
    keys: dict[str, Order] = {
        "branch": lambda m: (_place(m.spec.branch),),
        "name": lambda m: (),
        "few": lambda m: (m.size is None, m.size.all_parameters if m.size else 0),
        "many": lambda m: (m.size is None, -m.size.all_parameters if m.size else 0),
        "bytes": lambda m: (m.size is None, m.size.all_bytes if m.size else 0),
        "tokens": lambda m: (m.tokens is None, -(m.tokens or 0)),
        "quality": _by_quality,
        "fast": lambda m: (m.spec.slug not in times, times.get(m.spec.slug, 0.0)),
    }
    key = keys[by]
    return sorted(models, key=lambda m: (*key(m), m.spec.name.lower(), m.spec.slug))


ORDERS = {
    "branch": "branch",
    "name": "name",
    "few": "fewest parameters",
    "many": "most parameters",
    "bytes": "fewest bytes",
    "tokens": "most training tokens",
    "quality": "quality, like with like",
    "fast": "shortest time",
}
"""The orders of :func:`ordered`, each with its name on a menu."""


def _place(branch: str) -> int:
    return BRANCHES.index(branch) if branch in BRANCHES else len(BRANCHES)


def _by_quality(model: Listed) -> tuple[object, ...]:
    """Equal measures on equal texts stand together, the best first: only those can be compared."""
    quality = model.quality
    if quality is None:
        return (True, "", "", 0.0)
    return (False, quality.name, quality.on, quality.value if falls(quality.name) else -quality.value)
