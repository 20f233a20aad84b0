"""The demo of sentence-pair objectives: next-sentence prediction and sentence order."""

from __future__ import annotations

import streamlit as st

from core import session
from core.language.pairs import PairProbability, candidates, question, score_pair
from core.ui.demos.cover import choice
from core.ui.demos.demo import Demo, DemoView
from core.ui.param import Text

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


def draw_pairs(view: DemoView) -> None:
    left, right = st.columns(2, gap="large")
    with left:
        order = view.spec.offers("sentence order")
        samples = [view.words.label(name) for name in ("order-first", "order-second")] if order else [None, None]
        first, second = (
            (box if sample is None else box.with_(default=sample)).draw(view.state)
            for box, sample in zip((FIRST, SECOND), samples, strict=True)
        )
    objective, verdicts = _verdicts(view.spec.slug, first, second)
    lines = [verdict.b for verdict in verdicts]
    values = [verdict.probability for verdict in verdicts]
    with right:
        if not view.uncovered(
            view.words.label("guess"),
            lambda guess: choice(guess, lines, values),
            first,
            tuple(lines),
            choices=lines,
        ):
            return
        rows = [{"first": v.a, "second": v.b, "probability": v.probability} for v in verdicts]
        view.chances(f"pairs-{objective}", lines, values, rows)
    view.try_and_notice(objective)
    view.how_it_works("How it works", f"Trained: {objective}")


@session.cached("reading-the-pairs")
def _verdicts(slug: str, first: str, second: str) -> tuple[str, tuple[PairProbability, ...]]:
    """The objective of the head, ``next`` or ``order``, and its prediction for each pair."""
    part = session.checkpoint(slug, "pairs")
    return question(part), tuple(score_pair(part, first, line) for line in candidates(second))


PAIRS = Demo("pairs", draw_pairs, ("pairs",), (FIRST, SECOND))
