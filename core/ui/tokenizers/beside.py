"""Side by side: one text under several tokenisers, with what each of them loses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from core.language.tokens import visible
from core.table import Table
from core.tokenizers.cut import Cut
from core.tokenizers.known import FAMILIES
from core.tokenizers.lost import lost
from core.tokenizers.text import whole
from core.ui.export import download_csv
from core.ui.glossary import told
from core.ui.text_table import Row, TextTable, text_table
from core.ui.tokenizers.parts import choose_shown, cut_once, inner, label, one_of, text_box
from core.ui.tokenizers.runs import block, draw

if TYPE_CHECKING:
    from core.ui.tokenizers.frame import TokenizersView

BELOW = {"counts": "The counts", "pieces": "Every piece of one", "readers": "Which model reads what"}
_HEADINGS = ("Tokeniser", "Vocabulary", "Tokens", "Characters a token", "Bytes a token", "What comes back")


def beside(view: TokenizersView) -> None:
    """Draw the section.

    Raises:
        AtlasError: what the text does not allow, as a sentence.
    """
    state = view.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        text = text_box(state)
        shown = choose_shown(state, view.known)
    text = whole(text)
    cuts = [cut_once(one, text) for one in shown]
    draw([block(one) for one in cuts], key=state.key("runs.html"), title="One text cut by several tokenisers")
    told(
        "**Try** a sentence in another language, an emoji, two blanks in a row, or a word that nobody ever used.\n\n"
        "**Notice** where a word breaks, which tokenisers answer with an unknown token, and that only those over bytes "
        "give every text back as it was."
    )
    seen = inner(state, "below", BELOW, "counts")
    if seen == "counts":
        _counts(view, cuts)
    elif seen == "pieces":
        _pieces(view, cuts)
    else:
        _readers(view)


def _counts(view: TokenizersView, cuts: list[Cut]) -> None:
    rows: list[Row] = [
        (
            label(one.by),
            f"{one.by.size:,}" if one.by.size else "none",
            f"{one.count:,}",
            f"{one.characters:.2f}",
            f"{one.bytes:.2f}",
            lost(one).told(),
        )
        for one in cuts
    ]
    text_table(TextTable(_HEADINGS, rows, "Tokens of the text", (24, 12, 10, 12, 12, 30), numeric=(1, 2, 3, 4)))
    raw: list[dict[str, Any]] = [
        {
            "tokeniser": label(one.by),
            "vocabulary": one.by.size or None,
            "tokens": one.count,
            "characters a token": round(one.characters, 4),
            "bytes a token": round(one.bytes, 4),
            "unknown tokens": len(one.unknown),
            "exact": one.text == one.decoded,
            "comes back as": visible(one.decoded),
        }
        for one in cuts
    ]
    download_csv(Table.from_records(raw), "token-counts", view.state.key("csv.token-counts"))


def _pieces(view: TokenizersView, cuts: list[Cut]) -> None:
    by = one_of(view.state, "look", [one.by for one in cuts], "Tokeniser")
    chosen = next(one for one in cuts if one.by.slug == by.slug)
    raw = [
        {
            "place": i + 1,
            "piece": visible(token.piece),
            "reads": visible(token.text).replace(" ", "␣") or "␣",
            "id": token.id if token.id >= 0 else None,
            "from": token.start,
            "to": token.end,
            "bytes": len(chosen.text[max(0, token.start) : max(0, token.end)].encode()),
            "stands for": visible(chosen.text[max(0, token.start) : max(0, token.end)]),
            "is": "unknown"
            if i in chosen.unknown
            else "special"
            if token.special
            else "goes on"
            if token.continuation
            else "begins",
        }
        for i, token in enumerate(chosen.tokens)
    ]
    st.dataframe(raw, hide_index=True, alt=f"Every piece of the text: {label(by)}")
    st.caption(f"The ids give back: “{_plain(chosen.decoded)}”")
    download_csv(Table.from_records(raw), "pieces", view.state.key("csv.pieces"))


def _readers(view: TokenizersView) -> None:
    rows: list[Row] = [
        (FAMILIES[one.family], f"{one.size:,}" if one.size else "none", _of(one.readers)) for one in view.known
    ]
    text_table(TextTable(("Kind", "Vocabulary", "Read by"), rows, "Tokenisers here", (22, 14, 64), numeric=(1,)))
    told(
        "The published RoBERTa, DeBERTa and Longformer cut with byte-level BPE, the published ALBERT and XLNet with "
        "Unigram. Their small relatives here share one WordPiece vocabulary instead, so that differences between them "
        "come from their objectives and not from their words. Whole words are those that stand undivided in MiniLM’s "
        "vocabulary: a model with a closed list would know no others. BPE over letters, the kind of the first GPT and "
        "of XLM, was learnt here from the text of the encoders’ WordPiece vocabulary, at the same size, so that the "
        "two can be compared."
    )


def _of(readers: tuple[str, ...]) -> str:
    return ", ".join(readers) if readers else "no model: for contrast"


def _plain(text: str) -> str:
    from core.ui.page import plain

    shown = visible(text)
    return plain(shown if len(shown) <= 600 else shown[:599] + "…")
