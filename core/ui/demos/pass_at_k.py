"""Codex's demo: pass@k on results of one's own."""

from __future__ import annotations

import streamlit as st

from core.figures.labels import percent
from core.figures.lines import Line, line_alt, line_chart
from core.language.metrics import MOST_SAMPLES, estimate, passed
from core.table import Table
from core.ui.page import accent, theme
from core.ui.panel import Panel
from core.ui.param import Integer, Text
from core.ui.section import Section, View
from core.words import counted

PASSED = Text(
    name="passed", label="Passed samples of each problem", default="0, 0, 0, 1, 1, 2, 3, 5, 12, 20", most=1_000
)
SAMPLES = Integer(name="n", label="Samples of each", default=20, low=1, high=MOST_SAMPLES, width=190)
K = Integer(name="k", label="k", default=10, low=1, high=MOST_SAMPLES, width=120)


def pass_at_k(view: View) -> None:
    state, words, look = view.state, view.words, theme()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        text, n = PASSED.draw(state), SAMPLES.draw(state)
        k = K.with_(high=n, default=min(K.default, n)).draw(state)
    counts = passed(text, n)
    estimates, ks = estimate(counts, n), list(range(1, n + 1))
    lines = [
        Line(
            words.label("unbiased"),
            ks,
            estimates.unbiased.tolist(),
            accent("decoder"),
            spread=estimates.deviation.tolist(),
        ),
        Line(words.label("naive"), ks, estimates.naive.tolist(), look.muted, "dash"),
    ]
    figure = line_chart(
        lines,
        words.label("rate"),
        across=words.label("samples"),
        hover="k = %{x}: %{y:.1%}",
        markers=n <= 40,
        at=k,
        yaxis={"range": [0, 1.02], "tickformat": ".0%"},
        height=360,
        theme=look,
    )
    columns = ("k", "unbiased", "standard deviation", "naive", "mean of the naive estimate")
    series = (estimates.unbiased, estimates.deviation, estimates.naive, estimates.naive_mean)
    table = Table(columns, tuple(zip(ks, *(values.tolist() for values in series), strict=True)))
    Panel(
        "pass-at-k",
        words.label("picture"),
        figure,
        line_alt(lines, words.label("rate"), [], words.label("samples")),
        table,
    ).draw(state)
    at = [float(values[k - 1]) for values in series]
    names = ("unbiased", "deviation", "naive", "low")
    view.say("Answer", k=k, problems=counted(len(counts), "problem"), **dict(zip(names, map(percent, at), strict=True)))
    view.try_and_notice()


PASS_AT_K = Section("pass-at-k", pass_at_k, (PASSED, SAMPLES, K), folder="demos")
