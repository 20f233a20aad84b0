"""The section Masks of the page Objectives: who may look at whom."""

from __future__ import annotations

import streamlit as st

from core.attention.masks.axes import split
from core.attention.masks.board import Board, lay, mask_table
from core.attention.masks.descriptions import describe
from core.attention.masks.words import Choice, write
from core.language.text import clean
from core.theme import BLUE
from core.ui.export import download_csv
from core.ui.glossary import told as said
from core.ui.links import PageState
from core.ui.masks.about import about
from core.ui.masks.board import mask_board, turned, undo
from core.ui.masks.controls import MOST_CHARACTERS, SENTENCE, chosen

COLOR = BLUE
BELOW = {
    "three": "Three things called a mask",
    "reach": "Reach",
    "count": "Count",
    "every": "All masks",
}


def masks(state: PageState) -> None:
    """Draw the whole section; reads and writes pattern, flips, text, tokens, queries, caption, side, layers and place.

    Raises:
        AtlasError: what the text does not allow, as a sentence.
    """
    choice, axes = chosen(state)
    key = state.key("masks.board")
    board = lay(choice, axes, _flips(choice, (len(axes.queries), len(axes.keys)), key, state))
    state.set(flips=board.flips)
    left, right = st.columns([1.15, 1], gap="large")
    with left:
        label = f"{choice.title()}: {board.count} of {board.allowed.size} pairs are allowed"
        mask_board(board, key=key, label=label, accent=COLOR, file=f"mask-{write(choice)}")
        _edits_and_download(choice, board, key, state)
    with right:
        about(choice, board)
    _try(choice)
    _below(choice, board, state)


def _try(choice: Choice) -> None:
    words = describe(choice.terms[0].kind)
    attempt, notice = words.attempt, words.notice
    if len(choice.terms) > 1:
        attempt = "Join the same masks by another word, and watch the number of pairs."
        notice = (
            "“Or” adds what either allows, as two heads would together; “and” keeps what both allow, as a decoder in a "
            "batch needs it; “without” takes away."
        )
    said(f"**Try** {attempt[0].lower()}{attempt[1:]} A click on a cell turns it over; so do Enter and Space.")
    said(f"**Notice** {notice[0].lower()}{notice[1:]}")


def _flips(choice: Choice, shape: tuple[int, int], key: str, state: PageState) -> tuple[int, ...]:
    """Cells changed by hand: those of the link and of clicks. They go when the mask or its size changes."""
    clicked = turned(key, shape[0] * shape[1])
    sign = f"{write(choice)} {shape}"
    before, state.memory["masks.sign"] = state.memory.get("masks.sign"), sign
    if before is not None and before != sign:
        return ()
    return state.integers("flips") if clicked is None else clicked


def _edits_and_download(choice: Choice, board: Board, key: str, state: PageState) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            "Undo edits",
            key=state.key("masks.undo"),
            on_click=undo,
            args=(key,),
            disabled=not board.flips,
            help="Turn every cell back that was changed by hand",
        )
        download_csv(
            mask_table(board),
            f"mask-{write(choice)}",
            state.key("masks.csv"),
            tip="1 where the row may attend to the column",
        )


def _below(choice: Choice, board: Board, state: PageState) -> None:
    wanted = state.text("below", "three")
    below = st.segmented_control(
        "More",
        list(BELOW),
        default=wanted,
        format_func=BELOW.__getitem__,
        key=state.key("masks.below"),
        required=True,
        label_visibility="collapsed",
    )
    state.set(below=below)
    if below == "reach":
        from core.ui.masks.reach import reach

        reach(choice, board, state, COLOR)
    elif below == "count":
        from core.ui.masks.count import count

        count(choice, board, state)
    elif below == "every":
        from core.ui.masks.every import every

        every()
    else:
        from core.ui.masks.three import three

        three(split(clean(state.text("text", SENTENCE), MOST_CHARACTERS)), state, COLOR)
