"""What bertviz's views can carry: each pair of tokens is a line for the browser to draw, in every head at once.

    head view     H · n²        one layer with its heads
    model view    L · H · n²    all layers and heads
    neuron view   n²            one head, but seven shapes for each pair, and three for each number of a vector

L layers, H heads, n tokens that are shown at once. numpy is not needed here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from core.attention.trace import AttentionMap

View = Literal["head", "model", "neuron"]

MAX_LINES: dict[View, int] = {"head": 50_000, "model": 150_000, "neuron": 5_000}
"""Pairs of tokens that a browser still draws within a few seconds (slow machines included)."""


@dataclass(frozen=True, slots=True)
class Carried:
    """What a view can carry of one map."""

    tokens: int
    """Tokens on either side that are shown at once with these layers and heads."""
    pictures: int
    """Heads that could be drawn at once with the whole text; in the head view heads of one layer."""
    whole: bool
    """Whether the whole text is shown at once."""
    sentence: str
    """The same in words, with what to do where it is not the whole text."""


def carries(
    found: AttentionMap, view: View = "head", *, layers: int | None = None, heads: int | None = None
) -> Carried:
    """What ``view`` can carry of ``found`` where ``layers`` and ``heads`` of it are shown; all when not given."""
    at_once = found.heads if heads is None else heads
    if view == "model":
        at_once *= found.layers if layers is None else layers
    elif view == "neuron":
        at_once = 1
    longest = max(len(found.query_tokens), len(found.key_tokens))
    tokens = max(1, math.isqrt(MAX_LINES[view] // at_once))
    pictures = max(1, MAX_LINES[view] // longest**2)
    return Carried(
        min(tokens, longest),
        min(pictures, at_once),
        tokens >= longest,
        _sentence(view, at_once, longest, tokens, pictures),
    )


def shown_tokens(found: AttentionMap, view: View = "head") -> int:
    """How many of a map's tokens ``view`` can show at once, all layers and heads included."""
    return carries(found, view).tokens


def _sentence(view: View, at_once: int, longest: int, tokens: int, pictures: int) -> str:
    if tokens >= longest:
        return f"The {view} view shows all {_count(longest, 'token')} of this text."
    shapes = "seven shapes" if view == "neuron" else "a line"
    where = {"head": "in every head of a layer", "model": "in every head of every layer", "neuron": "in a head"}[view]
    ways = ["a part of the text"]
    if view != "neuron" and pictures < at_once and pictures * longest**2 <= MAX_LINES[view]:
        ways.append(f"{_count(pictures, 'head')} at a time with the whole text")
    return (
        f"The {view} view draws {shapes} for every pair of tokens {where}. For {_count(at_once, 'head')} and "
        f"{longest:,} tokens that makes {at_once * longest**2:,} pairs, too many for a browser; it shows "
        f"{_count(tokens, 'token')} at once. Choose {' or '.join(ways)}; the grid shows everything."
    )


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
