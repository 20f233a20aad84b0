"""The board: a mask as cells that a click or a key turns over. The browser draws; the cells that changed come back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import streamlit as st

from core.attention.masks.board import MOST_EDITS, Board
from core.attention.tokens import short
from core.ui.chips import on_colour

ASSETS = Path(__file__).parents[3] / "assets" / "components" / "masks"
HTML = """
<div class="board">
  <svg tabindex="0" role="application" aria-describedby="keys"></svg>
  <div class="foot">
    <output role="status" aria-live="polite"></output>
    <button type="button" class="svg">Download SVG</button>
    <button type="button" class="png">Download PNG</button>
  </div>
  <span id="keys" hidden>Arrow keys move, Home and End go to the ends of a row, Enter or Space turns a cell over.</span>
</div>
"""
_LETTERS = 12
"""Columns of a label that is drawn."""

_mount = st.components.v2.component(
    "atlas_mask_board",
    html=HTML,
    css=(ASSETS / "board.css").read_text(encoding="utf-8"),
    js=(ASSETS / "board.js").read_text(encoding="utf-8"),
)


def mask_board(board: Board, *, key: str, label: str, accent: str, file: str) -> None:
    """Draw the mask; what a click changes is told by :func:`turned` in the next run.

    :param key: a key that no other widget of the page has.
    :param label: what the picture is, for screen readers and as the title of a file.
    :param accent: a colour as ``#rrggbb``.
    :param file: name of the files that are saved, without its ending.
    """
    memory = f"{key}--board"
    store: dict[str, Any] = st.session_state.setdefault(memory, {"count": 0})
    data = component_data(board, label=label, accent=accent, file=file) | {"count": store["count"]}
    _mount(key=key, data=data, on_turned_change=_remember(key, memory))


def turned(key: str, cells: int) -> tuple[int, ...] | None:
    """What a click has changed since the last run, once; None where nothing was clicked. Ask before the board is made.

    :param cells: how many the board has; numbers beyond are passed over.
    """
    flips = st.session_state.get(f"{key}--board", {}).pop("flips", None)
    return None if flips is None else tuple(sorted({cell for cell in flips if 0 <= cell < cells}))[:MOST_EDITS]


def undo(key: str) -> None:
    """Turn every cell back; the next run does it."""
    st.session_state.setdefault(f"{key}--board", {"count": 0})["flips"] = []


def component_data(board: Board, *, label: str, accent: str, file: str) -> dict[str, Any]:
    """What the browser is given: names, the predicate's cells as a row of 0 and 1, and the cells that are changed."""
    return {
        "rows": [short(token, _LETTERS) for token in board.axes.queries],
        "cols": [short(token, _LETTERS) for token in board.axes.keys],
        "bits": "".join("1" if cell else "0" for cell in board.pattern.flat),
        "flips": list(board.flips),
        "most": MOST_EDITS,
        "down": "who looks",
        "across": "at whom",
        "label": label,
        "accent": accent,
        "onAccent": on_colour(accent),
        "file": file,
    }


def accepted(sent: object) -> dict[str, Any] | None:
    """What a click may change, out of whatever the browser sent: whole numbers and a count, or nothing."""
    if not isinstance(sent, dict):
        return None
    flips, count = sent.get("flips"), sent.get("count")
    if not isinstance(flips, list) or type(count) is not int:
        return None
    return {"count": count, "flips": [cell for cell in flips if type(cell) is int]}


def _remember(key: str, memory: str) -> Callable[[], None]:
    """A callback that keeps a click until the run that it starts asks for it."""

    def remember() -> None:
        sent = accepted(getattr(st.session_state.get(key), "turned", None))
        if sent is not None:
            st.session_state[memory] = sent

    return remember
