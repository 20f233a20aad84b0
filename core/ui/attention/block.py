"""Inside a block: one layer over the visitor's text, step by step, and below what each layer would already answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import session
from core.attention.inside.wiring import norm_first, wires
from core.checkpoints.spec import CheckpointSpec
from core.ui.attention.block_list import step_list
from core.ui.attention.block_step import chosen_step
from core.ui.attention.lens import logit_lens
from core.ui.glossary import noted, told
from core.ui.heads import samples as heads_samples
from core.ui.heads.part import text_part
from core.ui.heads.text import sample_menu, task_menu
from core.ui.notices import warned
from core.ui.page import accent, sentences
from core.ui.text_box import text_box

if TYPE_CHECKING:
    from core.attention.inside.block import Block, Side
    from core.ui.links import PageState

START = "attention-weights"
"""The step that a block opens with: every block has it, and it is the one that most people have seen before."""
SIDES: dict[Side, str] = {"encoder": "Encoder", "decoder": "Decoder"}
_SPARSE = ("sliding_window", "block_sparse")


@dataclass(frozen=True, slots=True)
class Asked:
    """What the row of controls says; the layer from 0."""

    text: str
    task: str | None
    side: Side
    layer: int
    sparse: bool
    """Whether the model computes no score where the mask forbids one."""


def inside(spec: CheckpointSpec, state: PageState, row: DeltaGenerator) -> None:
    """Draw the whole section, its menus in ``row``; reads and writes text, task, side, layer, step, head and asked."""
    with sentences():
        _block(spec, state, row)
    st.divider()
    with sentences():
        logit_lens(spec, state)


def _block(spec: CheckpointSpec, state: PageState, row: DeltaGenerator) -> None:
    asked = _controls(spec, state, row)
    with st.spinner("Running the model"):
        found = session.block(spec.slug, asked.text, asked.layer, asked.side, asked.task)
    steps, hang = found.steps, wires(found.steps)
    slugs = [wire.slug for wire in hang]
    slot = state.key(f"block.step.{spec.slug}")
    if slot not in st.session_state:
        wanted = state.text("step", START)
        if wanted not in slugs:
            _refuse(f"There is no step “{wanted[:60]}” in this block. It shows “{_nearest(wanted, slugs)}”.")
        st.session_state[slot] = wanted
    shown = _nearest(str(st.session_state[slot]), slugs)
    state.set(step=None if shown == START else shown)
    left, right = st.columns([1.2, 1.9], gap="medium")
    with left:
        step_list(
            steps,
            hang,
            chosen=shown,
            slot=slot,
            key=state.key(f"block.list.{spec.slug}"),
            label=f"Steps of layer {found.layer + 1} of {found.layers}, {spec.name}, {found.side}",
            accent=accent(spec.branch),
        )
    with right:
        chosen_step(found, hang, slugs.index(shown), spec, state, slot=slot, sparse=asked.sparse)
    _words(found, spec)


def _controls(spec: CheckpointSpec, state: PageState, row: DeltaGenerator) -> Asked:
    """Text, task, side and layer in one row.

    Raises:
        NoAttentionMatrix: the architecture's blocks are not known here.
    """
    from core.attention.architectures.vectors import attention_layers
    from core.attention.inside.blueprint import blueprint_of

    with st.spinner("Loading the model"):
        found = attention_layers(session.checkpoint(spec.slug))
    sides = [side for side in SIDES if side in found]
    blueprint_of(found[sides[0]][0])
    samples = heads_samples.samples(spec)
    box = f"block.text.{spec.kind}"
    refused: list[str] = []
    with row:
        task = task_menu(spec, state) if spec.offers("tasks") else None
        text = text_box(state, "text", "Text", samples[0], key=box, help="Of a long text, you choose a part")
        sample_menu(samples, state.key(box), state)
        side = _side(sides, spec, state, refused)
        layer = _layer(len(found[side]), side, spec, state, refused)
    for sentence in refused:
        _refuse(sentence)
    text = text_part(spec, state, text, task=task or "" if spec.offers("rewrites") else "", segment=True)
    return Asked(text, task, side, layer, found[side][layer].names.score in _SPARSE)


def _side(sides: list[Side], spec: CheckpointSpec, state: PageState, refused: list[str]) -> Side:
    wanted, slot = state.text("side"), state.key(f"block.side.{spec.slug}")
    if len(sides) == 1:
        if wanted not in ("", sides[0]):
            refused.append(f"{spec.name} has one side, its {sides[0]}.")
        state.set(side=None)
        return sides[0]
    first = next((side for side in sides if side == wanted), sides[0])
    chosen = st.segmented_control("Side", sides, format_func=SIDES.__getitem__, default=first, required=True, key=slot)
    state.set(side=None if chosen == sides[0] else chosen)
    return chosen


def _layer(layers: int, side: Side, spec: CheckpointSpec, state: PageState, refused: list[str]) -> int:
    """From 0. A step that only the last layer has asks for it where the link names none."""
    slot = state.key(f"block.layer.{spec.slug}.{side}")
    if slot not in st.session_state:
        wanted = state.number("layer", layers if state.text("step").startswith("end-final") else 1)
        if wanted > layers:
            refused.append(f"There is no layer {wanted} here: this {side} has {layers}. Layer {layers} is shown.")
        st.session_state[slot] = min(wanted, layers)
    chosen = int(st.selectbox("Layer", range(1, layers + 1), key=slot, persist_state="page", width=96))
    state.set(layer=None if chosen == 1 else chosen)
    return chosen - 1


def _nearest(wanted: str, slugs: list[str]) -> str:
    """The step of this block that comes nearest to one of another block."""
    if wanted in slugs:
        return wanted
    if wanted.startswith("embedding-"):
        return slugs[0]
    if wanted.startswith("end-"):
        return slugs[-1]
    near = wanted.removeprefix("cross-")
    return near if near in slugs else START


def _refuse(sentence: str) -> None:
    warned(sentence, icon=":material/link_off:")


def _words(found: Block, spec: CheckpointSpec) -> None:
    told(
        "**Try** to walk through the block with Next, or click into the list and use the arrow keys. Watch the bars at "
        "the right of a picture: they say how long each token’s vector is."
    )
    if any(step.name == "second stream" for step in found.steps):
        what = (
            "the two streams at the left: attention reads one and adds to the other, the feed-forward part the other "
            "way round. Take away again what was added, and you have what came in: nothing need be kept for training."
        )
    elif norm_first(found.steps):
        what = (
            "that the norms (flat bars) stand inside the parts here: the stream at the left is only ever added to, and "
            "its vectors grow from sum to sum (pre-norm)."
        )
    else:
        what = (
            "that the norms (flat bars) stand on the stream at the left here, behind each sum: whatever a part adds, "
            "the vectors are brought back to one size (post-norm)."
        )
    told(f"**Notice** {what}")
    if spec.offers("answers tasks"):
        noted("The adapters and the norms are those of the task; all else is the encoder that tasks share.")
    if spec.offers("two streams"):
        st.caption("This is the stream that knows every token. A second one, which guesses hidden words, is not shown.")
    if found.source:
        st.caption("The decoder reads what the model itself writes for this text, up to 24 tokens.")
