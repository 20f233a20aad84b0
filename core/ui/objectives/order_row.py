"""Tokens in an order that is dragged, by pointer or by keyboard; the last ones of it are marked as asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from core.language.tokens import visible
from core.language.types import Token
from core.ui.chips import on_colour
from core.ui.page import accent as accent_of

ASSETS = Path(__file__).parents[3] / "assets" / "components" / "order"
HTML = """
<div class="order">
  <div class="row" role="group"></div>
  <p class="help">Behind the dashed line: asked, in this order. Before it: known. Space takes a token up, the arrow keys
  move it, Space puts it down.</p>
  <span class="said" role="status"></span>
</div>
"""
_mount = st.components.v2.component(
    "atlas_order_row",
    html=HTML,
    css=(ASSETS / "order.css").read_text(encoding="utf-8"),
    js=(ASSETS / "order.js").read_text(encoding="utf-8"),
)


def order_row(
    tokens: Sequence[Token], order: Sequence[int], asked: int, *, key: str, accent: str, label: str
) -> tuple[int, ...]:
    """Draw the row and return the order after the last move: all places, each once.

    :param tokens: the tokens in the text's own order.
    :param order: their places, as they are found (the caller's state).
    :param asked: how many of the last are asked.
    """
    memory = f"{key}--order"
    store: dict[str, Any] = st.session_state.setdefault(memory, {"count": 0, "order": None})
    current = tuple(order)
    if store["order"] is not None:
        moved, store["order"] = tuple(store["order"]), None
        current = moved if sorted(moved) == list(range(len(tokens))) else current
    colour = accent_of(accent)
    data = {
        "tokens": [
            {
                "text": visible(token.text) or token.piece,
                "title": f"token {place}, piece {token.piece}",
                "mark": "‿" if token.continuation else "",
            }
            for place, token in enumerate(tokens)
        ],
        "order": list(current),
        "asked": asked,
        "label": label,
        "accent": colour,
        "onAccent": on_colour(colour),
        "count": store["count"],
    }
    _mount(key=key, data=data, on_order_change=_remember(key, memory))
    return current


def accepted(sent: object) -> dict[str, Any] | None:
    """What a move may change, out of whatever the browser sent: whole numbers and a count, or nothing."""
    if not isinstance(sent, dict):
        return None
    order, count = sent.get("order"), sent.get("count")
    if not isinstance(order, list) or not isinstance(count, int) or isinstance(count, bool):
        return None
    if not all(isinstance(place, int) and not isinstance(place, bool) for place in order):
        return None
    return {"order": order, "count": count}


def _remember(key: str, memory: str) -> Callable[[], None]:
    """A callback that keeps a move until the run that it starts asks for it."""

    def remember() -> None:
        move = accepted(getattr(st.session_state.get(key), "order", None))
        if move is not None:
            st.session_state[memory] = move

    return remember
