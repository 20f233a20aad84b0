"""The heads over a prompt and what the decoder wrote after it: the same generation that the demo shows."""

from __future__ import annotations

import streamlit as st

from core.attention.stitch import stitch
from core.attention.tokens import label
from core.attention.trace import AttentionTrace
from core.checkpoints.spec import CheckpointSpec
from core.language.types import Decoding
from core.ui.decoding import STRATEGIES
from core.ui.generate import DEFAULT_TEXT, generated
from core.ui.heads import heads_view
from core.ui.links import PageState
from core.ui.page import plain


def generated_heads(spec: CheckpointSpec, state: PageState, decoding: Decoding) -> None:
    """Draw the section; reads and writes text, layer, head and view. Raises :class:`~core.errors.AtlasError`."""
    box = state.key("heads.prompt")
    st.session_state.setdefault(box, state.text("text", DEFAULT_TEXT))
    text = st.text_input("Beginning", key=box, help="The model goes on from here as in the demo") or ""
    if text != state.text("text", DEFAULT_TEXT):
        state.set(forced=(), step=None)  # a path chosen by hand belongs to the text it was chosen in
    typed = None if text == DEFAULT_TEXT else text
    state.set(text=typed)
    prompt, steps = generated(spec.slug, typed, decoding, state.integers("forced"))
    how = STRATEGIES[decoding.strategy].lower()
    chosen = " along the path that you chose" if state.integers("forced") else ""
    st.caption(
        plain(
            f"{len(prompt)} tokens of yours and {len(steps)} that {spec.name} wrote ({how}{chosen}). "
            f"Each step computed one new row; here they are put together. The demo sets how it writes."
        )
    )
    trace = AttentionTrace(spec.slug, decoder=stitch(steps, [label(token) for token in prompt]))
    choice = heads_view(
        trace,
        key=state.key("heads"),
        layer=state.number("layer") or None,
        head=state.number("head") or None,
        view=state.text("view") or None,
        accent=spec.branch,
    )
    state.set(layer=choice.layer, head=choice.head, view=None if choice.view == "heat" else choice.view)
