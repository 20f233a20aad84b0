"""The demo of masked words: mask words by clicking or typing, see the predictions as bars and the sentence refilled."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.checkpoints.spec import Checkpoint
from core.errors import InputTooLong
from core.figures.labels import percent
from core.language.fill_mask import (
    PROBES,
    ProbeResult,
    fill_mask,
    prepare,
    refill,
    run_probe,
    word_probabilities,
)
from core.language.inputs import Inputs
from core.language.types import MaskPrediction, Token
from core.ui.demos.cover import switch
from core.ui.demos.demo import Demo, DemoView, Prediction, paragraph, sample_pills
from core.ui.demos.masking import MASK, judge_of, label, last_word, mask_chips, masked_in
from core.ui.glossary import sentences
from core.ui.page import plain
from core.ui.param import Text

TEXT = Text(
    name="text",
    label="Sentence",
    default="The capital of France is [MASK].",
    hide_label=True,
    sentence="any",
)
TOP_K = 6
_IN_A_ROW = 2
_PIECES = 3
"""Continuations of words from which on a text may be of another language."""


def draw_predictions(view: DemoView) -> None:
    spec, state = view.spec, view.state
    if spec.offers("languages"):
        view.note("Languages")
    with view.controls():
        text = TEXT.with_(placeholder=view.words.label("placeholder")).draw(state, tag="mask")
        marked = sample_pills(state, "Ten probes", {probe.name: (probe.text,) for probe in PROBES}, TEXT, tag="mask")
        covered = switch(state)
    if marked is not None:
        view.note("Probe", probe=marked, asks=next(probe.asks for probe in PROBES if probe.name == marked))
    left, right = st.columns([3, 2], gap="medium")
    with sentences():
        with right:
            tokens = prepare(view.checkpoint, text).tokens
            mask = str(view.checkpoint.tokenizer.mask_token)
            slot = masked_in(state, tokens)
            if state.arrived and not slot.get() and all(token.piece != mask for token in tokens):
                slot.set(last_word(tokens))  # a sentence without a mask arrives: it opens with an answer, too
            masked = mask_chips(
                tokens,
                slot,
                accent=spec.branch,
                label=view.words.label("chips"),
                held=[i for i, token in enumerate(tokens) if token.special and token.piece == mask],
            )
            sentence = prepare(view.checkpoint, text, masked)
            predictions = view.computed("predicting", fill_mask, text, TOP_K, masked)
            for note in sentence.notes:
                st.caption(plain(note))
            if spec.card is not None and not spec.offers("languages") and _in_pieces(tokens):
                view.note("English", model=plain(spec.name))
        judge = judge_of(tokens, predictions)
        with left:
            shown = view.uncovered(label(predictions), judge, sentence.text, sentence.positions, on=covered)
            if shown:
                _bars(view, tokens, predictions)
        if shown:
            with right:
                _refilled(view, sentence, predictions)
            view.try_and_notice()
            _all_probes(view)


def _in_pieces(tokens: Sequence[Token]) -> bool:
    """Whether the tokenizer splits the words of a text more often than it would split English ones."""
    words = [token for token in tokens if not token.special and any(map(str.isalpha, token.text))]
    pieces = sum(token.continuation for token in words)
    return pieces >= _PIECES and 2 * pieces >= len(words) - pieces


def _refilled(view: DemoView, sentence: Inputs, predictions: Sequence[MaskPrediction]) -> None:
    """Draw the sentence with the top predictions filled in."""
    line = f"font-weight:600;border-bottom:3px solid {view.accent};padding:0 .1em"
    parts = refill(sentence, predictions)
    refilled = [(part.text, "" if part.position is None else line) for part in parts]
    st.html(paragraph(refilled, "font-size:var(--atlas-large);line-height:1.6;margin:.2rem 0 .4rem"))


def _bars(view: DemoView, tokens: Sequence[Token], predictions: Sequence[MaskPrediction]) -> None:
    """Draw bars for each mask."""
    shown = []
    for number, prediction in enumerate(predictions, 1):
        token = tokens[prediction.position]
        original = "" if token.special else token.original
        name = f"Mask {number}, in place of “{original}”" if original else f"Mask {number}"
        columns: dict[str, object] = {"mask": number, "token": prediction.position + 1, "original": original}
        shown.append(Prediction(f"{name} (token {prediction.position + 1})", prediction, columns))
    view.predictions("predictions", shown, min(_IN_A_ROW, len(shown)), titled=len(shown) > 1 or bool(original))


def _all_probes(view: DemoView) -> None:
    """Draw all ten probes on this model, computed now."""
    with st.expander(view.words.label("all-probes")):
        key = view.state.key("probes")
        if not st.toggle("Run the probes", key=key, persist_state="page", help=view.words.label("probes-help")):
            view.note("Probes")
            return
        verdicts, bias = view.computed("running-the-ten-probes", _verdicts)
        rows = [
            {
                "probe": verdict.probe.name,
                "tests": verdict.probe.asks,
                "top predictions": ", ".join(f"{word} {percent(chance)}" for word, chance in verdict.predictions[:3])
                or "longer than this model's positions",
                "highest-ranked right word": (verdict.answer or "not a single token here")
                if verdict.probe.answers
                else "none is right",
                "rank": verdict.rank,
                "sentence": verdict.probe.text,
            }
            for verdict in verdicts
        ]
        view.data_table("probes", rows)
        ranks = [verdict.rank for verdict in verdicts if verdict.probe.answers]
        five = sum(rank is not None and rank <= 5 for rank in ranks)
        view.say("Probes: right", first=ranks.count(1), five=five, probes=len(ranks))
        if len(bias) == 2:
            view.say("Probes: bias", he=percent(bias["he"]), she=percent(bias["she"]))


def _verdicts(checkpoint: Checkpoint) -> tuple[tuple[ProbeResult, ...], dict[str, float]]:
    """All verdicts, and the probabilities of “he” and “she” in the bias probe, which has no right answer."""
    verdicts, bias = [], {}
    for probe in PROBES:
        try:
            verdicts.append(run_probe(checkpoint, probe))
            if not probe.answers:
                bias = word_probabilities(checkpoint, probe.text, ("he", "she"))
        except InputTooLong:  # a model with few positions
            verdicts.append(ProbeResult(probe, (), None, None, None))
    return tuple(verdicts), bias


MASKS = Demo("masks", draw_predictions, ("predicts masked tokens",), (TEXT, MASK))
