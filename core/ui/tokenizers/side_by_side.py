"""Tokenizers compared: one text under several tokenizers, with what each of them loses."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.language.tokens import visible
from core.table import Table
from core.tokenizers.cut import Tokenization, lost
from core.tokenizers.known import FAMILIES, known
from core.tokenizers.samples import whole
from core.ui.export import download_csv
from core.ui.page import plain
from core.ui.param import Choice
from core.ui.section import Section, View
from core.ui.tables import Row, TextTable, data_table, text_table
from core.ui.tokenizers.common import SHOWN, TEXT, choose_one, choose_shown, label, tokenized
from core.ui.tokenizers.token_rows import draw_rows, tokenizer_block

BELOW = Choice(
    name="below",
    label="View",
    options={"counts": "Counts", "pieces": "Tokens", "readers": "Tokenizers by model"},
    style="row",
    hide_label=True,
)
LOOK = Choice(name="look", label="Tokenizer", options={}, width=270)
_HEADINGS = ("Tokenizer", "Vocabulary", "Tokens", "Characters per token", "Bytes per token", "Round trip")


def beside(view: View) -> None:
    state = view.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        text = TEXT.draw(state)
        shown = choose_shown(state)
    text = whole(text)
    cuts = [tokenized(info, text) for info in shown]
    draw_rows([tokenizer_block(cut) for cut in cuts], key=state.key("runs.html"), title=view.words.label("alt"))
    view.try_and_notice()
    below = BELOW.draw(state)
    if below == "counts":
        _counts(view, cuts)
    elif below == "pieces":
        _tokens(view, cuts)
    else:
        rows: list[Row] = [
            (
                FAMILIES[info.family],
                f"{info.size:,}" if info.size else "none",
                ", ".join(info.models) or "no model, for comparison",
            )
            for info in known()
        ]
        text_table(TextTable(("Kind", "Vocabulary", "Used by"), rows, "Tokenizers here", (22, 14, 64), numeric=(1,)))
        view.say("Readers")


def _counts(view: View, cuts: Sequence[Tokenization]) -> None:
    rows: list[Row] = [
        (
            label(cut.by),
            f"{cut.by.size:,}" if cut.by.size else "none",
            f"{cut.count:,}",
            f"{cut.characters:.2f}",
            f"{cut.bytes:.2f}",
            lost(cut).summary(),
        )
        for cut in cuts
    ]
    text_table(TextTable(_HEADINGS, rows, "Tokens of the text", (24, 12, 10, 12, 12, 30), numeric=(1, 2, 3, 4)))
    records = [
        {
            "tokenizer": label(cut.by),
            "vocabulary": cut.by.size or None,
            "tokens": cut.count,
            "characters per token": cut.characters,
            "bytes per token": cut.bytes,
            "unknown tokens": len(cut.unknown),
            "lossless": cut.text == cut.decoded,
            "decoded": visible(cut.decoded),
        }
        for cut in cuts
    ]
    download_csv(Table.from_records(records), "token-counts", view.state.key("token-counts.csv"))


def _tokens(view: View, cuts: Sequence[Tokenization]) -> None:
    by = choose_one(view.state, LOOK, [cut.by for cut in cuts])
    chosen = next(cut for cut in cuts if cut.by.slug == by.slug)
    records = []
    for i, token in enumerate(chosen.tokens):
        span = chosen.text[max(0, token.start) : max(0, token.end)]
        records.append(
            {
                "position": i + 1,
                "token": visible(token.piece),
                "text": visible(token.text).replace(" ", "␣") or "␣",
                "id": token.id if token.id >= 0 else None,
                "start": token.start,
                "end": token.end,
                "bytes": len(span.encode()),
                "source text": visible(span),
                "kind": "unknown"
                if i in chosen.unknown
                else "special"
                if token.special
                else "continuation"
                if token.continuation
                else "word start",
            }
        )
    data_table(
        Table.from_records(records), "tokens", alt=f"All tokens of the text: {label(by)}", key=view.state.key("tokens")
    )
    decoded = visible(chosen.decoded)
    st.caption(f"The ids decode to: “{plain(decoded if len(decoded) <= 600 else decoded[:599] + '…')}”")


BESIDE = Section("beside", beside, (TEXT, SHOWN, BELOW, LOOK))
