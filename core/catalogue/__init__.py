"""The facts about each system: records read from data files, one per system.

``systems()`` lists them, ``get("bert")`` looks one up, ``by_branch("encoder")`` lists those of a branch,
``citations()`` their sources. No torch, no Streamlit: pages that only read start in milliseconds.
"""

from __future__ import annotations

from difflib import get_close_matches

from core.catalogue.load import load_all, shared
from core.catalogue.load import moved_sizes as moved_sizes
from core.catalogue.load import moved_views as moved_views
from core.catalogue.schema import Citation, Milestone, System
from core.errors import UnknownSystem


def systems() -> tuple[System, ...]:
    """All records, oldest first."""
    return load_all()


def milestones() -> tuple[Milestone, ...]:
    """Systems without a record, which the timeline shows and records may name as parents."""
    return shared()[1]


def get(slug: str) -> System:
    """The record of that slug. Raises :class:`UnknownSystem`, which names the closest slugs."""
    records = {system.slug: system for system in load_all()}
    if slug in records:
        return records[slug]
    shown = repr(slug if len(slug) <= 40 else slug[:40] + "…")
    close = get_close_matches(slug[:40].lower(), records, n=3, cutoff=0.5)
    if close:
        raise UnknownSystem(f"There is no system called {shown} here. Did you mean {' or '.join(close)}?")
    raise UnknownSystem(f"There is no system called {shown} here. Home lists all {len(records)} by name.")


def by_branch(branch: str) -> tuple[System, ...]:
    """The systems of a branch: first those whose main branch it is, then the others; oldest first."""
    listed = [system for system in load_all() if branch in system.branches]
    return tuple(sorted(listed, key=lambda system: system.branch != branch))


def citations() -> dict[str, Citation]:
    """All citations of the records and milestones, by key."""
    common = shared()[0]
    named = {key: common[key] for row in milestones() for key in row.sources}
    return {citation.key: citation for system in load_all() for citation in system.citations} | named
