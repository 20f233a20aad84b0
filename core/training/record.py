"""The trainings that the page opens with, stored in ``assets/measured/training.json`` by ``python -m lab scratch``.

They are those of each ready text with the setup that it opens with; a test computes the first of their numbers again.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache

from core.settings import ASSETS
from core.training.sample import Parts
from core.training.setup import Point

FILE = ASSETS / "measured" / "training.json"


@dataclass(frozen=True, slots=True)
class Recorded:
    """A training as a visitor would watch it."""

    points: tuple[Point, ...]
    samples: tuple[tuple[int, Parts], ...]
    """What the model said, by step."""
    answers: tuple[str, ...] = ()
    """What it says in the end after the prompts of *Predict before*."""


def stored(name: str) -> Recorded | None:
    """The default training on the ready text ``name``."""
    return _stored().get(name)


@lru_cache(maxsize=1)
def _stored() -> dict[str, Recorded]:
    if not FILE.is_file():
        return {}
    raw = json.loads(FILE.read_text(encoding="utf-8"))
    return {
        name: Recorded(
            tuple(Point(*point) for point in run["points"]),
            tuple((step, tuple((text, own) for text, own in parts)) for step, parts in run["samples"]),
            tuple(run.get("answers", ())),
        )
        for name, run in raw.items()
    }


def store(name: str, recorded: Recorded) -> None:
    """Write one of them, beside the others."""
    raw = json.loads(FILE.read_text(encoding="utf-8")) if FILE.is_file() else {}
    points = [
        [p.step, *(round(x, 4) for x in (p.train, p.held_out)), round(p.seconds, 1), p.rate] for p in recorded.points
    ]
    raw[name] = {"points": points, "samples": recorded.samples, "answers": recorded.answers}
    FILE.write_text(json.dumps(raw, ensure_ascii=False, indent=None) + "\n", encoding="utf-8")
    _stored.cache_clear()
