"""The demo of XLM: a sentence and its translation, words of either masked, predicted with the other and without it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import session
from core.ui.demos.cover import uncovered, verdict
from core.ui.demos.demo import Demo, DemoView, ranked
from core.ui.demos.masking import FIRST, MASK, mask_chips
from core.ui.demos.samples import sample_pills
from core.ui.page import plain
from core.ui.param import Text
from core.ui.text_box import standing

if TYPE_CHECKING:
    from core.language.bilingual import Guess, Joined
    from core.language.types import Token

SAMPLES = (
    ("The cat sleeps on the chair.", "Le chat dort sur la chaise."),
    ("My sister reads a book in the garden.", "Ma sœur lit un livre dans le jardin."),
    ("I would like a cup of tea.", "Je voudrais une tasse de thé."),
    ("We are going home because it is late.", "Nous rentrons à la maison parce qu'il est tard."),
)
ENGLISH = Text(name="first", label="English", default=SAMPLES[0][0])
FRENCH = Text(name="second", label="French, saying the same", default=SAMPLES[0][1])
GUESSES = 5
_MOST = 4
"""Masked tokens whose predictions are drawn."""


def draw(view: DemoView) -> None:
    """Draw the demo."""
    state, slug = view.state, view.spec.slug
    boxes = {
        state.key(f"{box.name}.pair"): standing(state, box.name, box.default, key=f"{box.name}.pair")
        for box in (ENGLISH, FRENCH)
    }
    sample_pills("Samples", {plain(pair[0]): pair for pair in SAMPLES}, state.key("pair.sample"), boxes)
    left, right = st.columns(2, gap="medium")
    with left:
        first = ENGLISH.draw(state, tag="pair")
    with right:
        second = FRENCH.draw(state, tag="pair")
    masked = _masked(view, first, second)
    joined, guesses = _answers(slug, first, second, masked)
    one = guesses[0]
    token = joined.tokens[one.position]
    truth = "" if token.special or len(guesses) > 1 else token.text

    def judge(guess: str) -> str:
        return verdict(guess, one.beside.tokens, one.beside.probabilities, truth)

    if uncovered(state, (slug, first, second, masked), FIRST, judge):
        _pictures(view, joined, guesses)
        view.try_and_notice()
    view.how_it_works()


def _masked(view: DemoView, first: str, second: str) -> tuple[int, ...]:
    """The chips of both sentences; other sentences begin with one masked word, the second of the English one."""
    state = view.state
    joined = _prepare(view.spec.slug, first, second)
    tokens, now = joined.tokens, tuple(token.id for token in joined.tokens)
    slot, read = state.key("pair.masked"), state.key("pair.tokens")
    before = st.session_state.get(read)
    if before != now:
        linked = tuple(i for i in state.integers(MASK.name) if i < len(tokens)) if before is None else ()
        st.session_state[slot] = linked or (() if joined.hidden else _usual(tokens, joined.second))
        st.session_state[read] = now
    st.session_state[slot] = picked = mask_chips(
        tokens,
        st.session_state[slot],
        key=state.key("pair.chips"),
        accent=view.spec.branch,
        label="Tokens of both sentences; choose words to mask",
        held=joined.hidden,
    )
    state.set(mask=picked)
    return picked


def _usual(tokens: tuple[Token, ...], second: int) -> tuple[int, ...]:
    """The second word of the first sentence, or its only one."""
    starts = [i for i in range(second) if not tokens[i].special and not tokens[i].continuation]
    return tuple(starts[1:2] or starts[:1])


def _pictures(view: DemoView, joined: Joined, guesses: tuple[Guess, ...]) -> None:
    """For each masked token two pictures on one scale, and a table of all."""
    sides = [(guess, name, getattr(guess, name)) for guess in guesses for name in ("beside", "alone")]
    scale = max(answers.probabilities[0] for _, _, answers in sides)
    stood = {g.position: "" if joined.tokens[g.position].special else joined.tokens[g.position].text for g in guesses}
    columns = list[DeltaGenerator]()
    for guess, name, answers in sides[: 2 * _MOST]:
        if name == "beside":
            if stood[guess.position]:
                st.caption(plain(f"In place of “{stood[guess.position]}” (token {guess.position})"))
            columns = list(st.columns(2, gap="large"))
        with columns[name == "alone"]:
            view.guesses(f"{guess.position}.{name}", view.words.label(name), answers, scale=scale)
    if len(guesses) > _MOST:
        st.caption(f"The first {_MOST} of {len(guesses)} masked tokens are drawn; the table has all of them.")
    names = {"beside": "both sentences", "alone": "one sentence"}
    rows = [
        row
        for guess, name, answers in sides
        for row in ranked(answers, token=guess.position, **{"stood there": stood[guess.position]}, read=names[name])
    ]
    view.table("hidden-tokens", "Predictions for every masked token with and without the other sentence", rows)


@session.cached()
def _prepare(slug: str, first: str, second: str) -> Joined:
    from core.language.bilingual import prepare

    return prepare(session.checkpoint(slug), first, second)


@session.cached("Predicting")
def _answers(slug: str, first: str, second: str, masked: tuple[int, ...]) -> tuple[Joined, tuple[Guess, ...]]:
    from core.language.bilingual import guess, prepare

    checkpoint = session.checkpoint(slug)
    joined = prepare(checkpoint, first, second, masked)
    return joined, guess(checkpoint, joined, GUESSES)


TRANSLATION = Demo(
    "translation", draw, lambda spec: spec.offers("fills masks") and spec.offers("languages"), (ENGLISH, FRENCH, MASK)
)
