"""What is not computed for a size and why, and the published parameter counts that differ from ours."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from core import anatomy, catalogue
from core.anatomy.store import size_of
from core.catalogue.schema import Size, System
from core.content import content
from core.costs.operations import towers, word_work
from core.costs.shape import shape_of


def left_out(slug: str, size: str | None = None) -> str:
    """Which costs of a size are not computed, and why; empty where none is missing."""
    shape = shape_of(slug, size)
    if shape is not None and shape.main.heads:
        return "" if shape.generates else _words("No cache: encoder")
    if shape is not None:
        return _words("No cache: state", values=f"{shape.main.constant:,}")
    if towers(slug, size):
        return _words("No cache: towers")
    return _words("No cache: LSTM" if word_work(slug, size) else "No formulas")


def no_editor(slug: str, size: str | None = None) -> str:
    """Why the parameters of a size cannot be edited; empty where they can."""
    if size_of(slug, size).architecture == "TransformerXLModel":
        return _words("Not edited: bins", name=_name(slug, size))
    return no_stack(slug, size)


def no_stack(slug: str, size: str | None = None) -> str:
    """Why a calculator that sets up one stack of attention layers cannot take a size; empty where it can."""
    shape = shape_of(slug, size)
    if shape is not None and shape.main.heads:
        return ""
    if towers(slug, size):
        why = "towers"
    else:
        mixed = any("Attention" in node.cls for _, node, _ in anatomy.tree(slug, size).walk())
        why = "mixed" if mixed else "none"
    return _words(f"Not set up: {why}", name=_name(slug, size))


def _words(part: str, /, **values: str) -> str:
    return content("catalogue", "costs").part(part, **values)


def _name(slug: str, size: str | None) -> str:
    return f"{catalogue.get(slug).name} {size_of(slug, size).name}"


LIMIT = 0.02
"""The smallest difference that is listed; rounding to two digits explains smaller ones."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A size whose published parameter count differs from ours."""

    system: System
    size: Size
    counted: int
    published: int
    share: float
    """(counted - published) / published."""
    why: str


def differences(systems: Iterable[System], limit: float = LIMIT) -> tuple[Difference, ...]:
    """Every size that differs by more than ``limit``, the largest difference first."""
    rows = []
    for system in systems:
        counts = anatomy.counts(system.slug)
        for size in system.sizes:
            if not size.published or not counts.get(size.name):
                continue
            share = (counts[size.name] - size.published) / size.published
            if abs(share) > limit:
                why = reason(size, counts[size.name])
                rows.append(Difference(system, size, counts[size.name], size.published, share, why))
    return tuple(sorted(rows, key=lambda row: -abs(row.share)))


def reason(size: Size, counted: int) -> str:
    """The reason in sentences: other components, rounding, the record's note; or that none is recorded."""
    parts = [] if size.comparable else [_words("Differs: other parts", published=size.published_as)]
    if size.published and size.comparable and rounds_to(counted, size.published):
        parts.append(_words("Differs: rounding"))
    parts += [size.note] if size.note else []
    return " ".join(parts) or _words("Differs: unknown")


def rounds_to(counted: int, published: int) -> bool:
    """Whether ``counted`` is ``published`` after rounding to its last digit that is not zero."""
    unit: int = 10 ** (len(str(published)) - len(str(published).rstrip("0")))
    return (counted + unit // 2) // unit * unit == published
