"""Control codes: one prompt continued under each code, and the code that the model finds in a text."""

from __future__ import annotations

import html
from collections.abc import Mapping
from random import Random
from typing import TYPE_CHECKING
from zlib import crc32

import streamlit as st

from core import session
from core.figures.predictions import bars_alt, guess_bars
from core.language.types import Decoding
from core.table import Table
from core.ui.demos.cover import choice, switch, uncovered, walk, was_shown
from core.ui.demos.decoding import DECODING, LENGTH, decoding_controls, effective, explain_decoding
from core.ui.demos.demo import Demo, DemoView
from core.ui.demos.generate import STEP
from core.ui.notices import sentences
from core.ui.page import plain, theme
from core.ui.panel import Panel
from core.ui.param import Text

if TYPE_CHECKING:
    from core.language.codes import CodeVerdict

TEXT = Text(name="text", label="Prompt, the same for every code", default="Tom")
"""A name that stands in texts of every kind and language."""
PASSAGE = Text(
    name="passage",
    label="Which code has this text?",
    default="The castle is in the north of Germany. It was built in 1240.",
    height=68,
)
FEW = LENGTH.with_(high=80)
"""New tokens under each code."""
_COLUMNS = 3


def draw(view: DemoView) -> None:
    """Draw the demo."""
    from core.language.codes import listed
    from core.language.text import clean

    spec, state = view.spec, view.state
    text = TEXT.draw(state, tag="codes")
    decoding = effective(decoding_controls(state, FEW))
    hidden = switch(state)
    if not hidden:
        state.set(step=None)  # all continuations stand beside each other
    with sentences():
        made = {label: _continued(spec.slug, text, label, decoding) for label in listed(spec)}
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
    asked = ("codes", view.spec.slug, begun, decoding)
    order = list(made)
    # The order of the codes would tell which is which; the same question is always shuffled alike.
    Random(crc32(repr(asked).encode())).shuffle(order)
    slot = state.key("codes.step")
    step = min(max(int(st.session_state.get(slot, state.number(STEP.name, 1) - 1)), 0), len(order) - 1)
    st.session_state[slot] = step
    state.set(step=step + 1 if step else None)
    code = order[step]

    def judge(guess: str) -> str:
        # Two codes may have led to the same words, and nobody could tell them apart.
        alike = [label for label in made if made[label] == made[code]]
        under = " and under ".join(f"“{label}”" for label in alike)
        return f"{'Right' if guess in alike else 'Wrong'}: it was written under {under}."

    place = st.empty()
    shown = uncovered(state, (*asked, code), "Under which code was this written?", judge, choices=tuple(made), on=True)
    with place.container():
        _card(view, code if shown else f"Continuation {step + 1} of {len(order)}", begun, made[code])
    walk(slot, step, len(order), "continuation")
    return all(was_shown(state, (*asked, label)) for label in made)


def _card(view: DemoView, title: str, begun: str, made: str) -> None:
    """One continuation: the prompt and, underlined, what the model generated after it."""
    line = f"text-decoration:underline 2px {view.accent};text-underline-offset:.28em"
    shown = html.escape(made).replace("\n", "<br>")
    with st.container(border=True):
        st.markdown(f"**{plain(title)}**")
        st.html(
            f'<p dir="auto" style="line-height:1.6;overflow-wrap:anywhere">'
            f'{html.escape(begun)}<span style="{line}">{shown}</span></p>'
        )


def _verdict(view: DemoView, hidden: bool) -> None:
    """Bars for the probability of each code, given a text."""
    spec, state = view.spec, view.state
    text = PASSAGE.draw(state)
    found = _judged(spec.slug, text)
    order = sorted(range(len(found.labels)), key=lambda i: -found.probabilities[i])
    names, values = [found.labels[i] for i in order], [found.probabilities[i] for i in order]

    def judge(guess: str) -> str:
        return choice(guess, names, values)

    if not uncovered(state, (spec.slug, text), "Your guess at the code", judge, choices=found.labels, on=hidden):
        return
    title = "Probability of each code, given the text"
    rows = [
        {"code": found.labels[i], "probability": found.probabilities[i], "bits per byte": found.bits[i]} for i in order
    ]
    bars = guess_bars(names, values, view.accent, scale=1.0, theme=theme())
    Panel("codes", title, bars, bars_alt(names, values, title), Table.from_records(rows), heading=True).draw(state)
    view.say("Verdict", code=plain(found.best), tokens=found.tokens, bits=f"{min(found.bits):.2f}")
    view.try_and_notice("verdict")


@session.cached("Generating under each code")
def _continued(slug: str, text: str, label: str, decoding: Decoding) -> str:
    from core.language.generate import generate

    last = ""
    for step in generate(session.checkpoint(slug), text, decoding, with_attention=False, code=label):
        last = step.text
    return last


@session.cached("Reading under each code")
def _judged(slug: str, text: str) -> CodeVerdict:
    from core.language.codes import judge

    return judge(session.checkpoint(slug), text)


CODES = Demo(
    "codes",
    draw,
    lambda spec: spec.card is not None and bool(spec.card.extra.get("codes")),
    (TEXT, *DECODING, PASSAGE, STEP),
)
