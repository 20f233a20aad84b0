"""The demo of XLM: a sentence and its translation, words of either masked, predicted with the other and without it."""

from __future__ import annotations

import streamlit as st

from core.language.bilingual import Joined, guess, prepare
from core.ui.demos.demo import Demo, DemoView, Prediction, word_judge
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
    originals = ["" if (token := joined.tokens[found.position]).special else token.text for found in guesses]
    truth = originals[0] if len(guesses) == 1 else ""
    if view.uncovered(FIRST, word_judge(guesses[0].beside, truth), first, second, masked):
        shown = []
        for found, original in zip(guesses, originals, strict=True):
            at = f"“{original}” (token {found.position}). " if original else ""
            columns: dict[str, object] = {"token": found.position, "original": original}
            shown += [
                Prediction(at + view.words.label("beside"), found.beside, {**columns, "read": "both sentences"}),
                Prediction(at + view.words.label("alone"), found.alone, {**columns, "read": "one sentence"}),
            ]
        view.predictions("hidden-tokens", shown, 2, most=8)
        view.try_and_notice()
    view.how_it_works()


def _masked(view: DemoView, joined: Joined) -> tuple[int, ...]:
    """The chips of both sentences; other sentences begin with one masked word, the second of the English one."""
    state = view.state
    tokens, now = joined.tokens, tuple(token.id for token in joined.tokens)
    slot, read = state.key("pair.masked"), state.key("pair.tokens")
    before = st.session_state.get(read)
    if before != now:
        linked = tuple(i for i in state.integers(MASK.name) if i < len(tokens)) if before is None else ()
        starts = [i for i in range(joined.second) if not tokens[i].special and not tokens[i].continuation]
        st.session_state[slot] = linked or (() if joined.hidden else tuple(starts[1:2] or starts))
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


TRANSLATION = Demo(
    "translation",
    draw,
    lambda spec: spec.offers("predicts masked tokens") and spec.offers("languages"),
    (ENGLISH, FRENCH, MASK),
)
