"""The cross-attention of one answer: two rows of tokens, a heat map and a table, for a layer and head or their mean."""

from __future__ import annotations

from typing import NamedTuple

import streamlit as st

from core.figures import attention as figures
from core.language.translate import Alignment
from core.ui.chart import chart
from core.ui.data_table import data_table
from core.ui.demos.alignment import alignment_rows
from core.ui.links import PageState
from core.ui.page import accent, theme

MEAN = 0  # the menus' entry for the mean; layers and heads count from 1


class Chosen(NamedTuple):
    """What is shown: the written token, from 0; layer and head from 1, or :data:`MEAN`."""

    step: int
    layer: int
    head: int


def attention_panel(found: Alignment, step: int, state: PageState) -> Chosen:
    """The menus and the two rows of tokens; choosing a written token changes the step."""
    layers, heads = found.weights.shape[:2]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.markdown("**What each written token looked at**", width="stretch")
        layer = _menu(state, "Layer", "layer", layers)
        head = _menu(state, "Head", "head", heads)
    picked = alignment_rows(
        found.source,
        found.target,
        _weights(found, layer, head),
        selected=step,
        key=state.key("alignment"),
        accent=accent(state.page),
    )
    return Chosen(picked, layer, head)


def attention_tabs(found: Alignment, chosen: Chosen, state: PageState) -> None:
    """The same weights as a heat map and as a table."""
    weights = _weights(found, chosen.layer, chosen.head)
    layer = f"layer {chosen.layer}" if chosen.layer else "all layers"
    head = f"head {chosen.head}" if chosen.head else "all heads"
    heat, table = st.tabs(["Cross-attention as a heat map", "As a table"])
    with heat:
        chart(
            figures.alignment_map(found.source, found.target, weights, theme=theme()),
            key=state.key("alignment.heat"),
            alt=f"Cross-attention of {len(found.target)} written to {len(found.source)} read tokens, {layer}, {head}.",
        )
    with table:
        data_table(
            figures.alignment_table(found.source, found.target, weights),
            "alignment",
            alt="For each written token the three read tokens that it looked at most",
        )


def _weights(found: Alignment, layer: int, head: int) -> figures.Weights:
    return figures.choose(found.weights, layer - 1 if layer else None, head - 1 if head else None)


def _menu(state: PageState, label: str, name: str, count: int) -> int:
    current = state.number(name, MEAN)
    options = list(range(count + 1))
    chosen = int(
        st.selectbox(
            label,
            options,
            index=current if current in options else MEAN,
            key=state.key(f"cross.{name}"),
            width=110,
            format_func=lambda number: str(number) if number else "mean",
        )
    )
    state.set(**{name: chosen or None})
    return chosen
