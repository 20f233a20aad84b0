"""The demo of XLM: a sentence and its translation, words of either masked, predicted with the other and without it."""

from __future__ import annotations

import streamlit as st

from core.language.bilingual import Guess, Joined, guess, prepare
from core.language.types import Token
from core.ui.demos.cover import verdict
from core.ui.demos.demo import Demo, DemoView, Prediction
from core.ui.demos.masking import FIRST, MASK, mask_chips
from core.ui.demos.samples import sample_pills
from core.ui.param import Text

SAMPLES = (
    ("The cat sleeps on the chair.", "Le chat dort sur la chaise."),
    ("My sister reads a book in the garden.", "Ma sœur lit un livre dans le jardin."),
    ("I would like a cup of tea.", "Je voudrais une tasse de thé."),
    ("We are going home because it is late.", "Nous rentrons à la maison parce qu'il est tard."),
)
ENGLISH = Text(name="first", label="English", default=SAMPLES[0][0])
FRENCH = Text(name="second", label="French translation", default=SAMPLES[0][1])
GUESSES = 5
_READ = {"beside": "both sentences", "alone": "one sentence"}


def draw(view: DemoView) -> None:
    """Draw the demo."""
    sample_pills(view.state, "Samples", SAMPLES, ENGLISH, FRENCH, tag="pair")
    left, right = st.columns(2, gap="medium")
    with left:
        first = ENGLISH.draw(view.state, tag="pair")
    with right:
        second = FRENCH.draw(view.state, tag="pair")
    masked = _masked(view, view.computed("", prepare, first, second))
    joined = view.computed("", prepare, first, second, masked)
    guesses = view.computed("Predicting", guess, joined, GUESSES)
    one = guesses[0].beside
    truth = _stood(joined, guesses[0]) if len(guesses) == 1 else ""
    if view.uncovered(FIRST, lambda typed: verdict(typed, one.tokens, one.probabilities, truth), first, second, masked):
        shown = [
            Prediction(
                f"{f'“{stood}” (token {found.position}). ' if stood else ''}{view.words.label(name)}",
                getattr(found, name),
                {"token": found.position, "original": stood, "read": read},
            )
            for found, stood in ((found, _stood(joined, found)) for found in guesses)
            for name, read in _READ.items()
        ]
        title = "Predictions for every masked token with and without the other sentence"
        view.predictions("hidden-tokens", title, shown, 2, most=8)
        view.try_and_notice()
    view.how_it_works()


def _stood(joined: Joined, found: Guess) -> str:
    """What stood at a masked token; empty where the mask was typed."""
    token = joined.tokens[found.position]
    return "" if token.special else token.text


def _masked(view: DemoView, joined: Joined) -> tuple[int, ...]:
    """The chips of both sentences; other sentences begin with one masked word, the second of the English one."""
    state = view.state
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


TRANSLATION = Demo(
    "translation",
    draw,
    lambda spec: spec.offers("predicts masked tokens") and spec.offers("languages"),
    (ENGLISH, FRENCH, MASK),
)
