"""Share of a model: how many of each system's parameters its vocabulary takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from core.figures.numbers import in_words, percent
from core.figures.vocabulary import Bar
from core.figures.vocabulary import shares as bars
from core.table import Table
from core.tokenizers.share import Share, shares
from core.ui.calculators.parts import dark, switch
from core.ui.export import download_csv
from core.ui.glossary import noted, told
from core.ui.page import base_path
from core.ui.text_table import Link, Row, TextTable, text_table
from core.ui.tokenizers.parts import formula_of
from core.ui.unbuilt import unbuilt

if TYPE_CHECKING:
    from core.ui.tokenizers.frame import TokenizersView


def share(view: TokenizersView) -> None:
    """Draw the section."""
    state = view.state
    every = switch(state, "every", "Every size", False, help="Otherwise the size that each system's page opens with")
    unbuilt()
    found = [one for one in shares() if every or one.default]
    ends = [one for one in found if one.vocabulary]
    known = {(one.slug, one.size): one for one in shares()}
    mt5, byt5 = known.get(("mt5", "small")), known.get(("byt5", "small"))
    told(
        f"**From {percent(ends[-1].share)} to {percent(ends[0].share)}**: vectors for words are most of a small "
        "model with a large vocabulary, and next to nothing of a large one."
        + (
            f" mT5 small spends {percent(mt5.share)} of its parameters on {mt5.vocabulary:,} pieces for a hundred "
            f"languages. ByT5 small is as large, spends {percent(byt5.share)} on bytes, and puts the rest into more "
            "and wider layers."
            if mt5 and byt5
            else ""
        )
    )
    drawn = [Bar(_name(one, every), one.reads, one.writes, one.total) for one in found if one.vocabulary]
    st.plotly_chart(
        bars(drawn, dark=dark()),
        key=state.key("shares"),
        config={"displaylogo": False},
        alt=f"The vocabulary's share of the parameters of {len(ends)} networks, from "
        f"{_name(ends[0], True)}, {percent(ends[0].share)}, down to {_name(ends[-1], True)}, "
        f"{percent(ends[-1].share)}.",
    )
    told(
        "**Try** every size. **Notice** how the share of one family falls with its size while the vocabulary stays, "
        "and who scores words with a matrix of its own: mT5, Llama and others untie the two, T5 here does not."
    )
    rows: list[Row] = [
        (
            (Link(one.system, f"{base_path()}/{_branch(one.slug)}?system={one.slug}&tab=tree"), one.size),
            f"{one.vocabulary:,}" if one.vocabulary else "reads letters",
            in_words(one.reads + one.writes),
            in_words(one.total),
            percent(one.share),
        )
        for one in found
    ]
    headings = ("System", "Vocabulary", "Its parameters", "All parameters", "Share")
    with st.expander("Every number", expanded=False):
        text_table(TextTable(headings, rows, "The vocabulary's share", (26, 18, 22, 22, 12), numeric=(1, 2, 3, 4)))
        raw: list[dict[str, Any]] = [
            {
                "system": one.system,
                "size": one.size,
                "vocabulary": one.vocabulary,
                "reads": one.reads,
                "scores, own": one.writes,
                "parameters": one.total,
                "share": round(one.share, 6),
            }
            for one in found
        ]
        download_csv(Table.from_records(raw), "vocabulary-share", state.key("csv.vocabulary-share"))
    noted(
        "Counted from the same module trees as everywhere here. A tree without a scoring head (BERT’s trunk, for "
        "one) has nothing to untie. Vectors of positions, segments and image tokens are not the vocabulary’s."
    )
    formula_of("share")


def _name(one: Share, every: bool) -> str:
    return f"{one.system} {one.size}" if every else one.system


def _branch(slug: str) -> str:
    from core import catalogue

    return str(catalogue.get(slug).branch)
