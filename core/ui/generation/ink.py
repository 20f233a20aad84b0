"""A written text with a colour behind every token: how surprised the model was, or how unsure."""

from __future__ import annotations

import html
from collections.abc import Sequence
from itertools import pairwise

import streamlit as st

from core.figures.attention import Theme, scale
from core.figures.predictions import percent
from core.language.types import GenerationStep
from core.ui.chips import on_colour

MOST_BITS = 12.0
"""The colour's far end; twelve bits are one chance in 4,096."""
COLOURS = {"surprise": "Surprise", "entropy": "Entropy", "none": "No colour"}


def theme() -> Theme:
    """The page's theme now."""
    return "dark" if st.context.theme.type == "dark" else "light"


def shade(amount: float, theme: Theme) -> str:
    """The colour (``#rrggbb``) of an amount from 0, the page's background, to 1."""
    stops = scale(theme)
    amount = min(1.0, max(0.0, amount))
    for (low, one), (high, other) in pairwise(stops):
        if amount <= high:
            share = (amount - low) / (high - low)
            pairs = zip(_channels(one), _channels(other), strict=True)
            return "#" + "".join(f"{round(a + share * (b - a)):02x}" for a, b in pairs)
    return stops[-1][1]


def _channels(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def spoken(step: GenerationStep) -> str:
    """What a pointer over a token shows."""
    said = f"step {step.index + 1}: probability {percent(step.token.probability)}"
    if step.spread is None:
        return said
    s = step.spread
    return f"{said}, surprise {s.surprise:.1f} bits, entropy {s.entropy:.1f} bits, {s.kept:,} tokens left by the rule"


def inked(
    begun: str, steps: Sequence[GenerationStep], colour: str, look: Theme, *, growing: bool = False, room: str = "7.6em"
) -> str:
    """The end of the beginning and the text as HTML; everything escaped. ``room``: the least height."""
    spans = "".join(_span(step, colour, look) for step in steps)
    caret = '<span aria-hidden="true">▏</span>' if growing else ""
    tail = begun if len(begun) <= 48 else "… " + begun[-46:].partition(" ")[2]
    faint = f'<span style="opacity:.72">{html.escape(tail)}</span>' if tail else ""
    style = f"font-size:1.05rem;line-height:1.95;min-height:{room};margin:0;overflow-wrap:anywhere"
    return f'<p dir="auto" style="{style}">{faint}{spans}{caret}</p>'


def plainly(begun: str, text: str) -> str:
    """A text that has no steps to colour yet."""
    return inked(begun, (), "none", "light").replace(
        "</p>", html.escape(text) + '<span aria-hidden="true">▏</span></p>'
    )


def _span(step: GenerationStep, colour: str, look: Theme) -> str:
    space = " " if step.token.text.startswith(" ") else ""  # outside, so that no line ends in a coloured sliver
    text = html.escape(step.token.text[len(space) :]).replace("\n", "⏎<br>")
    if colour == "none" or step.spread is None:
        return f'{space}<span title="{html.escape(spoken(step))}">{text}</span>'
    bits = step.spread.surprise if colour == "surprise" else step.spread.entropy
    ground = shade(bits / MOST_BITS, look)
    style = (
        f"background:{ground};color:{on_colour(ground)};border-radius:.25em;padding:.12em .06em;white-space:pre-wrap"
    )
    return f'{space}<span title="{html.escape(spoken(step))}" style="{style}">{text}</span>'


def legend(colour: str, look: Theme) -> None:
    """A bar from zero to the far end, in words for who does not see it."""
    if colour == "none":
        return
    stops = ", ".join(shade(i / 12, look) for i in range(13))
    st.html(
        '<div style="display:flex;align-items:center;gap:.5em;font-size:.85rem;white-space:nowrap"><span>0</span>'
        f'<span role="img" aria-label="colours from the background at 0 bits to the far end of cividis at 12 bits" '
        f'style="width:7em;height:.9em;border:1px solid;background:linear-gradient(90deg,{stops})"></span>'
        "<span>12+ bits</span></div>"
    )
