"""The demo of masked words: mask words by clicking or typing, see the predictions as bars and the sentence refilled."""

from __future__ import annotations

import html
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

import streamlit as st

from core import session
from core.errors import InputTooLong
from core.figures.predictions import percent
from core.language.probes import PROBES, Verdict
from core.ui.data_table import data_table
from core.ui.demos.cover import uncovered
from core.ui.demos.demo import Demo, DemoView, ranked
from core.ui.demos.masking import MASK, judge_of, label, mask_chips
from core.ui.demos.samples import sample_pills
from core.ui.links import PageState
from core.ui.notices import sentences
from core.ui.page import plain
from core.ui.param import Text
from core.ui.text_box import standing

if TYPE_CHECKING:
    from core.language.fill_mask import MaskedText
    from core.language.types import MaskPrediction, Token

TEXT = Text(
    name="text",
    label="Sentence",
    default="The capital of France is [MASK].",
    height=68,
    hide_label=True,
    placeholder="Type a sentence with [MASK] where a word is to be predicted, or click a word below",
)
GUESSES = 6
_IN_A_ROW = 3
_MOST_PICTURES = 9


def draw(view: DemoView) -> None:
    """Draw the demo."""
    spec, state = view.spec, view.state
    if spec.offers("languages"):
        view.note("Languages")
    _samples(state)
    text = TEXT.draw(state, tag="mask")
    with sentences():
        tokens = _tokens(spec.slug, text)
        mask = str(session.checkpoint(spec.slug).tokenizer.mask_token)
        masked = mask_chips(
            tokens,
            _still_masked(state, tokens),
            key=state.key("mask.chips"),
            accent=spec.branch,
            label="Tokens of the sentence; choose words to mask",
            held=[i for i, token in enumerate(tokens) if token.special and token.piece == mask],
        )
        state.set(mask=masked)
        sentence, predictions = _predictions(spec.slug, text, masked)
        for note in sentence.notes:
            st.caption(plain(note))
        question = (spec.slug, sentence.text, sentence.positions)
        if uncovered(state, question, label(predictions), judge_of(sentence.tokens, predictions)):
            _pictures(view, sentence, predictions)
            view.try_and_notice()
            _all_probes(view)
    facts = spec.card.extra.get("facts", {}) if spec.card else {}
    view.how_it_works("How it works", *(["Sentence head"] if "sentence_head" in facts else []))


def _samples(state: PageState) -> None:
    """Ten sentences, one click each; the one that stands in the box is marked."""
    box = f"{TEXT.name}.mask"
    samples = {probe.name: (probe.text,) for probe in PROBES}
    value = standing(state, TEXT.name, TEXT.default, key=box)
    marked = sample_pills("Ten probes", samples, state.key("mask.sample"), {state.key(box): value})
    if marked is not None:
        asks = next(probe.asks for probe in PROBES if probe.name == marked)
        st.caption(f"{marked} asks for {asks}.")


def _still_masked(state: PageState, tokens: Sequence[Token]) -> tuple[int, ...]:
    """The masked positions after the text, or its tokens, have changed: words that are still there stay masked."""
    masked, slot = state.integers(MASK.name), state.key("mask.tokens")
    now = tuple(token.piece for token in tokens)
    before: tuple[str, ...] | None = st.session_state.get(slot)
    st.session_state[slot] = now
    if before is None or before == now:
        return masked
    moved = {
        block.a + i: block.b + i
        for block in SequenceMatcher(None, before, now, autojunk=False).get_matching_blocks()
        for i in range(block.size)
    }
    # A text that shares less than half of its tokens is another sentence.
    if 2 * len(moved) < len(now):
        return ()
    return tuple(sorted(moved[i] for i in masked if i in moved))


def _pictures(view: DemoView, sentence: MaskedText, predictions: Sequence[MaskPrediction]) -> None:
    """The sentence with the best predictions in place, and bars for each mask, all on one scale."""
    from core.language.fill_mask import refill

    line = f'<strong style="border-bottom:3px solid {view.accent};padding:0 .1em">'
    refilled = "".join(
        html.escape(part.text) if part.position is None else f"{line}{html.escape(part.text)}</strong>"
        for part in refill(session.checkpoint(view.spec.slug), sentence, predictions)
    )
    style = "font-size:1.25rem;line-height:1.6;margin:.2rem 0 .4rem;overflow-wrap:anywhere"
    st.html(f'<p dir="auto" style="{style}">{refilled}</p>')
    scale = max(p.probabilities[0] for p in predictions)
    stood = [sentence.tokens[p.position] for p in predictions]
    for start in range(0, min(len(predictions), _MOST_PICTURES), _IN_A_ROW):
        row = predictions[start : start + _IN_A_ROW]
        columns = st.columns(max(2, min(_IN_A_ROW, len(predictions))), gap="large")
        for number, (column, prediction) in enumerate(zip(columns, row, strict=False), start + 1):
            token = stood[number - 1]
            name = f"Mask {number}" if token.special else f"Mask {number}, in place of “{token.text}”"
            with column:
                view.guesses(f"mask.{number}", f"{name} (token {prediction.position})", prediction, scale=scale)
    if len(predictions) > _MOST_PICTURES:
        st.caption(f"The first {_MOST_PICTURES} of {len(predictions)} masks are drawn; the table has all of them.")
    rows = [
        row | {"id": id_}
        for number, (prediction, token) in enumerate(zip(predictions, stood, strict=True), 1)
        for row, id_ in zip(
            ranked(
                prediction,
                mask=number,
                token=prediction.position,
                **{"stood there": "" if token.special else token.text},
            ),
            prediction.ids,
            strict=True,
        )
    ]
    view.table("guesses", "Predictions for every mask with their probabilities", rows)


def _all_probes(view: DemoView) -> None:
    """All ten probes asked of this model at once, measured now."""
    with st.expander("All ten probes, asked of this model"):
        key = view.state.key("probes")
        if not st.toggle(
            "Ask them", key=key, persist_state="page", help="Runs the model ten times; nothing here is stored"
        ):
            view.note("Probes")
            return
        verdicts, he, she = _verdicts(view.spec.slug)
        data_table(
            [
                {
                    "probe": verdict.probe.name,
                    "asks for": verdict.probe.asks,
                    "best predictions": ", ".join(f"{word} {percent(chance)}" for word, chance in verdict.guesses[:3])
                    or "longer than this model's positions",
                    "best right word": (verdict.answer or "not one token here")
                    if verdict.probe.answers
                    else "none is right",
                    "its rank": verdict.rank,
                    "sentence": verdict.probe.text,
                }
                for verdict in verdicts
            ],
            "probes",
            alt="The ten probes with the model's best predictions and the rank of a right word",
        )
        ranks = [verdict.rank for verdict in verdicts if verdict.probe.answers]
        view.say(
            "Probes: right",
            first=ranks.count(1),
            five=sum(rank is not None and rank <= 5 for rank in ranks),
            probes=len(ranks),
        )
        if he is not None and she is not None:
            view.say("Probes: bias", he=percent(he), she=percent(she))


@session.cached()
def _tokens(slug: str, text: str) -> tuple[Token, ...]:
    """The tokens of the text, with the visitor's way of writing masks turned into the model's."""
    from core.language.fill_mask import prepare

    return prepare(session.checkpoint(slug), text).tokens


@session.cached("Predicting")
def _predictions(slug: str, text: str, masked: tuple[int, ...]) -> tuple[MaskedText, tuple[MaskPrediction, ...]]:
    from core.language.fill_mask import predict, prepare

    checkpoint = session.checkpoint(slug)
    sentence = prepare(checkpoint, text, masked)
    return sentence, predict(checkpoint, sentence, GUESSES)


@session.cached("Asking the ten probes")
def _verdicts(slug: str) -> tuple[tuple[Verdict, ...], float | None, float | None]:
    """All verdicts, and what “he” and “she” get in the bias probe."""
    from core.language.probes import judge, probabilities

    checkpoint = session.checkpoint(slug)
    verdicts = []
    he = she = None
    for probe in PROBES:
        try:
            verdicts.append(judge(checkpoint, probe))
            if not probe.answers:
                pair = probabilities(checkpoint, probe.text, ("he", "she"))
                he, she = pair.get("he"), pair.get("she")
        except InputTooLong:  # a model with few positions
            verdicts.append(Verdict(probe, (), None, None, None))
    return tuple(verdicts), he, she


MASKS = Demo("masks", draw, lambda spec: spec.offers("fills masks"), (TEXT, MASK))
