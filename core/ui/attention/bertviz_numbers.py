"""What a view of bertviz's shows, as files of numbers over the whole text; made when somebody asks for them.

The head view gives the heads that are on in its layer, the model view every head that is sent, the neuron view one head
with its queries and keys.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from core.attention.trace import AttentionMap, AttentionTrace
from core.attention.views.export import to_long_csv, to_npz, to_scores_csv, to_vectors_csv
from core.attention.views.limits import View
from core.figures.taken import MOST_LINES
from core.ui.attention.bertviz_chosen import First

if TYPE_CHECKING:
    from core.ui.links import PageState


def numbers(
    found: AttentionMap,
    view: View,
    stem: str,
    layers: list[int] | None,
    heads: list[int] | None,
    now: First,
    state: PageState,
) -> None:
    """Draw the buttons.

    Args:
        stem: how the files' names begin.
        layers, heads: those that the view was sent, from 0; None for all.
        now: what is chosen in it.
    """
    sent = list(range(found.layers)) if layers is None else layers
    able = list(range(found.heads)) if heads is None else heads
    layer = sent[0] if now.layer is None else now.layer
    if view == "neuron":
        _one_head(found, layer, now.heads[0] if now.heads else able[0], stem, state)
        return
    if view == "head":
        sent, able, stem = [layer], able if now.heads is None else list(now.heads), f"{stem}-layer{layer + 1}"
    if len(sent) * len(able) * found.weights[0, 0].size <= MOST_LINES:
        _file(
            "These numbers (CSV)",
            partial(to_long_csv, found, sent, able),
            f"{stem}.csv",
            state.key("bertviz.csv"),
            "The weights of the heads that are shown, over the whole text",
        )
        return
    st.download_button(
        "The numbers (npz)",
        lambda: to_npz(AttentionTrace(stem, **{found.kind: found})),
        f"{stem}.npz",
        "application/octet-stream",
        key=state.key("bertviz.npz"),
        on_click="ignore",
        help=f"The weights of every layer and head as a numpy archive: those that are shown are more than "
        f"{MOST_LINES:,}, too many for a table",
    )


def _one_head(found: AttentionMap, layer: int, head: int, stem: str, state: PageState) -> None:
    where, stem = f"Of layer {layer + 1}, head {head + 1}", f"{stem}-layer{layer + 1}-head{head + 1}"
    _file(
        "Weights and q·k (CSV)",
        partial(to_scores_csv, found, layer, head),
        f"{stem}.csv",
        state.key("bertviz.scores"),
        f"{where}: for each pair of tokens the query times the key, divided by the root of the width, and the weight",
    )
    _file(
        "Queries and keys (CSV)",
        partial(to_vectors_csv, found, layer, head),
        f"{stem}-vectors.csv",
        state.key("bertviz.vectors"),
        f"{where}: the query and the key of every token",
    )


def _file(label: str, made: partial[bytes], name: str, key: str, told: str) -> None:
    st.download_button(label, made, name, "text/csv", key=key, on_click="ignore", help=told)
