"""The list of all live models, from their files and cards, and the learning curves in ``curve.csv`` beside a card."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from core.catalogue.schema import BRANCHES
from core.checkpoints import registry
from core.checkpoints.sizes import Size, size_of
from core.checkpoints.spec import CheckpointSpec, Measure


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """One measurement of a learning curve, after ``tokens`` training tokens, on the texts of ``split``."""

    tokens: int
    minutes: float
    split: str
    measure: str
    value: float


def read_curve(folder: Path) -> tuple[CurvePoint, ...]:
    """The measurements in the order of the file; empty where the curve is missing or cannot be read."""
    try:
        with (folder / "curve.csv").open(newline="", encoding="utf-8") as stream:
            return tuple(
                CurvePoint(int(row["tokens"]), float(row["minutes"]), row["split"], row["measure"], float(row["value"]))
                for row in csv.DictReader(stream)
            )
    except (OSError, ValueError, KeyError, TypeError):
        return ()


_LOWER = ("loss", "bits", "perplexity", "error", "brier", "cer ")


@dataclass(frozen=True, slots=True)
class Listed:
    """A live model. ``size`` is None where its files cannot be read."""

    spec: CheckpointSpec
    size: Size | None
    apart: bool = False
    """No checkpoint, so that no pass is timed: see `registry.apart`."""

    @property
    def tokens(self) -> int | None:
        """Training tokens; None without a card."""
        return self.spec.card.tokens if self.spec.card else None

    @property
    def quality(self) -> Measure | None:
        """The measure that its card names as ``headline``, else the first."""
        card = self.spec.card
        if card is None or not card.measures:
            return None
        headline = card.extra.get("headline")
        return next((measure for measure in card.measures if measure.name == headline), card.measures[0])


def live() -> tuple[Listed, ...]:
    """All models that can run here without a download."""
    return tuple(Listed(spec, size_of(spec)) for spec in registry.available() if spec.ready)


def apart() -> tuple[Listed, ...]:
    """The bundled models that are no checkpoints."""
    return tuple(Listed(spec, size_of(spec), apart=True) for spec in registry.apart())


def lower_is_better(measure: str) -> bool:
    """Whether a smaller value of ``measure`` is better."""
    return any(word in measure.lower() for word in _LOWER)


Order = Callable[[Listed], tuple[object, ...]]


def ordered(models: Iterable[Listed], by: str = "branch") -> list[Listed]:
    """``models`` in an order of :data:`ORDERS`; those without the value come last."""
    keys: dict[str, Order] = {
        "branch": lambda m: (_branch_index(m.spec.branch),),
        "name": lambda m: (),
        "few": lambda m: (m.size is None, m.size.parameters if m.size else 0),
        "many": lambda m: (m.size is None, -m.size.parameters if m.size else 0),
        "bytes": lambda m: (m.size is None, m.size.all_bytes if m.size else 0),
        "tokens": lambda m: (m.tokens is None, -(m.tokens or 0)),
        "quality": _by_quality,
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
}
"""The orders of :func:`ordered` with their labels."""


def _branch_index(branch: str) -> int:
    return BRANCHES.index(branch) if branch in BRANCHES else len(BRANCHES)


def _by_quality(model: Listed) -> tuple[object, ...]:
    """Groups equal measures on equal texts, since only those can be compared; the best first."""
    quality = model.quality
    if quality is None:
        return (True, "", "", 0.0)
    return (False, quality.name, quality.on, quality.value if lower_is_better(quality.name) else -quality.value)
