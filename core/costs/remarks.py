"""What is not computed for a size and why, and the published parameter counts that differ from ours."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from core import anatomy, catalogue
from core.anatomy.store import size_of
from core.catalogue.schema import Size, System
from core.costs.shape import shape_of
from core.costs.special import towers, word_work


def left_out(slug: str, size: str | None = None) -> str:
    """Which costs of a size are not computed, and why; empty where none is missing."""
    shape = shape_of(slug, size)
    if shape is not None and shape.main.heads:
        return (
            ""
            if shape.stack("decoder")
            else "There is no key-value cache: an encoder processes the whole text at once."
        )
    if shape is not None:
        return (
            "Instead of keys and values, each layer caches "
            f"a state of {shape.main.constant:,} values, whatever the length of the text."
        )
    if towers(slug, size):
        return "There is no key-value cache: both towers process their whole input at once."
    if word_work(slug, size):
        return "There is no key-value cache: an LSTM has a state of fixed size, whatever the length of the text."
    return "Activations, cache and operations are not computed: there are no formulas for this architecture."


def no_editor(slug: str, size: str | None = None) -> str:
    """Why the parameters of a size cannot be edited; empty where they can."""
    if size_of(slug, size).architecture == "TransformerXLModel":
        name = f"{catalogue.get(slug).name} {size_of(slug, size).name}"
        return (
            f"{name} has an adaptive softmax, which cuts its vocabulary into bins; the editor has one embedding "
            "matrix. Its memory, its cache and what its training costs can be computed; choose another size to edit."
        )
    return no_stack(slug, size)


def no_stack(slug: str, size: str | None = None) -> str:
    """Why a calculator that sets up one stack of attention layers cannot take a size; empty where it can."""
    shape = shape_of(slug, size)
    if shape is not None and shape.main.heads:
        return ""
    name = f"{catalogue.get(slug).name} {size_of(slug, size).name}"
    if towers(slug, size):
        return (
            f"{name} is two stacks of attention layers side by side, one for texts and one for images; the "
            "calculators hold one network. Its facts state the costs of each tower. Choose another system here."
        )
    if any("Attention" in node.cls for _, node, _ in anatomy.tree(slug, size).walk()):
        return (
            f"{name} mixes attention layers with layers of another kind, and the calculators set up layers that are "
            "all alike. Choose another system here."
        )
    return (
        f"{name} has no layers of attention, so these formulas do not hold for it. Its facts state what can be "
        "computed. Choose another system here."
    )


LIMIT = 0.02
"""The smallest difference that is listed; rounding to two digits explains smaller ones."""
UNKNOWN = "No reason is recorded."


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
    parts = [] if size.comparable else ["The published figure counts other parts."]
    if size.published and size.comparable and rounds_to(counted, size.published):
        parts.append("Rounding: to as many digits as are printed, the count is the published figure.")
    parts += [size.note] if size.note else []
    return " ".join(parts) or UNKNOWN


def rounds_to(counted: int, published: int) -> bool:
    """Whether ``counted`` is ``published`` after rounding to its last digit that is not zero."""
    unit: int = 10 ** (len(str(published)) - len(str(published).rstrip("0")))
    return (counted + unit // 2) // unit * unit == published
