"""Cross-attention of one answer: two rows of tokens, and a heat map with its table, for a layer and head or their mean.

The tokens read stand above, the tokens generated below; lines between them are as wide as the attention weights for
which they stand. The generated tokens are buttons: choosing one shows what it attends to. What the browser draws is
data; tokens are written with ``textContent``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from core.figures import attention as figures
from core.language.translate import Alignment
from core.language.types import Token
from core.table import Table
from core.ui.chips import on_colour
from core.ui.component import Component, Message, Position
from core.ui.links import PageState
from core.ui.page import accent, theme
from core.ui.panel import Panel


class Picked(Message):
    """The generated token that was chosen."""

    selected: Position


ROWS = Component("alignment", Picked)


def alignment_rows(
    source: Sequence[Token],
    target: Sequence[Token],
    weights: NDArray[np.float32],
    *,
    selected: int,
    key: str,
    color: str,
) -> int:
    """Draw the picture for ``weights`` (T, S) and return the written token that is chosen, from 0.

    :param selected: the written token chosen now (the caller's state).
    :param color: as ``#rrggbb``.
    """
    picked = ROWS.sent(key)
    chosen = min(selected if picked is None else picked.selected, len(target) - 1)
    data = {
        "source": [_chip(token, "read") for token in source],
        "target": [_chip(token, f"step {t + 1}") for t, token in enumerate(target)],
        "lines": figures.alignment_lines(weights),
        "selected": chosen,
        "accent": color,
        "onAccent": on_colour(color),
        "label": "Tokens generated; choose one to see what it attends to",
    }
    ROWS.draw(key, data)
    return chosen


def _chip(token: Token, about: str) -> dict[str, Any]:
    mark = "‿" if token.continuation else ""
    return {
        "text": mark + (token.text or ("␣" if token.leading_space else token.piece)),
        "title": f"{about}, id {token.id}, piece {token.piece}",
        "special": token.special,
    }


MEAN = 0
"""The menus' entry for the mean; layers and heads count from 1."""


class Chosen(NamedTuple):
    """What is shown: the written token, from 0; layer and head from 1, or :data:`MEAN`."""

    step: int
    layer: int
    head: int


def attention_panel(found: Alignment, step: int, state: PageState) -> Chosen:
    """The menus and the two rows of tokens; choosing a written token changes the step."""
    layers, heads = found.weights.shape[:2]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.markdown("**What each generated token attends to**", width="stretch")
        layer = _menu(state, "Layer", "layer", layers)
        head = _menu(state, "Head", "head", heads)
    picked = alignment_rows(
        found.source,
        found.target,
        _weights(found, layer, head),
        selected=step,
        key=state.key("alignment"),
        color=accent(state.page),
    )
    return Chosen(picked, layer, head)


def attention_map(found: Alignment, chosen: Chosen, state: PageState) -> None:
    """The same weights as a heat map, with its table."""
    weights = _weights(found, chosen.layer, chosen.head)
    layer = f"layer {chosen.layer}" if chosen.layer else "all layers"
    head = f"head {chosen.head}" if chosen.head else "all heads"
    Panel(
        "alignment",
        f"Cross-attention, {layer}, {head}",
        figures.alignment_map(found.source, found.target, weights, theme=theme()),
        f"Cross-attention of {len(found.target)} generated to {len(found.source)} source tokens, {layer}, {head}.",
        Table.from_records(figures.alignment_table(found.source, found.target, weights)),
        heading=True,
    ).draw(state)


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
