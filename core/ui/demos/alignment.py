"""Cross-attention of one answer: two rows of tokens, and a heat map with its table, for a layer and head or their mean.

The source tokens stand above, the generated tokens below; lines between them are as wide as the attention weights for
which they stand. The generated tokens are buttons: choosing one shows what it attends to. What the browser draws is
data; tokens are written with ``textContent``.
"""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.figures import attention as figures
from core.language.translate import Alignment
from core.language.types import Token
from core.ui.chips import on_colour
from core.ui.component import Component, Message, Position
from core.ui.demos.demo import DemoView, Menu
from core.ui.page import theme


class Picked(Message):
    """The generated token that was chosen."""

    selected: Position


ROWS = Component("alignment", Picked)
LAYER = Menu(name="layer", label="Layer", low=0, high=200, zero="mean", width=110)
HEAD = Menu(name="head", label="Head", low=0, high=256, zero="mean", width=110)
"""Both count from 1; 0 is the mean."""


def attention_panel(view: DemoView, found: Alignment, step: int) -> tuple[int, figures.Weights, str]:
    """The menus and the two rows of tokens; choosing a generated token changes the step.

    Returns:
        The step, the weights (T, S) of the chosen layer and head, and their names.
    """
    layers, heads = found.weights.shape[:2]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.markdown(f"**{view.words.label('alignment')}**", width="stretch")
        layer = LAYER.with_(options=range(layers + 1), high=layers).draw(view.state)
        head = HEAD.with_(options=range(heads + 1), high=heads).draw(view.state)
    weights = figures.choose(found.weights, layer - 1 if layer else None, head - 1 if head else None)
    key = view.state.key("alignment")
    picked = ROWS.sent(key)
    step = min(step if picked is None else picked.selected, len(found.target) - 1)
    data = {
        "source": [_chip(token, "source token") for token in found.source],
        "target": [_chip(token, f"step {t}") for t, token in enumerate(found.target, 1)],
        "lines": figures.alignment_lines(weights),
        "selected": step,
        "accent": view.accent,
        "onAccent": on_colour(view.accent),
        "label": "Generated tokens; choose one to show which source tokens it attends to",
    }
    ROWS.draw(key, data)
    return step, weights, f"{f'layer {layer}' if layer else 'all layers'}, {f'head {head}' if head else 'all heads'}"


def attention_map(view: DemoView, found: Alignment, weights: figures.Weights, which: str) -> None:
    """The same weights as a heat map, with its table."""
    view.picture(
        "alignment",
        figures.alignment_map(found.source, found.target, weights, theme=theme()),
        figures.alignment_table(found.source, found.target, weights),
        which=which,
        target=len(found.target),
        source=len(found.source),
    )


def _chip(token: Token, about: str) -> dict[str, Any]:
    mark = "‿" if token.continuation else ""
    return {
        "text": mark + (token.text or ("␣" if token.leading_space else token.piece)),
        "title": f"{about}, id {token.id}, piece {token.piece}",
        "special": token.special,
    }
