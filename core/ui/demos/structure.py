"""Systems whose model is a part of the BERT trained here, or ELMo: predictions beside those of that BERT without it."""

from __future__ import annotations

import re
from collections.abc import Sequence

import streamlit as st

from core import session
from core.figures.labels import percent
from core.language import structure
from core.language.fill_mask import fill_mask, prepare
from core.language.tokens import words
from core.language.types import Token
from core.objectives.sentence_pairs import THREE
from core.objectives.word_order import SIZE
from core.ui.chips import token_chips
from core.ui.demos.cover import COVER
from core.ui.demos.demo import Demo, DemoView, Prediction, word_judge
from core.ui.demos.masking import FIRST as GUESS
from core.ui.demos.masking import MASK, ONE, judge_of, mask_chips, masked_in
from core.ui.glossary import sentences
from core.ui.param import Seed, Text
from core.vectors import elmo
from core.words import is_word

TEXT = Text(
    name="text",
    label="Sentence",
    default="Once upon a time there was a king who had three sons.",
    hide_label=True,
    sentence="plain",
)
FIRST = Text(name="first", label="First text", default="The king had three sons.")
SECOND = Text(name="second", label="Second text", default="The youngest of them went into the forest.")
SEED = Seed(again="Shuffle again")
BASE = "Atlas BERT"
TOP_K = 5


def _one(view: DemoView, tokens: Sequence[Token], usual: int, reach: int = 1) -> int:
    """Draw the tokens as chips, of which one is chosen that begins ``reach`` ordinary ones; return its position."""
    state = view.state
    able = [not token.special for token in tokens]
    off = [i for i in range(len(tokens)) if not all(able[i : i + reach]) or i + reach > len(tokens)]
    slot = masked_in(state, tokens, (usual,))
    before = [i for i in slot.get() if i < len(tokens) and i not in off] or [usual]
    (chosen,) = (
        token_chips(
            tokens,
            selected=before[:1],
            key=f"{slot.key}.chips",
            accent=view.spec.branch,
            label=view.words.label("chips"),
            disabled=off,
            clearable=False,
        )
        or before[:1]
    )
    slot.set((chosen,))
    return chosen


def _last_word(tokens: Sequence[Token]) -> int:
    """The position of the last token with a letter or a digit, or of the first that may be chosen."""
    able = [i for i, token in enumerate(tokens) if not token.special]
    return next((i for i in reversed(able) if is_word(tokens[i].text)), next(iter(able), 0))


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
    tokens = prepare(view.checkpoint, text).tokens
    numbers = words(tokens)
    able = [i for i, token in enumerate(tokens) if not token.special and is_word(token.text)]
    middle = {numbers[i] for i in able[len(able) // 2 :][:2]}
    usual = tuple(i for i in able if numbers[i] in middle)
    slot, label = masked_in(state, tokens, usual), view.words.label("chips")
    masked = mask_chips(tokens, slot, accent=view.spec.branch, label=label)
    away = view.computed("predicting", structure.from_boundaries, text, TOP_K, masked)
    from_states = view.computed("predicting", fill_mask, text, TOP_K, masked)
    plain = session.computed("predicting", fill_mask, base, text, TOP_K, masked)
    positions = tuple(prediction.position for prediction in from_states)
    if view.uncovered(GUESS, judge_of(tokens, from_states), text, positions):
        shown = [
            Prediction(f"“{tokens[top.position].text}”, {name}", top, {"token": top.position + 1, "read": name})
            for three in zip(away, from_states, plain, strict=True)
            for name, top in zip((view.words.label("away"), view.words.label("own"), BASE), three, strict=True)
        ]
        view.predictions("spans", shown, 3)
        view.try_and_notice()
        _measured(view)


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
    arguments = first, second, at, TOP_K
    ours = view.computed("predicting", structure.under_masks, *arguments)
    theirs = session.computed("predicting", structure.under_masks, base, *arguments)
    if view.uncovered(ONE, word_judge(ours["both"], tokens[at].original), first, second, at):
        shown = [
            Prediction(f"{title}, {name}", top, {"mask": title, "model": name})
            for name, predictions in ((view.words.label("ours"), ours), (BASE, theirs))
            for title, top in ((title.capitalize(), predictions[kind]) for kind, title in structure.KINDS.items())
        ]
        view.predictions("unified", shown, 3)
        view.try_and_notice()
        _measured(view)


@session.cached("predicting")
def _sides(tokens: tuple[Token, ...], at: int) -> elmo.Sides:
    return elmo.sides(tokens, at, TOP_K)


def draw_directions(view: DemoView) -> None:
    """ELMo: one token from the left, from the right, from both."""
    state, base = view.state, elmo.tokenizing().spec.slug
    text = TEXT.draw(state, tag="directions")
    tokens = prepare(session.checkpoint(base), text).tokens
    at = _one(view, tokens, _last_word(tokens))
    sides = _sides(tokens, at)
    plain = session.computed("predicting", fill_mask, base, text, TOP_K, (at,))
    if view.uncovered(ONE, word_judge(sides.both, tokens[at].original), text, at):
        tops = (sides.left, sides.right, sides.both, *(top for top in plain if top.position == at))
        names = [view.words.label(name) for name in ("left", "right", "both", "plain")]
        shown = [Prediction(name, top, {"read": name}) for name, top in zip(names, tops, strict=True)]
        view.predictions("directions", shown, 2)
        view.try_and_notice()
        _measured(view)


def draw_orders(view: DemoView) -> None:
    """StructBERT: three shuffled tokens put right, and the order of two texts."""
    text = TEXT.draw(view.state, tag="orders")
    with sentences():
        _shuffled(view, text)
    left, right = st.columns(2, gap="medium")
    with left:
        first = FIRST.draw(view.state, tag="orders")
    with right:
        second = SECOND.draw(view.state, tag="orders")
    with sentences():
        chances = dict(zip(THREE, view.computed("predicting", structure.three_orders, first, second), strict=True))
        rows = [{"order": name, "probability": chance} for name, chance in chances.items()]
        question = {"choices": THREE, "on": COVER.value(view.state)}
        if view.uncovered(view.words.label("guess"), lambda name: percent(chances[name]), first, second, **question):
            view.chances("orders", THREE, [*chances.values()], rows)
    view.try_and_notice()
    _measured(view)


def _shuffled(view: DemoView, text: str) -> None:
    """Three tokens of the text in another order, and the probabilities of all six."""
    state, base = view.state, view.spec.slug.partition(":")[0]
    tokens = prepare(view.checkpoint, text).tokens
    at = _one(view, tokens, max(1, min(len(tokens) // 2, len(tokens) - SIZE - 1)), SIZE)
    arguments = tokens, at, SEED.button(state, tag="orders")
    orders = {
        (each, name): session.computed("predicting", structure.put_right, slug, *arguments, each=each)
        for each in (False, True)
        for slug, name in ((view.spec.slug, view.words.label("ours")), (base, BASE))
    }
    ours = next(iter(orders.values()))
    judge = word_judge(ours, ours.tokens[ours.right])
    if view.uncovered(view.words.label("guess"), judge, text, *arguments[1:], choices=sorted(ours.tokens)):
        reads = {False: f"“{ours.read}”", True: view.words.label("each")}
        shown = [
            Prediction(f"{reads[each]}, {name}", predicted, {"read": reads[each], "model": name}, predicted.right)
            for (each, name), predicted in orders.items()
        ]
        view.predictions("shuffled", shown, 2)


SPANS = Demo("boundaries", draw_spans, ("spans",), (TEXT, MASK))
DIRECTIONS = Demo("directions", draw_directions, (), (TEXT, MASK), lambda spec: spec.slug == elmo.SLUG)
ORDERS = Demo("shuffled", draw_orders, ("orders",), (TEXT, MASK, SEED, FIRST, SECOND))
UNIFIED = Demo("three-masks", draw_unified, ("unified",), (FIRST, SECOND, MASK))
