"""The board: a mask as cells that a click or a key turns over. The browser draws; the cells that changed come back."""

from __future__ import annotations

from typing import Any

from core.attention.masks.board import MOST_EDITS, Board
from core.attention.tokens import short
from core.ui.chips import on_colour
from core.ui.component import Component, Message, Positions


class Turned(Message):
    """The cells that differ from the pattern, counted row by row."""

    flips: Positions


BOARD = Component("masks", Turned)
_LETTERS = 12
"""Columns of a label that is drawn."""


def mask_board(board: Board, *, key: str, label: str, accent: str, file: str) -> None:
    """Draw the mask; what a click changes is told by :func:`turned` in the next run.

    :param key: a key that no other widget of the page has.
    :param label: what the picture is, for screen readers and as the title of a file.
    :param accent: a colour as ``#rrggbb``.
    :param file: name of the files that are saved, without its ending.
    """
    BOARD.draw(key, component_data(board, label=label, accent=accent, file=file))


def turned(key: str, cells: int) -> tuple[int, ...] | None:
    """What a click has changed since the last run, once; None where nothing was clicked. Ask before the board is made.

    :param cells: how many the board has; numbers beyond are passed over.
    """
    sent = BOARD.sent(key)
    return None if sent is None else tuple(sorted({cell for cell in sent.flips if cell < cells}))[:MOST_EDITS]


def undo(key: str) -> None:
    """Turn every cell back; the next run does it."""
    BOARD.put(key, Turned(flips=[]))


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
