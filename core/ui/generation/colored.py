"""Generated texts as HTML, each token colored by surprisal or entropy, or by whether a draft token was accepted."""

from __future__ import annotations

import html
from collections.abc import Sequence
from itertools import pairwise, zip_longest

import streamlit as st

from core.figures.labels import percent
from core.language.decoding.draft import Bits, Drafted, RoundBits
from core.language.tokens import Wording
from core.language.types import GenerationStep, Spread
from core.theme import mixed
from core.ui.chips import text_color_on
from core.ui.page import theme

MOST_BITS = 12.0
"""The end of the color scale: twelve bits are a probability of 1/4,096."""
COLORS = {"surprise": "Surprisal", "entropy": "Entropy", "none": "No color"}
"""Quantities that the background of a token can show."""
LOOKS = {"rounds": "Accepted and rejected", "surprise": "Surprisal", "entropy": "Entropy"}
"""Quantities that the background of a draft token can show."""
_CARET = '<span aria-hidden="true">▏</span>'


def shade(amount: float) -> str:
    """The color (``#rrggbb``) of a value from 0, the page's background, to 1."""
    stops = theme().amounts
    amount = min(1.0, max(0.0, amount))
    for (low, color), (high, other) in pairwise(stops):
        if amount <= high:
            return mixed(color, other, (amount - low) / (high - low))
    return stops[-1][1]


def text_html(
    prefix: str, steps: Sequence[GenerationStep], color: str = "none", *, growing: bool = False, room: str = "7.6em"
) -> str:
    """The end of the prompt and the generated text; everything escaped.

    Args:
        color: one of :data:`COLORS`.
        room: the minimum height.
    """
    spans = "".join(_step_span(step, color) for step in steps)
    return _paragraph(prefix, spans, growing, f"font-size:var(--atlas-text);line-height:1.95;min-height:{room}")


def plain_html(prefix: str, text: str) -> str:
    """A text without steps to color."""
    return text_html(prefix, ()).replace("</p>", f"{html.escape(text)}{_CARET}</p>")


def _paragraph(prefix: str, spans: str, growing: bool, style: str) -> str:
    tail = prefix if len(prefix) <= 48 else "… " + prefix[-46:].partition(" ")[2]
    faint = f'<span style="opacity:.72">{html.escape(tail)}</span>' if tail else ""
    style += ";margin:0;overflow-wrap:anywhere"
    return f'<p dir="auto" style="{style}">{faint}{spans}{_CARET if growing else ""}</p>'


def _step_span(step: GenerationStep, color: str) -> str:
    title = f"step {step.index + 1}: probability {percent(step.token.probability)}"
    style = ""
    if (bits := step.spread) is not None:
        title += f", {_in_bits(bits)}, {bits.remaining:,} candidates left"
        if color != "none":
            style = _background(bits, color) + ";border-radius:.25em;padding:.12em .06em;white-space:pre-wrap"
    return _span(step.token.text, title, style, "⏎<br>")


def _in_bits(bits: Spread | Bits) -> str:
    return f"surprisal {bits.surprisal:.1f} bits, entropy {bits.entropy:.1f} bits"


def _background(bits: Spread | Bits, color: str) -> str:
    """The CSS of a token's background by its surprisal or entropy."""
    ground = shade((bits.surprisal if color == "surprise" else bits.entropy) / MOST_BITS)
    return f"background:{ground};color:{text_color_on(ground)}"


def _span(token: str, title: str, style: str, line_break: str) -> str:
    space = " " if token.startswith(" ") else ""  # outside, so that no line ends in a colored sliver
    text = html.escape(token[len(space) :]).replace("\n", line_break)
    style = f' style="{style}"' if style else ""
    return f'{space}<span title="{html.escape(title)}"{style}>{text}</span>'


def bits_legend(color: str) -> None:
    """The color scale with its text alternative; nothing if the color does not show bits."""
    if color not in ("surprise", "entropy"):
        return
    stops = ", ".join(shade(i / 12) for i in range(13))
    st.html(
        '<div style="display:flex;align-items:center;gap:.5em;font-size:var(--atlas-label);white-space:nowrap">'
        "<span>0</span>"
        f'<span role="img" aria-label="colors from the background at 0 bits to the end of the scale at 12 bits" '
        f'style="width:7em;height:.9em;border:1px solid;background:linear-gradient(90deg,{stops})"></span>'
        "<span>12+ bits</span></div>"
    )


def drafted_html(
    prompt: str,
    drafted: Drafted,
    wording: Wording,
    coloring: str = "rounds",
    bits: Sequence[RoundBits] = (),
    *,
    growing: bool = False,
) -> str:
    """The text: accepted tokens colored and underlined, the target model's own framed, rejected ones struck out.

    Args:
        look: one of :data:`LOOKS`; the last two color each checked token by its ``bits``.
        bits: surprisal and entropy round by round; none while the text grows.
    """
    parts = []
    for number, (round_, round_bits) in enumerate(zip_longest(drafted.rounds, bits), 1):
        of: Sequence[Bits | None] = round_bits.written if round_bits else (None,) * len(round_.written)
        for i, token in enumerate(round_.drafted):
            if i < round_.accepted:
                kind, meaning, here = "accepted", "drafted and accepted", of[i]
            elif i == round_.accepted:
                kind, meaning, here = "rejected", "drafted and rejected", round_bits.rejected if round_bits else None
            else:
                kind, meaning, here = "dropped", "drafted after a rejection, dropped", None
            parts.append(_drafted_span(wording.token(token), kind, f"round {number}: {meaning}", coloring, here))
        for token, here in zip(round_.written[round_.accepted :], of[round_.accepted :], strict=True):
            parts.append(
                _drafted_span(wording.token(token), "own", f"round {number}: the target model's own", coloring, here)
            )
    return _paragraph(prompt, "".join(parts), growing, "font-size:var(--atlas-text);line-height:2.1;min-height:6.3em")


def _drafted_style(kind: str) -> str:
    return {
        "accepted": "background:color-mix(in srgb,var(--atlas-green) 28%,transparent);"
        "border-radius:.25em;padding:.1em .08em;"
        "text-decoration:underline 2px var(--atlas-green);text-underline-offset:.25em",
        "own": "border:2px solid var(--atlas-vermilion);border-radius:.3em;padding:.06em .14em",
        "rejected": "text-decoration:line-through 2px;opacity:.85",
        "dropped": "text-decoration:line-through 1px dotted;opacity:.62",
    }[kind]


def _drafted_span(token: str, kind: str, title: str, coloring: str, bits: Bits | None) -> str:
    style = _drafted_style(kind)
    if bits is not None:
        title += f"; {_in_bits(bits)}"
        if coloring != "rounds":
            style += f";{_background(bits, coloring)};opacity:1"
    return _span(token, title, style, "⏎")


def drafted_legend(coloring: str) -> str:
    """The legend of the four kinds of token; if the background shows bits, only lines and frames distinguish them."""
    bare = "" if coloring == "rounds" else ";background:none;color:inherit"
    kinds = {
        "accepted": "accepted",
        "own": "the target model's own",
        "rejected": "rejected",
        "dropped": "dropped unchecked",
    }
    parts = "".join(f'<span style="{_drafted_style(kind)}{bare}">{text}</span>' for kind, text in kinds.items())
    style = "display:flex;gap:1.1em;flex-wrap:wrap;align-items:center;font-size:var(--atlas-label)"
    return f'<div style="{style}">{parts}</div>'
