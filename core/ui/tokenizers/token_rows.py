"""A tokenized text as a row of small colored chips, used by every section of the page.

Two alternating tints, a gap before a new word, ``␣`` for a token's leading space, ``‿`` for a continuation:
color is never the only sign. Every text is escaped here.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import streamlit as st

from core.content import content
from core.language.types import Token
from core.tokenizers.cut import Tokenization, lost
from core.tokenizers.known import FAMILIES
from core.ui.export import download_html, html_page
from core.ui.page import css
from core.words import counted, visible

_TIGHT = ("bytes", "characters")
DRAWN = 400
"""The most tokens drawn; counts include all."""

STYLE = css("token-rows")


def draw_rows(parts: Sequence[str], *, key: str = "", title: str = "") -> None:
    """Draw HTML of :func:`token_row` or :func:`tokenizer_block`; with a ``key``, also a download button."""
    st.html(STYLE + "".join(parts))
    if key:
        download_html(html_page(title, [STYLE, *parts]), "runs", key)


def tokenizer_block(cut: Tokenization) -> str:
    """A tokenizer's name, its counts, its tokens and what is lost, as HTML."""
    info = cut.by
    size = f"vocabulary {info.size:,}" if info.size else "no vocabulary"
    alone = " · trained here, used by no model" if info.family == "letter-bpe" else ""
    of = alone if not info.models else f" · {info.models[0] if len(info.models) == 1 else info.name}"
    more = f" and {len(info.models) - 1} more" if len(info.models) > 1 else ""
    tokens = f"{cut.count:,} token{'' if cut.count == 1 else 's'}"
    each = f" · {cut.characters:.2g} characters each" if cut.count else ""
    return (
        f'<div class="tk"><div class="tk-head"><b>{FAMILIES[info.family]}</b>'
        f"<span>{escape(size + of + more)}</span><span class='n'><b>{tokens}</b>{each}</span></div>"
        f"{token_row(cut.tokens, FAMILIES[info.family], unknown=cut.unknown, tight=info.family in _TIGHT)}"
        f'<p class="tk-foot">{escape(_foot(cut))}</p></div>'
    )


def token_row(
    tokens: Sequence[Token],
    label: str,
    *,
    unknown: frozenset[int] = frozenset(),
    new: frozenset[int] = frozenset(),
    tight: bool = False,
) -> str:
    """A tokenized text as HTML: a row of chips, at most :data:`DRAWN` of them.

    Args:
        tokens: in reading order.
        label: what the row shows, for screen readers.
        unknown: indices of unknown tokens.
        new: indices to underline, such as those of the latest merge.
        tight: gaps only at spaces, for tokenizers whose tokens carry no mark of continuation.
    """
    parts = []
    for i, token in enumerate(tokens[:DRAWN]):
        kind = "u" if i in unknown else "s" if token.special else "ab"[i % 2]
        after = tokens[i + 1] if i + 1 < len(tokens) else None
        ends = after is not None and not after.continuation and (not tight or after.leading_space or after.text == " ")
        classes = f"p {kind}" + (" e" if ends else "") + (" new" if i in new else "")
        mark = "<i>␣</i>" if token.leading_space else "<i>‿</i>" if token.continuation else ""
        word = "" if token.leading_space and not token.text else escape(visible(token.text).replace(" ", "␣"))
        parts.append(f'<span class="{classes}" title="{escape(_title(token))}">{mark}<bdi>{word}</bdi></span>')
    if not parts:
        return '<p class="tk-run"><span class="p s">nothing</span></p>'
    ellipsis = f'<span class="p s">… {len(tokens) - DRAWN:,} more</span>' if len(tokens) > DRAWN else ""
    direction = "rtl" if _from_right("".join(token.text for token in tokens)) else "ltr"
    text = escape(f"{label}: {counted(len(tokens), 'token')}")
    return f'<p class="tk-run" role="group" aria-label="{text}" dir="{direction}">{"".join(parts)}{ellipsis}</p>'


def _foot(cut: Tokenization) -> str:
    if not cut.tokens:
        return content("tokenizers").part("All lost")
    losses = lost(cut)
    summary = losses.summary()
    return f"{summary[0].upper()}{summary[1:]}."


def _title(token: Token) -> str:
    parts = [f"token {visible(token.piece)}"]
    if token.id >= 0:
        parts.insert(0, f"id {token.id}")
    if token.end > token.start >= 0:
        parts.append(f"characters {token.start} to {token.end}")
    if token.special:
        parts.append("special token")
    return ", ".join(parts)


def _from_right(text: str) -> bool:
    """Whether most letters belong to a right-to-left script (Hebrew, Arabic)."""
    letters = [c for c in text if c.isalpha()]
    return 2 * sum("\u0590" <= c <= "\u08ff" or "\ufb1d" <= c <= "\ufefc" for c in letters) > len(letters)
