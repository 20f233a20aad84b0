"""The patterns by name: what can be set in each, within which limits, and how its predicate is made for given axes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from core import patterns
from core.attention.masks.axes import MOST, Axes, Layout
from core.patterns import Pattern
from core.sparse.layout import Sparsity

Numbers = tuple[int, ...]
CONTENT, QUERY = 0, 1
"""The two streams of a permutation."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A number that a visitor chooses."""

    label: str
    default: int
    low: int
    high: int
    help: str = ""
    step: int = 1
    names: tuple[str, ...] = ()
    """What the numbers stand for, from ``low`` on, where they are no amounts."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A pattern with a name."""

    key: str
    title: str
    build: Callable[[Axes, Numbers], Pattern]
    settings: tuple[Setting, ...] = ()
    layout: Layout = "text"
    """What the axes must be; a pattern over a text can also be laid over an image's tokens."""
    many: int = 0
    """How many positions may be listed instead of settings."""
    usual: Numbers = ()
    """The positions by default."""


def _bigbird(axes: Axes, numbers: Numbers) -> Pattern:
    size, window, ends, drawn, seed = numbers
    sparsity = Sparsity(block_size=size, window=window, global_blocks=ends, random_blocks=drawn, seed=seed)
    return sparsity.pattern(len(axes.keys))


def _permutation(axes: Axes, numbers: Numbers) -> Pattern:
    n = len(axes.keys)
    stream = patterns.query_stream if numbers[1] == QUERY else patterns.content_stream
    return stream(patterns.drawn(n, numbers[0]), n)


_SEED = Setting("Seed", 1, 0, 9999, "The same seed gives the same random keys")
_LONG = 10_000
"""Longer than any text that is counted here."""

KINDS: dict[str, Kind] = {
    kind.key: kind
    for kind in (
        Kind("full", "Fully visible", lambda axes, n: patterns.full),
        Kind("causal", "Causal", lambda axes, n: patterns.causal),
        Kind("backward", "Right to left", lambda axes, n: patterns.anticausal),
        Kind(
            "prefix",
            "Prefix",
            lambda axes, n: patterns.prefix(n[0]),
            (Setting("Prefix, tokens", 4, 0, _LONG, "Tokens at the start that all tokens attend to"),),
        ),
        Kind(
            "padding",
            "Padding",
            lambda axes, n: patterns.padding(len(axes.keys) - n[0]),
            (Setting("Padding, tokens", 3, 0, MOST - 1, "Tokens that pad the text to the length of its batch"),),
        ),
        Kind("cross", "Cross", lambda axes, n: patterns.full, layout="two"),
        Kind(
            "permutation",
            "Permutation",
            _permutation,
            (
                Setting("Order", 1, 0, 9999, "The seed of the order; 0 is from left to right"),
                Setting("Stream", CONTENT, CONTENT, QUERY, names=("content stream", "query stream")),
            ),
        ),
        Kind(
            "segment",
            "Segments with memory",
            lambda axes, n: patterns.segments(n[0], n[1]),
            (
                Setting("Segment, tokens", 4, 1, _LONG),
                Setting("Memory, tokens", 2, 0, _LONG, "Hidden states cached from before the segment"),
            ),
        ),
        Kind(
            "window",
            "Window",
            lambda axes, n: patterns.window(n[0], n[1]),
            (Setting("To the left", 2, 0, _LONG), Setting("To the right", 2, 0, _LONG)),
        ),
        Kind(
            "dilated",
            "Dilated window",
            lambda axes, n: patterns.dilated(n[0], n[1]),
            (
                Setting("Keys each side", 2, 0, _LONG),
                Setting("Dilation", 2, 1, _LONG, "Each query attends to every d-th key; 1 leaves no gaps"),
            ),
        ),
        Kind("global", "Global tokens", lambda axes, n: patterns.global_at(n), many=8, usual=(0,)),
        Kind(
            "random",
            "Random",
            lambda axes, n: patterns.random(len(axes.keys), n[0], n[1]),
            (Setting("Keys each", 2, 0, MOST), _SEED),
        ),
        Kind(
            "bigbird",
            "BigBird",
            _bigbird,
            (
                Setting("Block, tokens", 4, 2, 128),
                Setting("Window, blocks", 3, 1, 15, "An odd number, the block itself in the middle", 2),
                Setting("Global, blocks", 2, 0, 8, "First and last blocks, in turn"),
                Setting("Random, blocks", 1, 0, 8, "Sampled for each block of queries"),
                _SEED,
            ),
        ),
        Kind("row", "Image rows", lambda axes, n: patterns.row(axes.caption, axes.side), layout="image"),
        Kind(
            "column",
            "Image columns",
            lambda axes, n: patterns.column(axes.caption, axes.side),
            layout="image",
        ),
        Kind(
            "convolution",
            "Image convolution",
            lambda axes, n: patterns.convolution(axes.caption, axes.side, n[0]),
            (Setting("Kernel", 3, 1, 11, "Side of the neighborhood, an odd number", 2),),
            layout="image",
        ),
        Kind(
            "strided",
            "Strided",
            lambda axes, n: patterns.strided(n[0]),
            (Setting("Stride", 4, 1, _LONG, "Near the square root of the length in the paper"),),
        ),
        Kind(
            "fixed",
            "Fixed",
            lambda axes, n: patterns.fixed(n[0], n[1]),
            (
                Setting("Block, tokens", 4, 1, _LONG),
                Setting("Summary, tokens", 1, 1, _LONG, "At the end of each block"),
            ),
        ),
    )
}
"""Every pattern by its key, in the order in which they are offered."""
