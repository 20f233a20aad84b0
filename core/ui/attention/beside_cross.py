"""What an encoder-decoder wrote, and which words of the sentence it looked at for it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from core.attention.trace import AttentionMap
from core.attention.views.export import head_table
from core.attention.word_maps import sharpest
from core.checkpoints.spec import CheckpointSpec
from core.figures import attention as figures
from core.ui.chart import chart
from core.ui.export import chart_menu
from core.ui.glossary import terms
from core.ui.heads.pictures import saved_as
from core.ui.page import plain, theme

if TYPE_CHECKING:
    from core.ui.links import PageState


def cross_map(spec: CheckpointSpec, found: AttentionMap, text: str, state: PageState) -> None:
    """Draw the cross-attention ``found`` over words, in the head whose rows are the least spread."""
    layer, head = sharpest(found)
    st.markdown(f"**What {plain(spec.name)} wrote, and where each word of it came from**")
    chart(
        figures.attention_map(found, layer, head, theme=theme()),
        key=state.key("beside.cross"),
        config=saved_as(f"{spec.slug}-cross"),
        alt=f"From {len(found.query_tokens)} written words to {len(found.key_tokens)} words of the sentence, in layer "
        f"{layer + 1}, head {head + 1} of the cross-attention.",
    )
    chart_menu(
        state.key("beside.cross"),
        f"{spec.slug}-cross",
        title=f"What {spec.name} wrote, and where each word of it came from",
        alt=f"Layer {layer + 1}, head {head + 1} of the cross-attention; written words down, words of “{text}” across.",
        table=partial(head_table, found, layer, head),
    )
    strongest_word = [found.key_tokens[int(row.argmax())] for row in found.weights[layer, head]]
    pairs = ", ".join(f"{new} ← {old}" for new, old in zip(found.query_tokens, strongest_word, strict=True))
    st.caption(
        terms(
            f"Layer {layer + 1}, head {head + 1} of the cross-attention, whose rows are the least spread on this "
            "sentence."
        )
        + f" {plain(pairs)}."
    )
