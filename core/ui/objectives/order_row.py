"""Tokens in an order that is dragged, by pointer or by keyboard; the last ones of it are marked as asked."""

from __future__ import annotations

from collections.abc import Sequence

from core.language.tokens import visible
from core.language.types import Token
from core.ui.chips import on_colour
from core.ui.component import Component, Message, Positions
from core.ui.page import accent as accent_of


class Moved(Message):
    """All positions, each once, in their new order."""

    order: Positions


ROW = Component("order", Moved)


def order_row(
    tokens: Sequence[Token], order: Sequence[int], asked: int, *, key: str, accent: str, label: str
) -> tuple[int, ...]:
    """Draw the row and return the order after the last move: all places, each once.

    :param tokens: the tokens in the text's own order.
    :param order: their places, as they are found (the caller's state).
    :param asked: how many of the last are asked.
    """
    moved = ROW.sent(key)
    current = tuple(order)
    if moved is not None and sorted(moved.order) == list(range(len(tokens))):
        current = tuple(moved.order)
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
    }
    ROW.draw(key, data)
    return current
