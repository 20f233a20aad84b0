"""A text written with a draft: which tokens were accepted, refused, dropped, and which are the large model's own.

The grounds may tell instead how surprising each token is to the large model, or how unsure it was. Lines stay.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

import streamlit as st

from core.language.decoding.wording import Wording
from core.ui.chips import on_colour
from core.ui.generation.ink import MOST_BITS, shade, theme

if TYPE_CHECKING:
    from core.language.decoding.draft import Drafted
    from core.language.decoding.draft_bits import Bits, RoundBits

LOOKS = {"rounds": "Accepted and refused", "surprise": "Surprise", "entropy": "Entropy"}

_GROUND = {"light": ("#CDEBDD", "#10241C"), "dark": ("#0B4A37", "#EAF6F0")}
"""Behind accepted tokens, and the ink on it: the bluish green of Okabe and Ito, lighter or darker."""


def inked(
    begun: str,
    found: Drafted,
    wording: Wording,
    look: str = "rounds",
    bits: Sequence[RoundBits] = (),
    *,
    growing: bool = False,
) -> str:
    """The text: accepted tokens on a ground and underlined, the large model's own in a frame, refused ones struck.

    Args:
        look: one of :data:`LOOKS`; the last two give each token that was checked a ground by its ``bits``.
        bits: round by round, what the tokens are to the large model; none while the text grows.
    """
    tail = begun if len(begun) <= 48 else "… " + begun[-46:].partition(" ")[2]
    parts = [f'<span style="opacity:.72">{html.escape(tail)}</span>']
    for number, (one, known) in enumerate(zip_longest(found.rounds, bits), 1):
        of: Sequence[Bits | None] = known.written if known else (None,) * len(one.written)
        for i, token in enumerate(one.drafted):
            if i < one.accepted:
                kind, said, here = "taken", "drafted and accepted", of[i]
            elif i == one.accepted:
                kind, said, here = "refused", "drafted and refused", known.refused if known else None
            else:
                kind, said, here = "unread", "drafted after a refusal, dropped", None
            parts.append(_span(wording.token(token), kind, f"round {number}: {said}", look, here))
        for token, here in zip(one.written[one.accepted :], of[one.accepted :], strict=True):
            parts.append(_span(wording.token(token), "own", f"round {number}: the large model's own", look, here))
    caret = '<span aria-hidden="true">▏</span>' if growing else ""
    style = "font-size:1.1rem;line-height:2.1;min-height:6.3em;margin:0;overflow-wrap:anywhere"
    return f'<p dir="auto" style="{style}">{"".join(parts)}{caret}</p>'


def _style(kind: str) -> str:
    ground, ink = _GROUND[theme()]
    return {
        "taken": f"background:{ground};color:{ink};border-radius:.25em;padding:.1em .08em;"
        "text-decoration:underline 2px #009E73;text-underline-offset:.25em",
        "own": "border:2px solid #D55E00;border-radius:.3em;padding:.06em .14em",
        "refused": "text-decoration:line-through 2px;font-size:.82em;opacity:.85",
        "unread": "text-decoration:line-through 1px dotted;font-size:.82em;opacity:.62",
    }[kind]


def _span(token: str, kind: str, spoken: str, look: str, bits: Bits | None) -> str:
    space = " " if token.startswith(" ") else ""
    text = html.escape(token[len(space) :]).replace("\n", "⏎")
    style = _style(kind)
    if bits is not None:
        spoken += f"; surprise {bits.surprise:.1f} bits, entropy {bits.entropy:.1f} bits"
        if look != "rounds":
            ground = shade((bits.surprise if look == "surprise" else bits.entropy) / MOST_BITS, theme())
            style += f";background:{ground};color:{on_colour(ground)};opacity:1"
    return f'{space}<span title="{html.escape(spoken)}" style="{style}">{text}</span>'


def legend(look: str = "rounds") -> None:
    """The four kinds of token, in words."""
    st.html(legend_html(look))


def legend_html(look: str = "rounds") -> str:
    """The legend as HTML; where the grounds tell bits, lines and frames alone tell the kinds."""
    bare = "" if look == "rounds" else ";background:none;color:inherit"
    said = (
        ("taken", "accepted"),
        ("own", "the large model's own"),
        ("refused", "refused"),
        ("unread", "dropped unread"),
    )
    parts = "".join(f'<span style="{_style(kind)}{bare}">{text}</span>' for kind, text in said)
    return f'<div style="display:flex;gap:1.1em;flex-wrap:wrap;align-items:center;font-size:.9rem">{parts}</div>'
