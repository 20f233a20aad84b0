"""What all in a room see of its training, as a text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import TypeAdapter, ValidationError

from core.training.sample import Parts
from core.training.setup import Objective, Point

MOST_POINTS = 200


@dataclass(frozen=True, slots=True)
class Watched:
    """A training so far."""

    points: tuple[Point, ...]
    samples: tuple[tuple[int, Parts], ...]
    """What the model said, by step."""
    counted: tuple[float, ...]
    """The bits per byte of counted n-grams of 1, 2, ... characters."""
    objective: Objective


_TYPE = TypeAdapter(Watched)


def write(
    points: Sequence[Point], samples: Sequence[tuple[int, Parts]], counted: tuple[float, ...], objective: Objective
) -> str:
    """The text of a training; of many points it has the last and as many between as fit."""
    every = -(-len(points) // MOST_POINTS)
    thinned = tuple(points[::-1][::every][::-1])
    return _TYPE.dump_json(Watched(thinned, tuple(samples), counted, objective)).decode()


def read(text: str) -> Watched | None:
    """The training of such a text; None where there is none to see."""
    try:
        watched = _TYPE.validate_json(text)
    except ValidationError:
        return None
    return watched if watched.points and watched.samples and len(watched.counted) >= 5 else None
