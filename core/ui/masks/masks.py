"""The section Masks of the page Objectives: which token attends to which.

A mask is drawn on a board whose cells a click flips. Beside it: its purpose, its predicate with every symbol named, the
number of allowed pairs, the systems that use it, and its paper. Below: three things called a mask, reach, counts, and
every mask with a link that draws it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import streamlit as st

from core import catalogue, links, patterns, session
from core.attention.masks import board as boards
from core.attention.masks.axes import Axes, one_text, split
from core.attention.masks.board import MOST_EDITS, Board, build_board, mask_table
from core.attention.masks.kinds import KINDS, Description, Term, describe, lines, published, read, write
from core.attention.masks.kinds import Choice as Mask
from core.attention.tokens import short
from core.content import content
from core.figures.labels import percent
from core.figures.masks import mask_map
from core.language.text import clean
from core.links import parameters as link
from core.table import Table
from core.theme import BLUE
from core.ui.chips import text_color_on
from core.ui.component import Component, Message, Positions
from core.ui.export import download_csv
from core.ui.glossary import markdown, terms
from core.ui.links import PageState
from core.ui.masks.controls import AXES, MOST_CHARACTERS, PATTERN, SENTENCE, chosen
from core.ui.masks.reach import LAYERS, chosen_position, reach
from core.ui.page import MAIN_PICTURE, base_path, plain, presenting, theme, told_outside
from core.ui.panel import Panel, offer_drawing
from core.ui.param import Carried, Choice
from core.ui.section import Section, View
from core.ui.tables import Cell, Link, Rich, TextTable, text_table

COLOR = BLUE


class FlippedCells(Message):
    """Indices of the cells that differ from the pattern, row by row."""

    flips: Positions


BOARD = Component("masks", FlippedCells, uses=("saved",))
"""A mask as cells that a click or a key flips; it sends the changed cells."""
_LETTERS = 12
"""Characters of an axis label."""
BELOW = Choice(
    name="below",
    label="More",
    options={
        "three": "Three things called a mask",
        "reach": "Reach",
        "count": "Count",
        "every": "All masks",
    },
    style="row",
    hide_label=True,
)
FLIPS = Carried(name="flips", label="Cells changed by hand", as_=link.Integers(high=4095, most=256))
PLACE = Carried(name="place", label="Token", as_=link.Integer(None, 0, 63))
_SIGNS = {"and": r"\wedge", "or": r"\vee", "without": r"\wedge \neg"}
PADDED = 3
MASKED = "[MASK]"
_DRAWN = 24
"""Tokens drawn where three figures share the page's width."""
EXAMPLES = (
    ("causal.and.padding-3", "a decoder's batch", "Causal and padding"),
    ("causal.and.window-3-0", "Mistral, GPT-Neo's local layers", "Causal and window"),
    ("window-2-2.or.global", "Longformer", "Window or global tokens"),
    ("window-1-1.or.global-0.or.random-1", "BigBird, token by token", "Window or global tokens or random"),
    ("dilated-2-3.or.window-1-1", "two heads of Longformer's character models, as one", "Dilated window or window"),
    ("row.or.column", "two layers of DALL-E, as one", "Image rows or image columns"),
)


def masks(view: View) -> None:
    state = view.state
    choice, axes = chosen(view)
    key = state.key("masks.board")
    board = build_board(choice, axes, _flips(choice, (len(axes.queries), len(axes.keys)), key, state))
    state.set(flips=board.flips)
    if presenting():  # the board has the whole screen
        st.session_state.setdefault(MAIN_PICTURE, "board")
        left, right = st.container(key="atlas-board"), st.container(key="atlas-rest")
    else:
        left, right = st.columns([1.15, 1], gap="large")
    with left:
        BOARD.draw(key, board_data(choice, board))
        if board.flips:
            st.button(
                "Undo edits",
                key=state.key("masks.undo"),
                on_click=BOARD.put,
                args=(key, FlippedCells(flips=[])),
                help=view.words.label("undo"),
            )
    offer_drawing(state, key, choice.title(), "svg", "png")
    file = f"mask-{write(choice)}"
    download_csv(mask_table(board), file, state.key("masks.csv"), of="mask", tip=view.words.label("file"))
    with right:
        _about(view, choice, board)
    _try(view, choice)
    below = BELOW.draw(state)
    if below == "reach":
        reach(view, choice, board, COLOR)
    elif below == "count":
        count(view, choice, board)
    elif below == "every":
        _every()
    else:
        _three(view, split(clean(state.text("text", SENTENCE), MOST_CHARACTERS)))


def board_data(choice: Mask, board: Board) -> dict[str, Any]:
    """The props of the component: names, the predicate's cells as a row of 0 and 1, and the changed cells."""
    counts: dict[str, str | int] = {"mask": choice.title(), "allowed": board.count, "pairs": board.allowed.size}
    return {
        "rows": [short(token, _LETTERS) for token in board.axes.queries],
        "cols": [short(token, _LETTERS) for token in board.axes.keys],
        "bits": "".join("1" if cell else "0" for cell in board.pattern.flat),
        "flips": list(board.flips),
        "most": MOST_EDITS,
        "down": "query",
        "across": "key",
        "label": content("objectives", "masks").part("Board", **counts),
        "accent": COLOR,
        "onAccent": text_color_on(COLOR),
        "file": f"mask-{write(choice)}",
    }


def _try(view: View, choice: Mask) -> None:
    if told_outside():
        return
    words = describe(choice.terms[0].kind)
    attempt, notice = words.attempt, words.notice
    if len(choice.terms) > 1:
        attempt, notice = view.words.part("Try: joined"), view.words.part("Notice: joined")
    left, right = st.columns(2, gap="large")
    left.markdown(terms(f"**Try** {attempt} {view.words.part('Turning cells over')}"))
    right.markdown(terms(f"**Notice** {notice}"))


def _flips(choice: Mask, shape: tuple[int, int], key: str, state: PageState) -> tuple[int, ...]:
    """Cells changed by hand, from the link and from clicks; reset when the mask or its size changes."""
    sent = BOARD.sent(key)
    sign = f"{write(choice)} {shape}"
    before, state.memory["masks.sign"] = state.memory.get("masks.sign"), sign
    if before is not None and before != sign:
        return ()
    if sent is None:
        return state.integers("flips")
    return tuple(sorted({cell for cell in sent.flips if cell < shape[0] * shape[1]}))[:MOST_EDITS]


def _about(view: View, choice: Mask, board: Board) -> None:
    """Draw the text beside the board."""
    edits = len(board.flips)
    by_hand = f", {edits} {'cell' if edits == 1 else 'cells'} changed by hand" if edits else ""
    share = percent(board.share)
    st.markdown(f"**{choice.title()}** · {board.count:,} of {board.allowed.size:,} pairs, {share}{by_hand}")
    alone = len(choice.terms) == 1
    for number, term in enumerate(choice.terms, start=1):
        words = describe(term.kind)
        markdown(words.purpose if alone else f"**{KINDS[term.kind].title}.** {words.purpose}")
        name = "M_{ij}" if alone else f"M^{{({number})}}_{{ij}}"
        st.latex(rf"{name} \iff {lines(words.formula)}")
        if words.symbols:
            st.markdown("; ".join(f"${latex}$: {plain(meaning)}" for latex, meaning in words.symbols))
        if term.kind == "permutation":
            st.markdown(_order(term, board.axes.keys))
        st.markdown("Used by " + ", ".join([*map(_link, words.systems), *filter(None, [words.others])]))
    if not alone:
        st.latex(_joined(choice))
    view.note("Symbols")
    if board.empty_rows:
        rows = len(board.empty_rows)
        view.note("Blind rows", rows=f"{rows} {'row attends to' if rows == 1 else 'rows attend to'}")
    kinds = dict.fromkeys(term.kind for term in choice.terms)
    for line in dict.fromkeys(line for kind in kinds for line in _papers(describe(kind))):
        st.caption(line)


def _link(slug: str) -> str:
    """A system's name as a link to its page, in Markdown."""
    system = catalogue.get(slug)
    href = base_path() + links.url(system.branches[0], {"system": slug})
    return f"[{plain(system.name)}]({href})"


def _papers(words: Description) -> list[str]:
    """The papers of a mask as lines of Markdown."""
    lines = []
    for slug in words.papers:
        paper = catalogue.get(slug).paper
        lines.append(f"{plain(paper.authors)} {paper.year}, [{plain(paper.title)}]({paper.url})")
    if words.paper:
        lines.append(f"[{plain(words.paper)}]({words.url}). {plain(words.read)}")
    return lines


def _order(term: Term, tokens: tuple[str, ...]) -> str:
    order = patterns.random_order(len(tokens), term.numbers[0])
    return "Prediction order: " + ", ".join(plain(short(tokens[position], 16)) for position in order)


def _joined(choice: Mask) -> str:
    """The combination of the predicates, from left to right."""
    formula = "M^{(1)}_{ij}"
    for number, join in enumerate(choice.joins, start=2):
        left = formula if number == 2 else f"({formula})"
        formula = f"{left} {_SIGNS[join]} M^{{({number})}}_{{ij}}"
    return rf"M_{{ij}} \iff {formula}"


def _three(view: View, tokens: tuple[str, ...]) -> None:
    """Draw three things called a mask on one sentence; the URL stores ``place``, the masked position."""
    tokens = tokens[:_DRAWN]
    n = len(tokens)
    view.say("Three")
    position = chosen_position(tokens, n // 2, "Masked token", COLOR, view.state)
    padded = one_text(tokens, PADDED).keys
    masked = (*tokens[:position], MASKED, *tokens[position + 1 :])
    shown = (
        ("Causal mask", patterns.mask(patterns.causal, n), tokens),
        ("Padding mask", patterns.mask(patterns.padding(n), len(padded)), padded),
        ("Masked token", np.ones((n, n), dtype=np.bool_), masked),
    )
    for column, (title, allowed, names) in zip(st.columns(3), shown, strict=True):
        words = view.words.part(f"Three: {title.lower()}", padded=PADDED)
        with column:
            Panel(
                title.lower().replace(" ", "-"),
                title,
                mask_map(allowed, names, names, COLOR, of=title, theme=theme()),
                f"{view.words.part('Alt: three', what=title, tokens=len(names))} {words}",
                note=words,
                heading=True,
            ).draw(view.state)
    view.try_and_notice("three")
    view.say("Three: side by side")


def _every() -> None:
    rows: list[tuple[Cell, ...]] = [
        (_drawn(key, kind.title), describe(key).purpose, _users(describe(key))) for key, kind in KINDS.items()
    ]
    text_table(TextTable(("Mask", "Purpose", "Used by"), rows, "Every mask", (22, 54, 24)))
    text_table(
        TextTable(
            ("Combination", "As in"),
            [(_drawn(word, title), used) for word, used, title in EXAMPLES],
            "Combined masks",
            (46, 54),
        )
    )


def _drawn(word: str, title: str) -> Link:
    return Link(title, base_path() + links.url("objectives", {"tab": "masks", "pattern": word}))


def _users(words: Description) -> Rich:
    parts: list[str | Link] = []
    for slug in words.systems:
        system = catalogue.get(slug)
        parts += [", "] if parts else []
        parts.append(Link(system.name, base_path() + links.url(system.branches[0], {"system": slug})))
    if words.others:
        parts.append((", " if parts else "") + words.others)
    return Rich(tuple(parts))


MASKS = Section("masks", masks, (PATTERN, FLIPS, *AXES, BELOW, LAYERS, PLACE))

LENGTHS = (512, 1024, 4096)
_WIDTHS = (34, 14, 20, 20, 12)
_HEADINGS = ("Mask", "Tokens", "Scores computed", "Of all pairs", "Share")


def count(view: View, choice: Mask, board: Board) -> None:
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
    rows = [_row(*row) for row in counted]
    text_table(TextTable(_HEADINGS, rows, "Scores computed under each mask", _WIDTHS, numeric=(1, 2, 3, 4)))
    download_csv(_counts_table(counted), f"mask-scores-{write(choice)}", view.state.key("masks.count.csv"))
    view.try_and_notice("count" if board.axes.square and choice.layout == "text" else "sizes")
    with st.expander("How it is computed"):
        view.say("Count: how it is computed")


@session.cached()
def at_length(word: str, tokens: int, padded: int) -> int:
    """Scores computed under the masks named by ``word`` over ``tokens`` tokens, padding included."""
    return boards.count(read(word), _text(tokens, padded))


@session.cached()
def _at_published(index: int) -> int:
    scale = published()[index]
    return boards.count(scale.choice, scale.axes())


def _published(choice: Mask) -> list[tuple[str, Axes, int]]:
    """Title, axes and allowed pairs of published masks that share a pattern with the selected ones."""
    kinds = {term.kind for term in choice.terms}
    return [
        (
            f"{catalogue.get(scale.system).name}: {scale.choice.title()} ({scale.evidence})",
            scale.axes(),
            _at_published(index),
        )
        for index, scale in enumerate(published())
        if kinds & {term.kind for term in scale.choice.terms}
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
    return name, tokens, f"{number:,}", f"{rows * columns:,}", percent(number / (rows * columns))
