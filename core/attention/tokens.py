"""Tokens as labels of rows and columns: readable, with the vocabulary's marks still visible.

``␣`` stands for a space before the token (``Ġ`` and ``▁`` in vocabularies); a WordPiece continuation keeps its ``##``.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING

from core.language.tokens import describe, visible
from core.language.types import Token

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


def labels(tokenizer: PreTrainedTokenizerBase, ids: Sequence[int]) -> tuple[str, ...]:
    """One label for each id, in order."""
    return tuple(label(token) for token in describe(tokenizer, ids))


def label(token: Token) -> str:
    """A token as a label of one line; never empty."""
    if token.special:
        return visible(token.piece)
    mark = "␣" if token.leading_space else "##" if token.piece.startswith("##") and token.continuation else ""
    return mark + visible(token.text).replace(" ", "␣") or "∅"


def short(token: str, most: int) -> str:
    """``token`` within ``most`` columns, of which a wide character takes two; what leaves no ink is drawn.

    Marks that turn the direction of a text leave no ink: drawn, they cannot turn what stands beside them.
    """
    # A token of a pathological text may have any length, and no more than this can be shown.
    shown = visible(token[: most + 1])
    room = most
    for at, character in enumerate(shown):
        room -= 2 if unicodedata.east_asian_width(character) in "WF" else 1
        if room < (at + 1 < len(shown)):  # the last column is kept for the sign that something is left out
            return shown[:at] + "…"
    return shown
