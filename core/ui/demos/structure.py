"""Systems whose model is a part of the BERT trained here: predictions beside those of that BERT without it."""

from __future__ import annotations

import re
from collections.abc import Sequence

import streamlit as st

from core import session
from core.language import structure
from core.language.types import Token
from core.ui.chips import token_chips
from core.ui.demos.demo import Demo, DemoView, Prediction, word_judge
from core.ui.demos.masking import MASK, ONE
from core.ui.param import Text

FIRST = Text(name="first", label="First text", default="The king had three sons.")
SECOND = Text(name="second", label="Second text", default="The youngest of them went into the forest.")
BASE = "Atlas BERT"
TOP_K = 5


def _one(view: DemoView, tokens: Sequence[Token], usual: int) -> int:
    """Draw the tokens as chips, of which one is chosen; return its position."""
    state = view.state
    off = [i for i, token in enumerate(tokens) if token.special]
    before = [i for i in state.integers(MASK.name) if i < len(tokens) and i not in off] or [usual]
    (chosen,) = (
        token_chips(
            tokens,
            selected=before[:1],
            key=state.key("structure.chips"),
            accent=view.spec.branch,
            label=view.words.label("chips"),
            disabled=off,
            clearable=False,
        )
        or before[:1]
    )
    state.set(mask=() if chosen == usual else (chosen,))
    return chosen


def _last_word(tokens: Sequence[Token]) -> int:
    """The position of the last token with a letter or a digit, or of the first that may be chosen."""
    able = [i for i, token in enumerate(tokens) if not token.special]
    return next((i for i in reversed(able) if tokens[i].text.isalnum()), able[0])


def _measured(view: DemoView) -> None:
    """Say what the card measured; its names are those of the text, with an underscore between their words."""
    if view.spec.card is not None:
        view.say("Measured", **{re.sub(r"\W+", "_", m.name): f"{m.value:.2f}" for m in view.spec.card.measures})


def draw_unified(view: DemoView) -> None:
    """UniLM: one token under three attention masks."""
    state, base = view.state, view.spec.slug.partition(":")[0]
    left, right = st.columns(2, gap="medium")
    with left:
        first = FIRST.draw(state, tag="unified")
    with right:
        second = SECOND.draw(state, tag="unified")
    tokens = view.computed("", structure.pair_tokens, first, second)[1]
    at = _one(view, tokens, _last_word(tokens))
    given = first, second, at, TOP_K
    ours = view.computed("predicting", structure.under_masks, *given)
    theirs = session.computed("predicting", structure.under_masks, base, *given)
    if view.uncovered(ONE, word_judge(ours["both"], tokens[at].text), first, second, at):
        shown = [
            Prediction(f"{title}, {name}", top, {"mask": title, "model": name})
            for name, found in ((view.words.label("ours"), ours), (BASE, theirs))
            for title, top in ((title.capitalize(), found[kind]) for kind, title in structure.KINDS.items())
        ]
        view.predictions("unified", shown, 3)
        view.try_and_notice()
        _measured(view)
    view.how_it_works()


UNIFIED = Demo("three-masks", draw_unified, lambda spec: "unified" in spec.parts, (FIRST, SECOND, MASK))
