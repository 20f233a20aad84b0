"""Systems whose model is a part of the BERT trained here, or ELMo: predictions beside those of that BERT without it."""

from __future__ import annotations

import re
from collections.abc import Sequence

import streamlit as st

from core import session
from core.language import structure
from core.language.fill_mask import predict, prepare
from core.language.tokens import words
from core.language.types import Token
from core.ui.chips import token_chips
from core.ui.demos.demo import Demo, DemoView, Prediction, word_judge
from core.ui.demos.masking import FIRST as GUESS
from core.ui.demos.masking import MASK, ONE, judge_of, mask_chips
from core.ui.param import Text
from core.vectors import elmo

TEXT = Text(
    name="text",
    label="Sentence",
    default="Once upon a time there was a king who had three sons.",
    height=68,
    hide_label=True,
    sentence="plain",
)
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
    return next((i for i in reversed(able) if tokens[i].text.isalnum()), next(iter(able), 0))


def _measured(view: DemoView) -> None:
    """Say what the card measured, by its names in lower-case letters and underscores."""
    if view.spec.card is not None:
        view.say(
            "Measured", **{re.sub("[^a-z]+", "_", m.name.lower()): f"{m.value:.3g}" for m in view.spec.card.measures}
        )


def draw_spans(view: DemoView) -> None:
    """SpanBERT: tokens of a masked span, from the boundaries, and from their own states."""
    state, base = view.state, view.spec.slug.partition(":")[0]
    text = TEXT.draw(state, tag="spans")
    tokens = view.computed("", prepare, text).tokens
    numbers = words(tokens)
    able = [i for i, token in enumerate(tokens) if not token.special and token.text.isalnum()]
    middle = {numbers[i] for i in able[len(able) // 2 :][:2]}
    usual = tuple(i for i in able if numbers[i] in middle)
    masked = mask_chips(
        tokens,
        state.integers(MASK.name) or usual,
        key=state.key("spans.chips"),
        accent=view.spec.branch,
        label=view.words.label("chips"),
    )
    state.set(mask=() if masked == usual else masked)
    sentence = view.computed("", prepare, text, masked)
    away = view.computed("predicting", structure.from_boundaries, sentence, TOP_K)
    own = view.computed("predicting", predict, sentence, TOP_K)
    plain = session.computed("predicting", predict, base, sentence, TOP_K)
    if view.uncovered(GUESS, judge_of(sentence.tokens, own), text, sentence.positions):
        shown = [
            Prediction(
                f"“{sentence.tokens[top.position].text}”, {name}", top, {"token": top.position + 1, "read": name}
            )
            for three in zip(away, own, plain, strict=True)
            for name, top in zip((view.words.label("away"), view.words.label("own"), BASE), three, strict=True)
        ]
        view.predictions("spans", shown, 3)
        view.try_and_notice()
        _measured(view)
    view.how_it_works()


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


@session.cached("predicting")
def _sides(tokens: tuple[Token, ...], at: int) -> elmo.Sides:
    return elmo.sides(tokens, at, TOP_K)


def draw_directions(view: DemoView) -> None:
    """ELMo: one token from the left, from the right, from both."""
    state, base = view.state, elmo.tokenizing().spec.slug
    text = TEXT.draw(state, tag="directions")
    tokens = session.computed("", prepare, base, text).tokens
    at = _one(view, tokens, _last_word(tokens))
    found = _sides(tokens, at)
    plain = session.computed("predicting", predict, base, session.computed("", prepare, base, text, (at,)), TOP_K)
    if view.uncovered(ONE, word_judge(found.both, tokens[at].text), text, at):
        tops = (found.left, found.right, found.both, *(top for top in plain if top.position == at))
        names = [view.words.label(name) for name in ("left", "right", "both", "plain")]
        shown = [Prediction(name, top, {"read": name}) for name, top in zip(names, tops, strict=True)]
        view.predictions("directions", shown, 2)
        view.try_and_notice()
        _measured(view)
    view.how_it_works()


SPANS = Demo("boundaries", draw_spans, lambda spec: "spans" in spec.parts, (TEXT, MASK))
DIRECTIONS = Demo("directions", draw_directions, lambda spec: spec.slug == elmo.SLUG, (TEXT, MASK))
UNIFIED = Demo("three-masks", draw_unified, lambda spec: "unified" in spec.parts, (FIRST, SECOND, MASK))
