"""How many scores a mask leaves to be computed: the formula, this text, and the lengths of published models."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core import catalogue, session
from core.attention.masks import board as boards
from core.attention.masks.axes import Axes
from core.attention.masks.board import Board
from core.attention.masks.kinds import KINDS, Choice, describe, lines, published, read, write
from core.table import Table
from core.ui.export import download_csv
from core.ui.glossary import markdown
from core.ui.section import View
from core.ui.text_table import TextTable, text_table

LENGTHS = (512, 1024, 4096)
_WIDTHS = (34, 14, 20, 20, 12)
_HEADINGS = ("Mask", "Tokens", "Scores computed", "Of all pairs", "Share")


def count(view: View, choice: Choice, board: Board) -> None:
    """Draw the part."""
    for term in choice.terms:
        if len(choice.terms) > 1:
            st.markdown(f"**{KINDS[term.kind].title}**")
        formula = describe(term.kind).count
        equals = "" if formula.startswith(r"\approx") else "="
        st.latex(rf"|M| {equals} {lines(formula)}")
    view.note("Count: symbols")
    counted = [("This mask", board.axes, board.count)]
    if choice.layout == "text":
        word = write(choice)
        counted += [
            (f"This mask at {n:,} tokens", _text(n, choice.padded), at_length(word, n, choice.padded)) for n in LENGTHS
        ]
    counted += _published(choice)
    rows = [_row(*one) for one in counted]
    text_table(TextTable(_HEADINGS, rows, "Scores computed under each mask", _WIDTHS, numeric=(1, 2, 3, 4)))
    download_csv(_counts_table(counted), f"mask-scores-{write(choice)}", view.state.key("masks.count.csv"))
    part = "Try: count" if board.axes.square and choice.layout == "text" else "Notice: sizes"
    markdown(f"**{part.partition(':')[0]}** {view.words.part(part)}")
    view.note("Count: how")


@session.cached()
def at_length(word: str, tokens: int, padded: int) -> int:
    """Scores of the choice that ``word`` stands for, over so many tokens, padding included."""
    return boards.count(read(word), _text(tokens, padded))


@session.cached()
def _at_published(index: int) -> int:
    one = published()[index]
    return boards.count(one.choice, one.axes())


def _published(choice: Choice) -> list[tuple[str, Axes, int]]:
    """Published masks that share a pattern with the choice."""
    kinds = {term.kind for term in choice.terms}
    return [
        (f"{catalogue.get(one.system).name}: {one.choice.title()} ({one.evidence})", one.axes(), _at_published(index))
        for index, one in enumerate(published())
        if kinds & {term.kind for term in one.choice.terms}
    ]


def _counts_table(counted: Sequence[tuple[str, Axes, int]]) -> Table:
    """The numbers of the table, whole and ungrouped."""
    columns = ("mask", "queries", "keys", "scores computed", "all pairs", "share")
    sizes = [(name, len(axes.queries), len(axes.keys), number) for name, axes, number in counted]
    return Table(columns, tuple((name, q, k, number, q * k, number / (q * k)) for name, q, k, number in sizes))


def _text(tokens: int, padded: int) -> Axes:
    names = ("",) * tokens
    return Axes("text", names, names, padded)


def _row(name: str, axes: Axes, number: int) -> tuple[str, ...]:
    rows, columns = len(axes.queries), len(axes.keys)
    tokens = f"{rows:,}" if axes.square else f"{rows:,} × {columns:,}"
    return name, tokens, f"{number:,}", f"{rows * columns:,}", f"{100 * number / (rows * columns):.1f} %"
