"""The heads over a prompt and what the decoder wrote after it: the same generation that the demo shows."""

from __future__ import annotations

import streamlit as st

from core import session
from core.attention.attention_free import refuse
from core.attention.generated import stitched
from core.attention.heads import reach
from core.attention.tokens import label
from core.attention.trace import AttentionMap, AttentionTrace
from core.checkpoints.spec import CheckpointSpec
from core.language.types import Decoding
from core.ui.data_table import data_table
from core.ui.demos.decoding import STRATEGIES
from core.ui.demos.generate import DEFAULT_TEXT, generated
from core.ui.heads.panel import heads_view
from core.ui.links import PageState
from core.ui.page import plain
from core.ui.text_box import text_box


def generated_heads(spec: CheckpointSpec, state: PageState, decoding: Decoding) -> None:
    """Draw the section; reads and writes text, layer, head and view. Raises :class:`~core.errors.AtlasError`."""
    model = session.checkpoint(spec.slug).model
    config = model.config
    refuse(config.model_type)
    before = state.text("text", DEFAULT_TEXT)
    goes_on = "The model goes on from here as in the demo"
    text = text_box(state, "text", "Beginning", DEFAULT_TEXT, key="heads.prompt", help=goes_on)
    if text != before:
        state.set(forced=(), step=None)  # a path chosen by hand belongs to the text it was chosen in
    prompt, steps = generated(spec.slug, text, decoding, state.integers("forced"))
    how = STRATEGIES[decoding.strategy].lower()
    chosen = " along the path that you chose" if state.integers("forced") else ""
    st.caption(
        plain(
            f"{len(prompt)} tokens of yours and {len(steps)} that {spec.name} wrote ({how}{chosen}). "
            f"Each step computed one new row; here they are put together. The demo sets how it writes."
        )
    )
    trace = AttentionTrace(spec.slug, decoder=stitched(model, steps, [label(token) for token in prompt]))
    choice = heads_view(
        trace,
        key=state.key("heads"),
        layer=state.number("layer") or None,
        head=state.number("head") or None,
        view=state.text("view") or None,
        accent=spec.branch,
    )
    state.set(layer=choice.layer, head=choice.head, view=None if choice.view == "heat" else choice.view)
    kinds = getattr(config, "attention_layers", None)
    if kinds and trace.decoder is not None:
        _local(trace.decoder, tuple(kinds), int(config.window_size))


def _local(map_: AttentionMap, kinds: tuple[str, ...], window: int) -> None:
    """How far back each layer of a model with local layers looks, counted in the map above."""
    count = len(map_.key_tokens)
    st.markdown(
        f"A **local** layer sees a token and the {window - 1} before it, a **global** one all that came before. They "
        "take turns, so that what is far away still arrives, a layer later."
    )
    data_table(
        [
            {"layer": i, "kind": kind, "looks back at most (tokens)": far}
            for i, (kind, far) in enumerate(zip(kinds, reach(map_.weights), strict=True), start=1)
        ],
        "local-layers",
        alt="How far back each layer looks in this text",
    )
    if count <= window:
        st.caption(
            f"These {count} tokens fit into one window of {window}, so that local layers miss none of them. "
            f"With {window} or more new tokens the difference shows."
        )
    st.caption("Counted: the largest distance with a weight above zero in any head. GPT-Neo, Black et al. 2021.")
