"""A comparison of two trees in sentences: totals, new, missing, changed and equal components."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.anatomy.compare import IN_LAYERS, Comparison, Row, Section, Side, words
from core.anatomy.meaning import Piece

_MOST = 6
"""The most components named in one sentence; the others are counted."""


@dataclass(frozen=True, slots=True)
class Summary:
    """Sentences; each may be empty."""

    headline: str
    new: str
    gone: str
    changed: str
    same: str


def summarize(comparison: Comparison) -> Summary:
    """The differences from the left network to the right one."""
    left, right = comparison.left, comparison.right
    return Summary(
        headline=_headline(comparison),
        new=_only(comparison, "right", right),
        gone=_only(comparison, "left", left),
        changed=_changed(comparison),
        same=_same(comparison),
    )


def _headline(comparison: Comparison) -> str:
    left, right = comparison.left, comparison.right
    change = (right.parameters - left.parameters) / left.parameters
    if not change:
        amount = words("Summary: as many")
    elif abs(change) < 3:
        amount = words(f"Summary: {'more' if change > 0 else 'fewer'}", percent=f"{100 * abs(change):.1f}%")
    else:
        amount = words("Summary: times", factor=f"{right.parameters / left.parameters:,.1f}")
    same = sum(row.verdict == "same" for row in comparison.rows)
    counts = {"left_count": _words(left.parameters), "right_count": _words(right.parameters)}
    names = {"left": left.name, "right": right.name, "amount": amount}
    return words("Summary: headline", same=same, rows=len(comparison.rows), **names, **counts)


def _only(comparison: Comparison, verdict: str, side: Side) -> str:
    """The components of one side alone: whole stacks, whole sections, single components."""
    at = 0 if verdict == "left" else 1
    named = []
    stack_names = dict.fromkeys(section.stack for section in comparison.sections if section.stack)
    whole = [
        stack
        for stack in stack_names
        if {
            row.verdict
            for other_section in comparison.sections
            if other_section.stack == stack
            for row in other_section.rows
        }
        == {verdict}
    ]
    for stack in whole:
        amount = sum(section.parameters[at] for section in comparison.sections if section.stack == stack)
        count = next((layers.stored for layers in side.layers if layers.stack == stack), 0)
        named.append(words("Summary: stack", place=stack.lower(), layers=count, amount=_amount(amount)))
    for section in comparison.sections:
        if section.stack in whole:
            continue
        rows = [row for row in section.rows if row.verdict == verdict]
        if len(rows) == len(section.rows) > 1 and section.group.slug != "other":
            named.append(f"{section.name.lower()} ({_amount(section.parameters[at])})")
        else:
            named += [f"{_called(row, section)} ({_amount(row.parameters[at])})" for row in rows]
    return _listed(named)


def _changed(comparison: Comparison) -> str:
    """Layers, then components of another size or kind."""
    named = _layers(comparison)
    for section in comparison.sections:
        for row in section.rows:
            if row.verdict == "fused":
                named.append(f"{row.name} {_joined(row)}")
            elif row.verdict in ("kind", "moved") or (row.verdict == "size" and section.group.slug not in IN_LAYERS):
                named.append(f"{_called(row, section)}{_sizes(row)}")
    sized = [
        section
        for section in comparison.sections
        if section.group.slug in IN_LAYERS and any(row.verdict == "size" for row in section.rows)
    ]
    named += [words("Summary: sizes", group=section.name.lower()) for section in sized]
    return _listed(list(dict.fromkeys(named)))


def _layers(comparison: Comparison) -> list[str]:
    left, right = comparison.left.layers, comparison.right.layers
    pairs = [(before, after) for before in left for after in right if before.stack == after.stack]
    if not pairs and len(left) == len(right) == 1:
        pairs = [(left[0], right[0])]
    named = []
    for before, after in pairs:
        of = f" in the {before.stack.lower()}" if len(left) > 1 and len(right) > 1 else ""
        if before.stored != after.stored and before.stored and after.stored:
            use = f", used {after.used} times," if after.used > after.stored else ""
            was = f", used {before.used} times" if before.used > before.stored else ""
            noun = "layer" if after.stored == 1 else "layers"
            stored_word = "stored " if use or was else ""
            named.append(f"{after.stored} {stored_word}{noun}{use} instead of {before.stored}{was}{of}")
    return named


def _joined(row: Row) -> str:
    left_parts = max(len(piece.part.slugs) for piece in row.left)
    right_parts = max(len(piece.part.slugs) for piece in row.right)
    if left_parts == right_parts:
        return words("Summary: other matrices")
    return words("Summary: one matrix" if right_parts > left_parts else "Summary: own matrices")


def _sizes(row: Row) -> str:
    """The two shapes, where each side has one matrix."""
    if row.verdict != "size" or not (len(row.left) == len(row.right) == 1):
        return f" ({row.remarks[0]})" if row.remarks else ""
    left_shape, right_shape = (_shape(side[0]) for side in (row.left, row.right))
    return (
        f" from {left_shape} to {right_shape}"
        if left_shape != right_shape
        else (f" ({row.remarks[0]})" if row.remarks else "")
    )


def _shape(piece: Piece) -> str:
    return " and ".join(" × ".join(f"{extent:,}" for extent in shape) for _, shape in piece.tensors[:1])


def _same(comparison: Comparison) -> str:
    layered = [row for section in comparison.sections if section.group.slug in IN_LAYERS for row in section.rows]
    if layered and all(row.verdict == "same" for row in layered):
        return words("Summary: all")
    if layered and all(row.verdict in ("same", "copies") for row in layered):
        return words("Summary: shapes")
    return _listed(
        [_called(row, section) for section in comparison.sections for row in section.rows if row.verdict == "same"]
    )


def _called(row: Row, section: Section) -> str:
    """A component with its section and stack."""
    where = f" in the {section.stack.lower()}" if section.stack else ""
    return _within(row, section) + where


def _within(row: Row, section: Section) -> str:
    if section.group.slug in ("embeddings", "head") and row.name != "norm":
        return row.name
    if section.group.slug == "end":
        return f"{row.name} after the last layer"
    return f"{row.name} of {section.group.name.lower()}"


def _listed(named: Sequence[str]) -> str:
    rest = len(named) - _MOST
    shown = [*named[:_MOST], *([f"{rest} more"] if rest > 0 else [])]
    return "; ".join(shown)


def _amount(parameters: int) -> str:
    return f"{_words(parameters)}" if parameters else "no parameters"


def _words(number: int) -> str:
    """109482240 is ``109.5 million``."""
    for step, word in ((10**12, "trillion"), (10**9, "billion"), (10**6, "million")):
        if number >= step:
            return f"{number / step:.1f} {word}"
    return f"{number:,}"
