"""Control codes: one prompt continued under each code, and the code that the model finds in a text."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from zlib import crc32

import streamlit as st

from core.checkpoints.spec import Checkpoint
from core.language.codes import judge, listed
from core.language.generate import generate
from core.language.text import clean
from core.language.types import Decoding
from core.ui.demos.cover import choice, keep_step, step_of, switch, walk, was_shown
from core.ui.demos.decoding import DECODING, LENGTH, decoding_controls, effective, explain_decoding
from core.ui.demos.demo import Demo, DemoView, paragraph, underlined
from core.ui.demos.steps import STEP
from core.ui.notices import sentences
from core.ui.page import plain
from core.ui.param import Text

TEXT = Text(name="text", label="Prompt, the same for every code", default="Tom")
"""A name that stands in texts of every kind and language."""
PASSAGE = Text(
    name="passage",
    label="Which code fits this text?",
    default="The castle is in the north of Germany. It was built in 1240.",
    height=68,
)
FEW = LENGTH.with_(high=80)
"""New tokens under each code."""
_COLUMNS = 3


def draw(view: DemoView) -> None:
    """Draw the demo."""
    state = view.state
    text = TEXT.draw(state, tag="codes")
    decoding = effective(decoding_controls(state, FEW))
    hidden = switch(state)
    if not hidden:
        state.set(step=None)  # all continuations stand beside each other
    with sentences():
        doing = "Generating under each code"
        made = {label: view.computed(doing, _continued, text, label, decoding) for label in listed(view.spec)}
        begun = clean(text, newlines=True)
        if not hidden or _covered(view, begun, made, decoding):
            _continuations(view, begun, made)
    st.divider()
    with sentences():
        _verdict(view, hidden)
    view.how_it_works()
    explain_decoding(view)


def _continuations(view: DemoView, begun: str, made: Mapping[str, str]) -> None:
    """A card for each code."""
    labels = list(made)
    for at in range(0, len(labels), _COLUMNS):
        for column, label in zip(st.columns(_COLUMNS), labels[at : at + _COLUMNS], strict=False):
            with column:
                _card(view, label, begun, made[label])
    rows = [{"code": label, "continuation": text} for label, text in made.items()]
    view.table("continuations", "The continuation under each code", rows)
    view.try_and_notice()


def _covered(view: DemoView, begun: str, made: Mapping[str, str], decoding: Decoding) -> bool:
    """One continuation at a time, for a guess at its code; whether all of them have been uncovered."""
    state = view.state
    asked = (begun, decoding)
    order = list(made)
    # The order of the codes would tell which is which; the same question is always shuffled alike.
    Random(crc32(repr(view.question(*asked)).encode())).shuffle(order)
    slot = state.key("codes.step")
    step = step_of(state, slot, len(order))
    keep_step(state, slot, step)
    code = order[step]

    def said(guess: str) -> str:
        # Two codes may have led to the same words, and nobody could tell them apart.
        alike = [label for label in made if made[label] == made[code]]
        under = " and under ".join(f"“{label}”" for label in alike)
        return f"{'Right' if guess in alike else 'Wrong'}: it was generated under {under}."

    place = st.empty()
    label = "Under which code was this generated?"
    shown = view.uncovered(label, said, *asked, code, choices=tuple(made), on=True)
    with place.container():
        _card(view, code if shown else f"Continuation {step + 1} of {len(order)}", begun, made[code])
    walk(slot, step, len(order), "continuation")
    return all(was_shown(state, view.question(*asked, label)) for label in made)


def _card(view: DemoView, title: str, begun: str, made: str) -> None:
    """One continuation: the prompt and, underlined, what the model generated after it."""
    with st.container(border=True):
        st.markdown(f"**{plain(title)}**")
        st.html(paragraph([(begun, ""), (made, underlined(view.accent))], "line-height:1.6"))


def _verdict(view: DemoView, hidden: bool) -> None:
    """Bars for the probability of each code, given a text."""
    text = PASSAGE.draw(view.state)
    found = view.computed("Scoring under each code", judge, text)
    order = sorted(range(len(found.labels)), key=lambda i: -found.probabilities[i])
    names, values = [found.labels[i] for i in order], [found.probabilities[i] for i in order]
    if not view.uncovered(
        "Your guess at the code",
        lambda guess: choice(guess, names, values),
        text,
        choices=found.labels,
        on=hidden,
    ):
        return
    rows = [
        {"code": found.labels[i], "probability": found.probabilities[i], "bits per byte": found.bits[i]} for i in order
    ]
    view.chances("codes", "Probability of each code, given the text", names, values, rows)
    view.say("Verdict", code=plain(found.best), tokens=found.tokens, bits=f"{min(found.bits):.2f}")
    view.try_and_notice("verdict")


def _continued(checkpoint: Checkpoint, text: str, label: str, decoding: Decoding) -> str:
    last = ""
    for step in generate(checkpoint, text, decoding, with_attention=False, code=label):
        last = step.text
    return last


CODES = Demo(
    "codes",
    draw,
    lambda spec: spec.card is not None and bool(spec.card.extra.get("codes")),
    (TEXT, *DECODING, PASSAGE, STEP),
)
