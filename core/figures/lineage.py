"""The family as data: every system with its month, its counted sizes and its parent; lines of descent; growth.

A size is counted from the stored module tree of the published shape, so one rule holds for every system; a size that
was never published has none. A record's sizes may be younger than its month, so growth is told by the year in which a
system began, never as the date of a size.
"""

from __future__ import annotations

from calendar import month_name
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from statistics import median_low

from core import catalogue
from core.anatomy.store import counts
from core.catalogue.schema import Branch, Milestone, System


@dataclass(frozen=True, slots=True)
class Entry:
    """A system, or a milestone without a page, whose ``branches`` are empty. ``sizes`` are names with parameters."""

    slug: str
    name: str
    parent: str | None
    branches: tuple[Branch, ...]
    year: int
    month: int
    organization: str
    change: str
    sizes: tuple[tuple[str, int], ...]

    @property
    def branch(self) -> Branch | None:
        """The main branch; None for a milestone."""
        return self.branches[0] if self.branches else None

    @property
    def at(self) -> int:
        """Months since year 0, so that dates can be subtracted."""
        return self.year * 12 + self.month - 1

    @property
    def date(self) -> str:
        """``October 2018``."""
        return f"{month_name[self.month]} {self.year}"

    @property
    def largest(self) -> int | None:
        """Parameters of the largest size; None where no size is published or counted."""
        return max((count for _, count in self.sizes), default=None)

    @property
    def smallest(self) -> int | None:
        """Parameters of the smallest size."""
        return min((count for _, count in self.sizes), default=None)


@lru_cache(maxsize=1)
def family() -> tuple[Entry, ...]:
    """Everything in the catalogue and its milestones, oldest first. Read once a process; no torch."""
    return entries(
        catalogue.systems(), catalogue.milestones(), {s.slug: counts(s.slug) for s in catalogue.systems() if s.sizes}
    )


def entries(
    systems: Sequence[System], milestones: Sequence[Milestone], sizes: Mapping[str, Mapping[str, int]]
) -> tuple[Entry, ...]:
    """The same of given records; ``sizes`` has the parameters of each system by the size's name."""
    slugs = {system.slug for system in systems}
    rows = [
        Entry(m.slug, m.name, m.parent, (), m.year, m.month, m.organization, m.change, ())
        for m in milestones
        if m.slug not in slugs
    ]
    rows += [
        Entry(
            s.slug,
            s.name,
            s.parent,
            s.branches,
            s.year,
            s.month,
            s.organization,
            s.change,
            tuple(sizes.get(s.slug, {}).items()),
        )
        for s in systems
    ]
    return tuple(sorted(rows, key=lambda entry: (entry.at, entry.name.lower())))


def line_of(slug: str, all_entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """Ancestors from the root on, the system itself, then all its descendants, oldest first; empty if unknown."""
    by_slug = {entry.slug: entry for entry in all_entries}
    if slug not in by_slug:
        return ()
    up: list[Entry] = []
    here: Entry | None = by_slug[slug]
    while here is not None and here not in up:
        up.append(here)
        here = by_slug.get(here.parent or "")
    below = {slug}
    grown = True
    while grown:  # records may come in any order, and two may share a month
        fresh = {entry.slug for entry in all_entries if entry.parent in below} - below
        below |= fresh
        grown = bool(fresh)
    before = {entry.slug for entry in up}
    return (*reversed(up), *(entry for entry in all_entries if entry.slug in below - before))


def records(shown: Iterable[Entry]) -> tuple[Entry, ...]:
    """Systems larger than every earlier one shown, oldest first."""
    rows: list[Entry] = []
    for entry in sorted(shown, key=lambda entry: entry.at):
        if entry.largest and entry.largest > (rows[-1].largest or 0 if rows else 0):
            rows.append(entry)
    return tuple(rows)


def tops(shown: Iterable[Entry]) -> tuple[Entry, ...]:
    """The last record of each year that set one: how far the systems begun in that year went beyond all before."""
    return tuple({entry.year: entry for entry in records(shown)}.values())


def leap(shown: Iterable[Entry]) -> tuple[Entry, Entry, float] | None:
    """The largest ratio between the records of two consecutive years; None without such a pair."""
    leaders = tops(shown)
    steps = [
        (before, after, (after.largest or 0) / (before.largest or 1))
        for before, after in pairwise(leaders)
        if after.year == before.year + 1
    ]
    return max(steps, key=lambda step: step[2], default=None)


def middle(shown: Iterable[Entry]) -> int | None:
    """The (lower) median of the systems' largest sizes; None without sizes."""
    counted = [entry.largest for entry in shown if entry.largest]
    return median_low(counted) if counted else None
