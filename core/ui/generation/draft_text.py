"""A text written with a draft: which tokens were accepted, refused, dropped, and which are the large model's own."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

import streamlit as st

from core.language.decoding.wording import Wording
from core.ui.generation.ink import theme

if TYPE_CHECKING:
    from core.language.decoding.draft import Drafted

_GROUND = {"light": ("#CDEBDD", "#10241C"), "dark": ("#0B4A37", "#EAF6F0")}
"""Behind accepted tokens, and the ink on it: the bluish green of Okabe and Ito, lighter or darker."""


def inked(begun: str, found: Drafted, wording: Wording, *, growing: bool = False) -> str:
    """The text: accepted tokens on a ground and underlined, the large model's own in a frame, refused ones struck."""
    tail = begun if len(begun) <= 48 else "… " + begun[-46:].partition(" ")[2]
    parts = [f'<span style="opacity:.72">{html.escape(tail)}</span>']
    for number, one in enumerate(found.rounds, 1):
        for i, token in enumerate(one.drafted):
            if i < one.accepted:
                parts.append(_span(wording.token(token), "taken", f"round {number}: drafted and accepted"))
            elif i == one.accepted:
                parts.append(_span(wording.token(token), "refused", f"round {number}: drafted and refused"))
            else:
                parts.append(_span(wording.token(token), "unread", f"round {number}: drafted after a refusal, dropped"))
        for token in one.written[one.accepted :]:
            parts.append(_span(wording.token(token), "own", f"round {number}: the large model's own"))
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


def _span(token: str, kind: str, spoken: str) -> str:
    space = " " if token.startswith(" ") else ""
    text = html.escape(token[len(space) :]).replace("\n", "⏎")
    return f'{space}<span title="{html.escape(spoken)}" style="{_style(kind)}">{text}</span>'


def legend() -> None:
    """The four looks of a token, in words."""
    st.html(legend_html())


def legend_html() -> str:
    """The legend as HTML."""
    said = (
        ("taken", "accepted"), ("own", "the large model's own"), ("refused", "refused"), ("unread", "dropped unread"),
    )  # fmt: skip
    parts = "".join(f'<span style="{_style(kind)}">{text}</span>' for kind, text in said)
    return f'<div style="display:flex;gap:1.1em;flex-wrap:wrap;align-items:center;font-size:.9rem">{parts}</div>'
