"""Step by step: one word under one kind of tokeniser, with every decision that it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from core.errors import InputUnusable
from core.language.tokens import DECODERS, read_piece, visible
from core.tokenizers.known import Known, engine
from core.tokenizers.prepare import MOST, words
from core.ui.tokenizers.parts import one_of

if TYPE_CHECKING:
    from core.ui.links import PageState
    from core.ui.tokenizers.frame import TokenizersView

METHODS = {"bpe": "BPE joins", "wordpiece": "WordPiece matches", "unigram": "Unigram weighs"}
WORD = "woodcutters"


def steps(view: TokenizersView) -> None:
    """Draw the section.

    Raises:
        AtlasError: what the word does not allow, as a sentence.
    """
    state = view.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        method = st.segmented_control(
            "How",
            list(METHODS),
            format_func=METHODS.__getitem__,
            key=state.key("method"),
            default=state.text("method", "bpe"),
            required=True,
            label_visibility="collapsed",
        )
        state.set(method=method)
        typed = st.text_input("A word", state.text("word", WORD), key=state.key("word"), width=200) or ""
        state.set(word=None if typed == WORD else typed)
        kinds = ("bpe", "letter-bpe") if method == "bpe" else (method,)
        fitting = sorted((one for one in view.known if one.family in kinds), key=lambda one: one.family)
        if not fitting:
            raise InputUnusable("No model of this kind is installed here, so there is no vocabulary to show.")
        one = one_of(state, "by", fitting, "Vocabulary")
    word = _choose(state, one, typed)
    match method:
        case "bpe":
            from core.ui.tokenizers.joins import joins_of

            joins_of(view, one, word)
        case "wordpiece":
            from core.ui.tokenizers.matches import matches_of

            matches_of(view, one, word)
        case _:
            from core.ui.tokenizers.lattice import lattice_of

            lattice_of(view, one, word)


def shown(one: Known, piece: str) -> str:
    """A piece as a person reads it, its space and its mark drawn."""
    style = DECODERS.get(type(engine(one).decoder).__name__, "plain")
    if style == "end-of-word":
        return visible(piece)  # the mark of the end decides which joins there are
    text, leading, marked = read_piece(piece, style)
    return ("␣" if leading else "##" if marked else "") + visible(text)


def _choose(state: PageState, one: Known, typed: str) -> str:
    """The word to follow, where the text has several."""
    parts = words(one, typed)
    if len(parts) == 1:
        state.set(part=None)
        return parts[0]
    longest = max(range(len(parts)), key=lambda i: len(parts[i]))
    at = min(state.number("part", longest + 1), len(parts)) - 1
    picked = st.pills(
        f"Cut into {len(parts)} words before anything else; which one",
        range(len(parts)),
        default=at,
        required=True,
        format_func=lambda i: f"{i + 1}: {shown(one, parts[i])}",
        key=state.key(f"part.{one.slug}.{typed[:MOST]}"),
    )
    state.set(part=None if picked == longest else picked + 1)
    return parts[picked]
