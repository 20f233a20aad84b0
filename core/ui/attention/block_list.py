"""The steps of a block as a list to walk, with the way through the block drawn beside it.

A list box by WAI-ARIA's pattern: arrows, Home and End choose, a click does. The drawing says nothing that the list does
not: what a step is made of is part of its name for screen readers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import streamlit as st

from core.attention.inside.steps import Step
from core.attention.inside.wiring import Wire
from core.figures import block as drawing

ASSETS = Path(__file__).parents[3] / "assets" / "components" / "block"
HTML = """
<div class="atlas"><div class="scroll"><div class="flow">
  <div class="boxes"></div><svg aria-hidden="true"></svg><div role="listbox"></div>
</div></div></div>
"""
_mount = st.components.v2.component(
    "atlas_block",
    html=HTML,
    css=(ASSETS / "block.css").read_text(encoding="utf-8"),
    js=(ASSETS / "block.js").read_text(encoding="utf-8"),
)
PARTS = {
    "embedding": "Embedding",
    "attention": "Attention",
    "cross-attention": "Cross-attention",
    "feed-forward": "Feed-forward",
    "end": "After the block",
}


def step_list(
    steps: Sequence[Step], wires: Sequence[Wire], *, chosen: str, slot: str, key: str, label: str, accent: str
) -> None:
    """Draw the list with the step ``chosen`` (a slug); a click puts another slug into the session's ``slot``."""
    counts = f"{key}--clicks"
    data = component_data(steps, wires, chosen=chosen, label=label) | {
        "accent": accent,
        "count": st.session_state.setdefault(counts, 0),
    }
    _mount(key=key, data=data, on_picked_change=_take(key, slot, counts, [wire.slug for wire in wires]))


def component_data(steps: Sequence[Step], wires: Sequence[Wire], *, chosen: str, label: str) -> dict[str, Any]:
    """What the browser needs to draw the list."""
    flow = drawing.flow(steps, wires)
    parts = [
        {"name": _heading(part, steps[0].name), "steps": [_row(i, steps, wires) for i in numbers]}
        for part, numbers in (
            (part, list(group)) for part, group in groupby(range(len(steps)), lambda i: steps[i].part)
        )
    ]
    return {
        "parts": parts,
        "points": [{"x": one.x, "y": one.y, "shape": one.shape, "outside": one.outside} for one in flow.points],
        "lines": [{"end": one.end, "path": one.path} for one in flow.lines],
        "boxes": [{"left": one.left, "top": one.top, "height": one.height} for one in flow.boxes],
        "width": flow.width,
        "height": flow.height,
        "row": drawing.ROW,
        "heading": drawing.HEADING,
        "selected": chosen,
        "label": label,
        "sign": f"{label} {[(wire.slug, step.shape) for wire, step in zip(wires, steps, strict=True)]}",
    }


def shape(step: Step, times: str = " × ") -> str:
    """How many numbers a step has along each axis: ``12 × 17 × 32``."""
    return times.join(f"{extent:,}" for extent in step.shape)


def made_of(wire: Wire, steps: Sequence[Step]) -> str:
    """What a step is made of, in words."""
    return ", ".join(
        [*(named(wire.of[i], steps) for i in range(len(wire.of))), *([wire.outside] if wire.outside else [])]
    )


def named(number: int, steps: Sequence[Step]) -> str:
    """What a step is called: the name alone, which is unlike within its part; sums and norms with their part."""
    step = steps[number]
    return f"{step.name} of {PARTS[step.part].lower()}" if step.name in ("residual", "norm") else step.name


def _heading(part: str, first: str) -> str:
    return "What comes in" if part == "embedding" and first == "input" else PARTS[part]


def _row(number: int, steps: Sequence[Step], wires: Sequence[Wire]) -> dict[str, str]:
    step, wire = steps[number], wires[number]
    of = made_of(wire, steps)
    return {
        "slug": wire.slug,
        "name": step.name,
        "shape": shape(step),
        "of": f"← {of}" if of else "",
        "said": f"{step.name}, step {number + 1} of {len(steps)}, {shape(step, ' by ')}"
        + (f", from {of}" if of else ""),
    }


def accepted(sent: object, slugs: Sequence[str]) -> tuple[str, int] | None:
    """The step and the count of clicks out of whatever the browser sent, or nothing."""
    if not isinstance(sent, dict):
        return None
    step, count = sent.get("step"), sent.get("count")
    if step not in slugs or not isinstance(count, int) or isinstance(count, bool):
        return None
    return str(step), count


def _take(key: str, slot: str, counts: str, slugs: Sequence[str]) -> Callable[[], None]:
    """A callback that keeps a click before the run that it starts."""

    def take() -> None:
        picked = accepted(getattr(st.session_state.get(key), "picked", None), slugs)
        if picked is not None:
            st.session_state[slot], st.session_state[counts] = picked

    return take
