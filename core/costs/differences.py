"""Where a published figure and the count of the skeleton part ways, and what is known of the reason."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from core import anatomy
from core.catalogue.schema import Size, System

LIMIT = 0.02
"""From this share on, a difference is listed: below it lies what rounding to two digits explains."""
UNKNOWN = "No reason is recorded."


@dataclass(frozen=True, slots=True)
class Difference:
    """One size whose published figure is not the count."""

    system: System
    size: Size
    counted: int
    published: int
    share: float
    """(counted - published) / published."""
    why: str


def differences(systems: Iterable[System], limit: float = LIMIT) -> tuple[Difference, ...]:
    """Every size that differs by more than ``limit``, the largest difference first."""
    found = []
    for system in systems:
        counts = anatomy.counts(system.slug)
        for size in system.sizes:
            if not size.published or not counts.get(size.name):
                continue
            share = (counts[size.name] - size.published) / size.published
            if abs(share) > limit:
                why = reason(size, counts[size.name])
                found.append(Difference(system, size, counts[size.name], size.published, share, why))
    return tuple(sorted(found, key=lambda one: -abs(one.share)))


def reason(size: Size, counted: int) -> str:
    """Whether the figure counts other parts or is the count, rounded; and what the record's note says."""
    parts = [] if size.comparable else ["The published figure counts other parts."]
    if size.published and size.comparable and rounds_to(counted, size.published):
        parts.append("Rounding: to as many digits as are printed, the count is the published figure.")
    parts += [size.note] if size.note else []
    return " ".join(parts) or UNKNOWN


def rounds_to(counted: int, published: int) -> bool:
    """Whether ``counted`` is ``published`` after rounding to its last digit that is not zero."""
    unit: int = 10 ** (len(str(published)) - len(str(published).rstrip("0")))
    return (counted + unit // 2) // unit * unit == published
