"""The section Masks of the page Objectives: which token attends to which.

A mask is drawn on a board whose cells a click flips. Beside it: its purpose, its predicate with every symbol named, the
number of allowed pairs, the systems that use it, and its paper. Below: three things called a mask, reach, and every
mask with a link that draws it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from core import catalogue, links, patterns
from core.attention.masks.axes import one_text, split
from core.attention.masks.board import MOST_EDITS, Board, build_board, mask_table
from core.attention.masks.kinds import KINDS, Description, describe, format_mask, lines
from core.attention.masks.kinds import ChosenMask as Mask
from core.attention.tokens import short
from core.content import content
from core.figures.labels import percent
from core.figures.masks import mask_map
from core.language.text import clean
from core.links import parameters as link
from core.theme import BLUE
from core.ui.chips import text_color_on
from core.ui.component import Component, Message, Positions
from core.ui.export import download_csv
from core.ui.glossary import markdown
from core.ui.links import PageState
from core.ui.masks.controls import AXES, MOST_CHARACTERS, PATTERN, SENTENCE, chosen
from core.ui.masks.reach import LAYERS, chosen_position, reach
from core.ui.page import base_path, main_picture, plain, theme
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
        "every": "All masks",
    },
    style="row",
    hide_label=True,
)
FLIPS = Carried(name="flips", label="Cells changed by hand", as_=link.Integers(high=4095, most=256))
PLACE = Carried(name="place", label="Token", as_=link.Integer(None, 0, 63))
PADDED = 3
MASKED = "[MASK]"
_DRAWN = 24
"""Tokens drawn where three figures share the page's width."""


def masks(view: View) -> None:
    state = view.state
    choice, axes = chosen(view)
    key = state.key("masks.board")
    board = build_board(choice, axes, _flips(choice, (len(axes.queries), len(axes.keys)), key, state))
    state.set(flips=board.flips or None)
    left, right = st.columns([1.15, 1], gap="large")
    with left, st.container(key="atlas-board"):
        with main_picture():
            BOARD.draw(key, board_data(choice, board))
        if board.flips:
            st.button(
                "Undo edits",
                key=state.key("masks.undo"),
                on_click=BOARD.put,
                args=(key, FlippedCells(flips=[])),
                help=view.words.label("undo"),
            )
    offer_drawing(state, key, choice.title, "svg", "png")
    file = f"mask-{format_mask(choice)}"
    download_csv(mask_table(board), file, state.key("masks.csv"), of="mask", tip=view.words.label("file"))
    with right:
        _about(view, choice, board)
    words = describe(choice.kind)
    view.say_why({"Try": f"{words.attempt} {view.words.part('Turning cells over')}", "Notice": words.notice})
    below = BELOW.draw(state)
    if below == "reach":
        reach(view, choice, board, COLOR)
    elif below == "every":
        _every()
    else:
        _three(view, split(clean(state.text("text", SENTENCE), MOST_CHARACTERS)))


def board_data(choice: Mask, board: Board) -> dict[str, Any]:
    """The props of the component: names, the predicate's cells as a row of 0 and 1, and the changed cells."""
    counts: dict[str, str | int] = {"mask": choice.title, "allowed": board.count, "pairs": board.allowed.size}
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
        "file": f"mask-{format_mask(choice)}",
    }


def _flips(choice: Mask, shape: tuple[int, int], key: str, state: PageState) -> tuple[int, ...]:
    """Cells changed by hand, from the link and from clicks; reset when the mask or its size changes."""
    sent = BOARD.sent(key)
    sign = f"{format_mask(choice)} {shape}"
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
    st.markdown(f"**{choice.title}** · {board.count:,} of {board.allowed.size:,} pairs, {share}{by_hand}")
    words = describe(choice.kind)
    markdown(words.purpose)
    st.latex(rf"M_{{ij}} \iff {lines(words.formula)}")
    if words.symbols:
        st.markdown("; ".join(f"${latex}$: {plain(meaning)}" for latex, meaning in words.symbols))
    if choice.kind == "permutation":
        st.markdown(_order(choice, board.axes.keys))
    st.markdown("Used by " + ", ".join([*map(_link, words.systems), *filter(None, [words.others])]))
    view.note("Symbols")
    if board.empty_rows:
        rows = len(board.empty_rows)
        view.note("Blind rows", rows=f"{rows} {'row attends to' if rows == 1 else 'rows attend to'}")
    for line in _papers(words):
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


def _order(choice: Mask, tokens: tuple[str, ...]) -> str:
    order = patterns.random_order(len(tokens), choice.numbers[0])
    return "Prediction order: " + ", ".join(plain(short(tokens[position], 16)) for position in order)


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
