"""Temperature against k: effective candidates, diversity and repetition of real samples."""

from __future__ import annotations

import numpy as np
import streamlit as st

from core import engine, session
from core.figures.heatmap import heat_map, names
from core.figures.labels import percent
from core.language.diversity import KS, LENGTH, SAMPLES, TEMPERATURES, grid
from core.table import Table
from core.ui.generation.setup import SHARED, setup
from core.ui.page import theme
from core.ui.panel import Panel
from core.ui.param import Choice
from core.ui.section import Section, View
from core.ui.tables import TextTable, text_table

MEASURE = Choice(name="measure", label="Measure", options={}, style="row")


def temperature(view: View) -> None:
    state, words = view.state, view.words
    chosen = setup(view)
    measure = MEASURE.with_(options=words.front["measures"]).draw(state)
    with st.spinner(session.waiting("sampling"), show_time=True):
        cells = session.results.get_or_compute(
            ("temperature", *chosen.key, chosen.common),
            lambda: engine.run(grid, chosen.spec.slug, chosen.start(), chosen.common),
        )
    values = np.array([getattr(cell, measure) for cell in cells]).reshape(len(TEMPERATURES), len(KS))
    texts = [[f"{value:,.1f}" if measure == "candidates" else percent(float(value)) for value in row] for row in values]
    title = words.part("Picture", measure=words.front["measures"][measure].lower())
    figure = heat_map(
        np.log10(np.maximum(values, 1)) if measure == "candidates" else values,
        names([f"T = {value:g}" for value in TEMPERATURES]),
        names([f"k = {k}" if k else words.label("all") for k in KS]),
        theme(),
        height=330,
        texts=texts,
        text_size=15,
        showscale=False,
        hovertemplate="%{y}, %{x}: %{text}<extra></extra>",
    )
    rows = tuple((c.temperature, c.k or None, c.candidates, c.distinct, c.repeated, c.text) for c in cells)
    columns = ("temperature", "k", "effective candidates", "distinct 2-grams", "repeated 3-grams", "first sample")
    ends = {"least": texts[0][0], "most": texts[-1][-1]}
    Panel("temperature", title, figure, words.part("Alt", **ends), Table(columns, rows), heading=True).draw(state)
    view.note("Measured", samples=SAMPLES, tokens=min(LENGTH, chosen.common.max_new_tokens))
    view.try_and_notice()
    st.subheader(words.label("samples"), anchor=False)
    corners = [cells[0], cells[len(KS) - 1], cells[-len(KS)], cells[-1]]
    samples = [(f"T = {c.temperature:g}, " + (f"k = {c.k}" if c.k else words.label("all")), c.text) for c in corners]
    text_table(TextTable(tuple(words.front["columns"]), samples, words.label("samples"), (24, 76)))
    view.how_it_works()


DIVERSITY = Section("temperature", temperature, (*SHARED, MEASURE))
