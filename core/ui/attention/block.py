"""Inside a block: one layer on the visitor's text, step by step.

The steps form a list box by WAI-ARIA's pattern (arrows, Home, End or a click select), with the data flow of
the block drawn beside it. The drawing adds no information: the inputs of a step are part of its name
for screen readers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Annotated, Any

import streamlit as st
from pydantic import Field

from core import session
from core.attention.inside.block import Side, Wire, wires
from core.attention.inside.block import block as block_of
from core.attention.inside.steps import Step
from core.attention.layers import blueprint_of
from core.attention.scores import attention_layers
from core.checkpoints.spec import CheckpointSpec, Feature
from core.figures import block as drawing
from core.links import parameters as link
from core.ui.attention import setup
from core.ui.attention.step import PARTS, draw_step, inputs_of, shape
from core.ui.component import Component, Message
from core.ui.glossary import sentences
from core.ui.heads.panel import HEAD, LAYER
from core.ui.heads.text import TASK, TEXT, WINDOW, draw_task, draw_text, opening, text_part
from core.ui.links import PageState, instead
from core.ui.page import accent, main_picture
from core.ui.param import Carried, Choice
from core.ui.section import Section, View
from core.ui.selection import TOKEN, Selection
from core.ui.slot import Slot

SIDE = Choice(name="side", label="Side", options={"encoder": "Encoder", "decoder": "Decoder"}, style="row")
STEP = Carried(name="step", label="Step", as_=link.Choice())
_NOTES: dict[Feature, str] = {"classifies texts": "Adapters", "two streams": "Content stream"}
_OPENS = "attention-weights"
_SPARSE = ("sliding_window", "block_sparse")


class Click(Message):
    """The slug of the step that was clicked."""

    step: Annotated[str, Field(pattern=r"^[a-z0-9-]+$", max_length=100)]


STEPS = Component("block", Click, uses=("dom",))


def inside(view: View) -> None:
    spec = setup.draw_model(view)
    with sentences():
        with st.container(horizontal=True, vertical_alignment="bottom"):
            task = draw_task(spec, view.state)
            text, side, layer = _controls(spec, view.state)
        _block(view, spec, text, task, side, layer)


def _controls(spec: CheckpointSpec, state: PageState) -> tuple[str, Side, int]:
    """Text, side and layer (from 0) in one row.

    Raises:
        NoAttentionMatrix: the blocks of this architecture are not supported.
    """
    with st.spinner(session.waiting("loading-the-model")):
        block_layers = attention_layers(session.checkpoint(spec.slug))
    sides = {side: name for side, name in SIDE.options.items() if side in block_layers}
    blueprint_of(block_layers[next(iter(sides))][0])  # type: ignore[index]
    text = draw_text(spec, state)
    narrowed = SIDE.with_(options=sides, default=next(iter(sides)))
    side: Side = narrowed.draw(state, tag=spec.slug) if len(sides) > 1 else narrowed.value(state)  # type: ignore[assignment]
    # A step that only the last layer has selects that layer where the link names none.
    layers = len(block_layers[side])
    opens = opening(spec)
    first = opens.layer if opens else 1
    usual = layers if state.values.get(LAYER.name) is None and state.text(STEP.name).startswith("end-final") else first
    layer = LAYER.with_(high=layers, default=usual).draw(state, tag=f"{spec.slug}.{side}")
    state.set(layer=None if layer == first else layer)
    return text, side, layer - 1


def _block(view: View, spec: CheckpointSpec, text: str, task: str | None, side: Side, layer: int) -> None:
    state = view.state
    part = text_part(spec, state, text, task=task or "", segment=True)
    block = session.computed("running-the-model", block_of, spec.slug, part, layer, side, task)
    hang = wires(block.steps)
    slugs = [wire.slug for wire in hang]
    slot = Slot(
        state,
        STEP,
        _OPENS if _OPENS in slugs else slugs[0],
        owner=slugs,
        carry=lambda former, step: _nearest(step, slugs),
    )
    if (shown := _nearest(slot.get(), slugs)) != slot.get():
        instead(state, f"There is no step “{slot.get()[:60]}” in this block. It shows “{shown}”.")
    key = state.key(f"block.list.{spec.slug}")
    click = STEPS.sent(key)
    if click is not None and click.step in slugs:
        shown = click.step
    slot.set(shown)
    selection = Selection(state, block.tokens, special=block.special, tag=f"{spec.slug}.{side}")
    picture = st.container()
    selection.chips(view.words.label("tokens"), accent=spec.branch)  # before the picture, which shows what is clicked
    left, right = picture.columns([1.2, 1.9], gap="medium")
    with left, main_picture():
        label = f"Steps of layer {block.layer + 1} of {block.layers}, {spec.name}, {block.side}"
        data = component_data(block.steps, hang, chosen=shown, label=label)
        STEPS.draw(key, data | {"accent": accent(spec.branch)})
    with right:
        # A sparse model computes no score where the mask forbids one.
        sparse = attention_layers(session.checkpoint(spec.slug))[side][layer].names.score in _SPARSE
        draw_step(block, hang, slugs.index(shown), spec, view, slot=slot, sparse=sparse, selection=selection)
    two_streams = any(step.name == "second stream" for step in block.steps)
    view.try_and_notice("two streams" if two_streams else "norm first" if block.pre_norm else "norm last")
    for note in spec.entries(_NOTES):
        view.note(note)
    if block.source:
        view.note("Decoder")


def _nearest(wanted: str, slugs: list[str]) -> str:
    """The step of this block that best matches a step of another block."""
    if wanted in slugs:
        return wanted
    if wanted.startswith("embedding-"):
        return slugs[0]
    if wanted.startswith("end-"):
        return slugs[-1]
    near = wanted.removeprefix("cross-")
    return near if near in slugs else slugs[0]


def component_data(steps: Sequence[Step], wires: Sequence[Wire], *, chosen: str, label: str) -> dict[str, Any]:
    """The props of the list component."""
    flow = drawing.flow(steps, wires)
    parts = [(part, list(group)) for part, group in groupby(range(len(steps)), lambda i: steps[i].part)]
    return {
        "parts": [
            {"name": _heading(part, steps[0].name), "steps": [_row(i, steps, wires) for i in numbers]}
            for part, numbers in parts
        ],
        "points": [asdict(point) for point in flow.points],
        "lines": [asdict(line) for line in flow.lines],
        "boxes": [asdict(box) for box in flow.boxes],
        "width": flow.width,
        "height": flow.height,
        "row": drawing.ROW,
        "heading": drawing.HEADING,
        "selected": chosen,
        "label": label,
        "sign": f"{label} {[(wire.slug, step.shape) for wire, step in zip(wires, steps, strict=True)]}",
    }


def _heading(part: str, first: str) -> str:
    return "Block input" if part == "embedding" and first == "input" else PARTS[part]


def _row(number: int, steps: Sequence[Step], wires: Sequence[Wire]) -> dict[str, str]:
    step, wire = steps[number], wires[number]
    inputs = inputs_of(wire, steps)
    spoken = f"{step.name}, step {number + 1} of {len(steps)}, {shape(step, ' by ')}"
    return {
        "slug": wire.slug,
        "name": step.name,
        "shape": shape(step),
        "of": f"← {inputs}" if inputs else "",
        "said": f"{spoken}, from {inputs}" if inputs else spoken,
    }


BLOCK = Section("block", inside, (TEXT, WINDOW, TASK, SIDE, LAYER, STEP, HEAD, TOKEN))
