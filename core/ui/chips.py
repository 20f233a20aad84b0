"""Token chips: a sentence as a row of selectable buttons, one per token.

The caller owns the selection. It passes the current one and receives the one after the last click, already
in the run that the click started::

    picked = token_chips(tokens, selected=picked, key="mask", multi=True, label="Words to mask", accent="encoder")

Tokens reach the browser as data and are written with ``textContent``, so a token may hold any characters.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from core.figures.heatmap import readable
from core.language.tokens import shortened
from core.language.types import Token
from core.ui.component import Component, Message, Positions
from core.ui.page import accent as accent_of
from core.words import visible


class Clicked(Message):
    """The tokens that are selected after a click."""

    selected: Positions


CHIPS = Component("chips", Clicked)


def token_chips(
    tokens: Sequence[Token | str],
    *,
    selected: Collection[int] = (),
    key: str,
    multi: bool = False,
    accent: str = "encoder",
    label: str = "Tokens",
    disabled: Collection[int] = (),
    held: Collection[int] = (),
    groups: Sequence[int] | None = None,
    bars: Sequence[float] | None = None,
    notes: Sequence[str] | None = None,
    clearable: bool = True,
    row: bool = False,
) -> tuple[int, ...]:
    """Draw a row of token chips and return the positions that are selected, in ascending order.

    Tab reaches the row, the arrow keys, Home and End move along it, Space and Enter choose.

    :param tokens: the tokens, or plain strings without further data.
    :param selected: positions to show as selected (the caller's state).
    :param key: a key that no other widget of the page has.
    :param multi: whether several positions may be selected at once.
    :param accent: a branch (``"encoder"``, ...) or a color as ``#rrggbb``.
    :param label: the row's accessible name.
    :param disabled: positions that cannot be chosen.
    :param held: positions shown as selected that cannot be changed; they are not returned.
    :param groups: a number for each token; with ``multi``, equal numbers are chosen together (whole words).
    :param bars: one number from 0 to 1 a token, drawn as a thin bar along the chip's foot.
    :param notes: added to each token's tooltip.
    :param clearable: with ``multi=False``: whether a second click on the selected chip clears it.
    :param row: one row, which scrolls sideways where the tokens are many.
    """
    off = set(disabled) | set(held)
    clicked = CHIPS.sent(key)
    chosen = selected if clicked is None else clicked.selected
    current = tuple(sorted({i for i in chosen if 0 <= i < len(tokens) and i not in off}))
    if not multi:
        current = current[:1]
    color = accent if accent.startswith("#") else accent_of(accent)
    data = {
        "tokens": [_chip(token, i, i in off, bars, notes) for i, token in enumerate(tokens)],
        "held": sorted(set(held)),
        "groups": list(groups) if groups is not None else None,
        "selected": list(current),
        "multi": multi,
        "clearable": clearable,
        "row": row,
        "label": label,
        "accent": color,
        "onAccent": text_color_on(color),
    }
    CHIPS.draw(key, data)
    return current


def text_color_on(color: str) -> str:
    """Black or white: the one with more contrast on ``color`` (``#rrggbb``) by WCAG's ratio."""
    return str(readable(np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)])))


def _chip(
    token: Token | str, index: int, off: bool, bars: Sequence[float] | None, notes: Sequence[str] | None
) -> dict[str, Any]:
    """The props of one chip."""
    note = notes[index] if notes is not None else ""
    if isinstance(token, str):
        title = f"token {index + 1}" + (f", {note}" if note else "")
        chip: dict[str, Any] = {"text": visible(token), "title": title, "off": off}
    else:
        parts = [f"token {index + 1}", *([f"id {token.id}", f"piece {token.piece}"] if token.id >= 0 else [])]
        if token.special:
            parts.append("special token")
        if token.replaced:
            parts.append(f"“{shortened(token.replaced)}” {token.why}")
        if token.continuation:
            parts.append("continues the word before it")
        if note:
            parts.append(note)
        chip = {
            "text": visible(token.text) or ("" if token.leading_space else token.piece),
            "title": ", ".join(parts),
            "off": off,
            "special": token.special,
            "joined": token.continuation,
            "mark": "␣" if token.leading_space else "‿" if token.continuation else "",
        }
    if bars is not None:
        chip["bar"] = float(bars[index])
    return chip
