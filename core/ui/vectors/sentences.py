"""The word and its sentences, as several sections ask for them."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import session
from core.checkpoints.spec import CheckpointSpec
from core.ui.links import PageState
from core.ui.page import plain
from core.vectors.examples import EXAMPLES
from core.vectors.lines import MAX_LINE, MAX_LINES, MAX_SENSE, MAX_WORD, parse
from core.vectors.occurrences import WordVectors, missing

FIRST = next(iter(EXAMPLES))


@dataclass(frozen=True, slots=True)
class Asked:
    """What the visitor typed."""

    word: str
    text: str


def word_box(state: PageState, width: int = 150) -> None:
    """The box of the word, and the ready words beside it; what they say is read by :func:`asked`."""
    word, text = _slots(state)
    boxes_of_text(state)
    st.text_input(
        "Word",
        key=word,
        persist_state="page",
        max_chars=MAX_WORD,
        width=width,
        help="A whole word, in the form in which it stands",
    )
    with st.popover("Ready words"):
        for ready, lines in EXAMPLES.items():
            senses = dict.fromkeys(line.sense for line in parse(lines))
            st.button(
                f"{ready}: {', '.join(senses)}",
                key=state.key(f"ready.{ready}"),
                on_click=_take,
                args=(word, text, ready),
                width="stretch",
            )


def boxes_of_text(state: PageState) -> None:
    """Fill the boxes from the link before they are drawn; a section may draw one of them only."""
    word, text = _slots(state)
    for slot, value in (
        (word, state.text("word", FIRST)),
        (text, state.text("text", EXAMPLES.get(state.text("word", FIRST), EXAMPLES[FIRST]))),
    ):
        st.session_state[slot] = st.session_state.get(slot, value)


def sentences_box(state: PageState, place: DeltaGenerator, height: int = 400) -> None:
    """The box of the sentences."""
    place.text_area(
        "Sentences",
        key=_slots(state)[1],
        persist_state="page",
        height=height,
        help=f"One a line, up to {MAX_LINES}, each of {MAX_LINE} characters or fewer. What stands before a bar names "
        f"the sense (up to {MAX_SENSE} characters) and may be left out",
    )


def asked(state: PageState) -> Asked:
    """What the boxes hold; writes ``word`` and ``text``."""
    word, text = (str(st.session_state[slot] or "") for slot in _slots(state))
    state.set(word=None if word == FIRST else word, text=None if text == EXAMPLES.get(word) else text)
    return Asked(word, text)


def found(spec: CheckpointSpec, asked: Asked) -> WordVectors:
    """The word's vectors and those of all words; says which lines have no such word.

    Raises:
        AtlasError: what was typed, or the model, does not allow it.
    """
    with st.spinner("Reading the sentences"):
        made = session.word_vectors(spec.slug, asked.word, asked.text)
    if said := missing(made.own):
        st.caption(plain(said))
    return made


def _slots(state: PageState) -> tuple[str, str]:
    return state.key("word"), state.key("text")


def _take(word: str, text: str, ready: str) -> None:
    st.session_state[word], st.session_state[text] = ready, EXAMPLES[ready]
