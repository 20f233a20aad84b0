"""Candidate continuations by the sum and by the mean of their log-probabilities."""

from __future__ import annotations

import streamlit as st

from core import session
from core.figures.labels import label
from core.figures.lines import Line, line_alt, line_chart
from core.figures.plot import BELOW, DASHES, cut
from core.language.ranking import Candidate, candidates, score
from core.table import Table
from core.ui.generation.setup import SHARED, setup
from core.ui.generation.strategies import minus
from core.ui.page import theme
from core.ui.panel import Panel
from core.ui.param import Text
from core.ui.section import Section, View
from core.ui.tables import TextTable, text_table

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
    state, chosen = view.state, setup(view, length=False)
    left, right = st.columns((2, 3), gap="large")
    with left:
        texts = candidates(CANDIDATES.draw(state))
    start = chosen.start()
    found = session.computed("running-the-model", score, chosen.spec.slug, start, chosen.text, texts)
    with right:
        _picture(view, found)
    by_sum, by_mean = (sorted(found, key=key, reverse=True) for key in (_total, _mean))
    view.say(
        "Same" if by_sum[0] == by_mean[0] else "Answer",
        by_sum=found.index(by_sum[0]) + 1,
        by_mean=found.index(by_mean[0]) + 1,
        short=len(by_sum[0].logs),
        long=len(by_mean[0].logs),
    )
    view.try_and_notice()
    rows = [
        (c.text, str(len(c.logs)), minus(c.total), str(by_sum.index(c) + 1), minus(c.mean), str(by_mean.index(c) + 1))
        for c in found
    ]
    title = view.words.label("table")
    text_table(TextTable(tuple(view.words.front["columns"]), rows, title, (40, 12, 12, 12, 12, 12), (1, 2, 3, 4, 5)))
    view.how_it_works()


def _total(candidate: Candidate) -> float:
    return candidate.total


def _mean(candidate: Candidate) -> float:
    return candidate.mean


def _picture(view: View, found: tuple[Candidate, ...]) -> None:
    """The sum so far, token by token; a line for each candidate."""
    look, lines = theme(), []
    for number, candidate in enumerate(found):
        sums = [sum(candidate.logs[:count]) for count in range(len(candidate.logs) + 1)]
        words = [
            "",
            *(f"{label(token)}: {log:.2f}" for token, log in zip(candidate.tokens, candidate.logs, strict=True)),
        ]
        color, dash = look.categorical[number % len(look.categorical)], DASHES[number % len(DASHES)]
        name = f"{number + 1}. {cut(candidate.text, 26)}"
        lines.append(Line(name, list(range(len(sums))), sums, color, dash, words=words))
    figure = line_chart(
        lines,
        view.words.label("sum"),
        across=view.words.label("tokens"),
        hover="%{customdata}, sum %{y:.2f}",
        legend=BELOW,
        height=400,
        theme=look,
    )
    rows = [
        (line, c.text, at, token, log)
        for line, c in enumerate(found, 1)
        for at, (token, log) in enumerate(zip(c.tokens, c.logs, strict=True), 1)
    ]
    table = Table(("line", "continuation", "position", "token", "log-probability (nats)"), tuple(rows))
    alt = line_alt(lines, view.words.label("sum"), [])
    Panel("ranking", view.words.label("picture"), figure, alt, table).draw(view.state)


RANKING = Section("ranking", ranking, (*SHARED, CANDIDATES))
