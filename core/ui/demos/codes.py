"""Control codes: one prompt continued under each code, and classification of a text by code."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from zlib import crc32

import streamlit as st

from core.checkpoints.spec import Checkpoint
from core.language.codes import classify, listed
from core.language.generate import generate
from core.language.text import clean_prompt
from core.language.types import Decoding
from core.ui.demos.cover import STEP, choice, choice_judge, step_of, switch, walk, was_shown
from core.ui.demos.decoding import DECODING, LENGTH, decoding_changed, decoding_controls, decoding_link, effective
from core.ui.demos.demo import Demo, DemoView, paragraph, underlined
from core.ui.glossary import sentences
from core.ui.page import plain
from core.ui.param import Text, settings_popover

TEXT = Text(name="text", label="Prompt, the same for every code", default="Tom")
"""A name that occurs in texts of every kind and language."""
PASSAGE = Text(
    name="passage",
    label="Which code fits this text?",
    default="The castle is in the north of Germany. It was built in 1240.",
)
FEW = LENGTH.with_(high=80)
"""New tokens under each code."""
_COLUMNS = 3


def draw_codes(view: DemoView) -> None:
    state = view.state
    text = TEXT.draw(state, tag="codes")
    with settings_popover(state, decoding_changed(state, FEW)):
        decoding = effective(decoding_controls(state, FEW))
        covered = switch(state)
    if not covered:
        state.set(step=None)  # all continuations, side by side
    with sentences():
        continuations = {
            label: view.computed("generating-under-each-code", _continued, text, label, decoding)
            for label in listed(view.spec)
        }
        prompt = clean_prompt(text)
        if not covered or _covered(view, prompt, continuations, decoding):
            _continuations(view, prompt, continuations)
    st.divider()
    with sentences():
        _verdict(view, covered)
    decoding_link(view.spec.slug, text)


def _continuations(view: DemoView, prompt: str, continuations: Mapping[str, str]) -> None:
    for at, (label, text) in enumerate(continuations.items()):
        if at % _COLUMNS == 0:
            columns = st.columns(_COLUMNS)
        with columns[at % _COLUMNS]:
            _card(view, label, prompt, text)
    view.table("continuations", [{"code": label, "continuation": text} for label, text in continuations.items()])
    view.try_and_notice()


def _covered(view: DemoView, prompt: str, continuations: Mapping[str, str], decoding: Decoding) -> bool:
    """Draw one continuation at a time, for a guess at its code; return whether all are uncovered."""
    state = view.state
    question = (prompt, decoding)
    order = list(continuations)
    # The order of the codes would tell which is which; the same question is always shuffled alike.
    Random(crc32(repr(view.question(*question)).encode())).shuffle(order)
    step = step_of(state, len(order), question)
    code = order[step.get() - 1]
    # Two codes may yield the same continuation, which cannot be told apart.
    alike = [label for label in continuations if continuations[label] == continuations[code]]
    under = " and under ".join(f"“{label}”" for label in alike)
    judge = choice_judge(alike, f"{view.words.part('Guess: code')} {under}.")
    placeholder = st.empty()
    shown = view.uncovered(view.words.label("which"), judge, *question, code, choices=tuple(continuations), on=True)
    with placeholder.container():
        _card(view, code if shown else f"Continuation {step.get()} of {len(order)}", prompt, continuations[code])
    walk(step, len(order), "continuation")
    return all(was_shown(state, view.question(*question, label)) for label in continuations)


def _card(view: DemoView, title: str, prompt: str, continuation: str) -> None:
    """Draw one continuation: the prompt and, underlined, the generated text."""
    with st.container(border=True):
        st.markdown(f"**{plain(title)}**")
        st.html(paragraph([(prompt, ""), (continuation, underlined(view.accent))], "line-height:1.6"))


def _verdict(view: DemoView, covered: bool) -> None:
    """Draw the probability of each code, given a text."""
    text = PASSAGE.draw(view.state)
    scores = view.computed("scoring-under-each-code", classify, text)
    ranked = sorted(zip(scores.labels, scores.probabilities, scores.bits, strict=True), key=lambda row: -row[1])
    names, values, bits = zip(*ranked, strict=True)
    label = view.words.label("guess")
    if view.uncovered(label, lambda guess: choice(guess, names, values), text, choices=scores.labels, on=covered):
        rows = [{"code": name, "probability": value, "bits per byte": cost} for name, value, cost in ranked]
        view.chances("codes", names, values, rows)
        view.say("Verdict", code=plain(scores.best), tokens=scores.tokens, bits=f"{min(bits):.2f}")
        view.try_and_notice("verdict")


def _continued(checkpoint: Checkpoint, text: str, label: str, decoding: Decoding) -> str:
    steps = list(generate(checkpoint, text, decoding, code=label))
    return steps[-1].text if steps else ""


CODES = Demo(
    "codes",
    draw_codes,
    (),
    (TEXT, *DECODING, PASSAGE, STEP),
    lambda spec: bool(listed(spec)),
)
