"""The demo of an encoder's second objective: does B follow A, or which of the two came first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from core import session
from core.figures.predictions import bars_alt, guess_bars
from core.table import Table
from core.ui.demos.cover import choice, uncovered
from core.ui.demos.demo import Demo, DemoView
from core.ui.page import theme
from core.ui.panel import Panel
from core.ui.param import Text

if TYPE_CHECKING:
    from core.language.pairs import PairVerdict

FIRST = Text(name="first", label="First sentence", default="The king had three daughters.")
SECOND = Text(
    name="second",
    label="Candidate second sentences, one on each line",
    default="\n".join(
        (
            "The youngest was so beautiful that the sun itself wondered.",
            "All of them were clever, but the eldest was the cleverest.",
            "The city lies on the river and has a large harbour.",
            "Oxygen is a gas that most animals need to live.",
        )
    ),
    height=172,
)


def draw(view: DemoView) -> None:
    """Draw the demo."""
    state, spec = view.state, view.spec
    left, right = st.columns(2, gap="large")
    with left:
        first = FIRST.draw(state)
        second = SECOND.draw(state)
    asked, verdicts = _verdicts(spec.slug, first, second)
    title = view.words.label(asked)
    lines = [verdict.b for verdict in verdicts]
    values = [verdict.probability for verdict in verdicts]
    short = [line if len(line) <= 24 else line[:23].rstrip() + "…" for line in lines]
    with right:
        question = "Which line gets the highest probability?"
        key = (spec.slug, first, tuple(lines))
        if not uncovered(state, key, question, lambda guess: choice(guess, lines, values), choices=lines):
            return
        Panel(
            "pairs",
            title,
            guess_bars(short, values, view.accent, scale=1.0, theme=theme()),
            bars_alt(short, values, title),
            Table.from_records([{"first": v.a, "second": v.b, "probability": v.probability} for v in verdicts]),
            heading=True,
        ).draw(state)
    view.try_and_notice(asked)
    with st.expander(view.words.label("how")):
        view.say("Formula")
        view.say(f"Trained: {asked}")


@session.cached("Reading the pairs")
def _verdicts(slug: str, first: str, second: str) -> tuple[str, tuple[PairVerdict, ...]]:
    """What the head was trained for, ``next`` or ``order``, and its answer for each line."""
    from core.language.pairs import candidates, judge, question

    part = session.checkpoint(slug, "pairs")
    return question(part), tuple(judge(part, first, line) for line in candidates(second))


PAIRS = Demo("pairs", draw, lambda spec: spec.offers("pairs"), (FIRST, SECOND))
