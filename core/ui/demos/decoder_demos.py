"""Which demos a decoder has: text token by token, and first what is its own: codes, any order, a memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from core.checkpoints.spec import CheckpointSpec
from core.ui.demos.codes import codes_demo
from core.ui.demos.decoding import decoding_of
from core.ui.demos.demo_menu import chosen_demo
from core.ui.demos.fill_mask import fill_mask_demo
from core.ui.demos.generate import generate_demo
from core.ui.demos.memory import memory_demo
from core.ui.demos.orders import orders_demo
from core.ui.page import plain, sentences

if TYPE_CHECKING:
    from core.ui.links import PageState

DEMOS = {
    "codes": "Under each code",
    "orders": "Words in any order",
    "masks": "Masked words, all at once",
    "memory": "With and without memory",
    "text": "Token by token",
}


def demos_of(spec: CheckpointSpec) -> tuple[str, ...]:
    """The demos of a model, the one that it opens with first."""
    if spec.offers("two streams"):
        return ("orders", "masks")
    if spec.offers("memory"):
        return ("memory", "text")
    coded = spec.card is not None and bool(spec.card.extra.get("codes"))
    return ("codes", "text") if coded else ("text",)


def decoder_demo(spec: CheckpointSpec, state: PageState) -> None:
    """The demo of the chosen model; where it has several, a choice above them."""
    offered = demos_of(spec)
    demo = chosen_demo(spec, offered, DEMOS, "What to see", state)
    if demo == "codes":
        codes_demo(spec, state)
        return
    if demo == "orders":
        orders_demo(spec, state)
        return
    if demo == "memory":
        memory_demo(spec, state)
        return
    if demo == "masks":
        _masks(spec, state)
        return
    if "codes" in offered and spec.card is not None:
        codes = dict(spec.card.extra["codes"])
        label, token = next(iter(codes.items()))
        st.caption(
            f"Every text of this model begins with a code: {plain(label)}, unless yours begins with one of "
            f"{plain(', '.join(other for other in codes.values() if other != token))}."
        )
    with sentences():
        text_demo(spec, state)


def _masks(spec: CheckpointSpec, state: PageState) -> None:
    text = state.values.get("text")
    with sentences():
        result = fill_mask_demo(
            spec,
            text=None if text is None else str(text),
            masked=state.integers("mask"),
            key=state.key("mask"),
            branch="decoder",
            page=state,
        )
        state.set(text=result.text, mask=result.masked)


def text_demo(spec: CheckpointSpec, state: PageState, branch: str = "decoder") -> None:
    """Text token by token, in the colour of ``branch``."""
    text = state.values.get("text")
    result = generate_demo(
        spec,
        text=None if text is None else str(text),
        decoding=decoding_of(state),
        forced=state.integers("forced"),
        step=state.number("step") or None,
        key=state.key("generate"),
        branch=branch,
        page=state,
    )
    state.set(
        text=result.text,
        forced=result.forced,
        step=result.step,
        strategy=result.decoding.strategy,
        temperature=result.decoding.temperature,
        top_k=result.decoding.top_k,
        top_p=result.decoding.top_p,
        beams=result.decoding.beams,
        length=result.decoding.max_new_tokens,
        seed=result.decoding.seed,
    )
