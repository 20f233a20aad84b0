"""The rows and columns of a mask: a text, a text with padding, two texts, or a caption and an image.

Tokens here are words and punctuation marks: a mask depends on positions, not on tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from core.errors import OutOfRange
from core.words import CONTRACTED

MOST = 64
"""The most tokens on one axis."""
PAD = "[PAD]"
Layout = Literal["text", "two", "image"]


@dataclass(frozen=True, slots=True)
class Axes:
    """Tokens at the rows (queries) and columns (keys) of a mask."""

    layout: Layout
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    padded: int = 0
    """Padding tokens at the end of the keys."""
    caption: int = 0
    """Text tokens before an image."""
    side: int = 0
    """Image tokens in a row of the image, and rows."""

    @property
    def square(self) -> bool:
        """True where queries and keys are the same tokens."""
        return self.layout != "two"


def split(text: str) -> tuple[str, ...]:
    """The words and punctuation marks of ``text``, in order."""
    return tuple(CONTRACTED.findall(text))


def numbered(n: int) -> tuple[str, ...]:
    """``n`` tokens named by their positions, from 0."""
    return tuple(str(position) for position in range(n))


def one_text(tokens: Sequence[str], padded: int = 0) -> Axes:
    """Self-attention over a text, with ``padded`` padding tokens after it; truncated to :data:`MOST` tokens.

    Raises:
        OutOfRange: more padding than there is room for, or no token at all.
    """
    if not 0 <= padded < MOST or not tokens:
        raise OutOfRange(f"A mask has 1 to {MOST} tokens, of which at most {MOST - 1} are padding.")
    names = (*tokens[: MOST - padded], *(PAD,) * padded)
    return Axes("text", names, names, padded)


def two_texts(queries: Sequence[str], keys: Sequence[str], padded: int = 0) -> Axes:
    """Cross-attention: the queries of one text, the keys of another."""
    return Axes("two", one_text(queries).queries, one_text(keys, padded).keys, padded)


def picture(tokens: Sequence[str], caption: int, side: int) -> Axes:
    """The first ``caption`` tokens of a text, then an image of ``side`` x ``side`` tokens, row by row.

    Raises:
        OutOfRange: when they do not fit.
    """
    caption = min(caption, len(tokens))
    if side < 1 or caption < 0 or caption + side * side > MOST:
        raise OutOfRange(
            f"A caption of {caption} tokens and an image of {side} x {side} exceed {MOST} tokens. "
            "Choose a smaller image."
        )
    image = (f"{row + 1}|{column + 1}" for row in range(side) for column in range(side))
    names = (*tokens[:caption], *image)
    return Axes("image", names, names, caption=caption, side=side)
