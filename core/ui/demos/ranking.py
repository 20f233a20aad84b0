"""Codex's second demo: continuations of one's own, ranked by the sum and by the mean of their log-probabilities."""

from __future__ import annotations

from operator import attrgetter

import streamlit as st

from core import checkpoints, session
from core.figures.labels import label
from core.figures.lines import Line, line_alt, line_chart
from core.figures.plot import BELOW, DASHES, cut
from core.language.reward import Candidate, candidates, score
from core.table import Table
from core.ui.generation.strategies import minus
from core.ui.grid import Column, Grid
from core.ui.page import theme
from core.ui.panel import Panel
from core.ui.param import Text
from core.ui.section import Section, View

PROMPT = Text(name="prompt", label="Prompt", default="Once upon a time there was a little girl who", most=300)
CANDIDATES = Text(
    name="candidates",
    label="Continuations, one on each line",
    default="""had three sons.
lived in the forest.
was very beautiful.
ate the moon.
lived in a little cottage on the edge of a great forest, and she was very fond of her father and mother.""",
    height=168,
    most=1_700,
)


def ranking(view: View) -> None:
    state, words = view.state, view.words
    slug = checkpoints.first("generation")[0]
    left, right = st.columns((2, 3), gap="large")
    with left:
        prompt = PROMPT.draw(state)
        texts = candidates(CANDIDATES.draw(state))
    scored = session.computed("running-the-model", score, slug, prompt, texts)
    with right:
        _sums(view, scored)
    by_sum, by_mean = (sorted(scored, key=attrgetter(key), reverse=True) for key in ("total", "mean"))
    view.say(
        "Same" if by_sum[0] == by_mean[0] else "Answer",
        by_sum=scored.index(by_sum[0]) + 1,
        by_mean=scored.index(by_mean[0]) + 1,
        short=len(by_sum[0].logs),
        long=len(by_mean[0].logs),
    )
    columns: tuple[Column[Candidate], ...] = (
        Column("Continuation", lambda candidate: candidate.text, width=40),
        Column("Tokens", lambda candidate: len(candidate.logs), width=12),
        Column("Sum", lambda candidate: candidate.total, minus, 12, name="sum (nats)"),
        Column("Rank by sum", lambda candidate: by_sum.index(candidate) + 1, width=12),
        Column("Mean", lambda candidate: candidate.mean, minus, 12, name="mean (nats)"),
        Column("Rank by mean", lambda candidate: by_mean.index(candidate) + 1, width=12),
    )
    view.try_and_notice()
    Grid(words.label("table"), columns, scored).draw("ranks", state.key("ranks.csv"))


def _sums(view: View, scored: tuple[Candidate, ...]) -> None:
    """The sum of the log-probabilities so far, token by token; a line for each candidate."""
    words, look, lines = view.words, theme(), []
    for number, candidate in enumerate(scored):
        sums = [sum(candidate.logs[:count]) for count in range(len(candidate.logs) + 1)]
        tokens = zip(candidate.tokens, candidate.logs, strict=True)
        lines.append(
            Line(
                f"{number + 1}. {cut(candidate.text, 26)}",
                list(range(len(sums))),
                sums,
                look.categorical[number % len(look.categorical)],
                DASHES[number % len(DASHES)],
                words=["", *(f"{label(token)}: {minus(log)}" for token, log in tokens)],
            )
        )
    figure = line_chart(
        lines,
        words.label("sum"),
        across=words.label("tokens"),
        hover="%{customdata}, sum %{y:.2f}",
        legend=BELOW,
        height=400,
        theme=look,
    )
    rows = [
        (line, candidate.text, at, token, log)
        for line, candidate in enumerate(scored, 1)
        for at, (token, log) in enumerate(zip(candidate.tokens, candidate.logs, strict=True), 1)
    ]
    table = Table(("line", "continuation", "position", "token", "log-probability (nats)"), tuple(rows))
    alt = line_alt(lines, words.label("sum"), [], words.label("tokens"))
    Panel("ranking", words.label("picture"), figure, alt, table).draw(view.state)


RANKING = Section("ranking", ranking, (PROMPT, CANDIDATES), folder="demos")
