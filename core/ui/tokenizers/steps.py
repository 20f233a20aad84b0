"""Step by step: one word under one kind of tokenizer, with every decision that it takes."""

from __future__ import annotations

import streamlit as st

from core.errors import InputUnusable
from core.tokenizers.known import Known, known
from core.tokenizers.prepare import MOST, words
from core.ui.links import PageState
from core.ui.param import Choice, Integer, Text
from core.ui.section import Section, View
from core.ui.tokenizers import bpe, unigram, wordpiece
from core.ui.tokenizers.bpe import readable
from core.ui.tokenizers.common import choose_one

METHOD = Choice(
    name="method",
    label="Algorithm",
    options={"bpe": "BPE merges", "wordpiece": "WordPiece matches", "unigram": "Unigram probabilities"},
    style="row",
    hide_label=True,
)
WORD = Text(name="word", label="A word", default="woodcutters", width=200)
BY = Choice(name="by", label="Vocabulary", options={}, width=270)
PART = Integer(name="part", label="Word", low=1, high=200, default=1)


def steps(view: View) -> None:
    """Draw the section.

    Raises:
        AtlasError: what the word does not allow, as a sentence.
    """
    state = view.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        method = METHOD.draw(state)
        typed = WORD.draw(state)
        families = ("bpe", "letter-bpe") if method == "bpe" else (method,)
        fitting = sorted((one for one in known() if one.family in families), key=lambda one: one.family)
        if not fitting:
            raise InputUnusable("No model of this kind is installed here, so there is no vocabulary to show.")
        one = choose_one(state, BY, fitting)
    word = _choose_word(state, one, typed)
    {"bpe": bpe.merges, "wordpiece": wordpiece.matches, "unigram": unigram.segmentations}[method](view, one, word)


def _choose_word(state: PageState, one: Known, typed: str) -> str:
    """The word to follow, where the text has several; the longest by default."""
    parts = words(one, typed)
    if len(parts) == 1:
        state.set(part=None)
        return parts[0]
    longest = max(range(len(parts)), key=lambda i: len(parts[i]))
    options = {str(i + 1): f"{i + 1}: {readable(one, part)}" for i, part in enumerate(parts)}
    at = min(PART.with_(default=longest + 1).value(state), len(parts))
    picked = st.pills(
        f"Pre-tokenized into {len(parts)} words; follow",
        list(options),
        default=str(at),
        required=True,
        format_func=options.__getitem__,
        key=state.key(f"part.{one.slug}.{typed[:MOST]}"),
    )
    state.set(part=None if int(picked) == longest + 1 else int(picked))
    return parts[int(picked) - 1]


STEPS = Section("steps", steps, (METHOD, WORD, BY, PART, bpe.STEP, unigram.ALPHA, unigram.SEED))
