"""Positions: five position encodings of Transformers, each as a figure and as similarity by distance.

This module draws those added to the token embeddings (learned and sinusoidal), and the section of all five.
"""

from __future__ import annotations

from typing import cast

import numpy as np
import streamlit as st

from core import checkpoints, session
from core.figures.lines import Line
from core.ui.page import accent, theme
from core.ui.panel import Panel
from core.ui.param import Choice
from core.ui.section import Section, View
from core.ui.text_table import TextTable, text_table
from core.ui.vectors import positions_in_scores as in_scores
from core.ui.vectors import positions_rotary as rotary
from core.ui.vectors.common import MODEL_OF_KIND, WIDTH, line_panel, model_of, signed_strips, stepped
from core.vectors.nearest import cosines
from core.vectors.positions import MOST, Numbers, Order, by_distance, position_embeddings, sinusoids

KIND = Choice(
    name="kind",
    label="Kind",
    options={
        "learned": "Learned",
        "sinusoidal": "Sinusoidal",
        "relative": "Relative",
        "rotary": "Rotary",
        "linear": "ALiBi",
    },
    style="row",
    hide_label=True,
    resets=("asked", "term", "level", "head", "width"),
)
PICTURE = Choice(name="picture", label="Picture", options={"numbers": "Values", "cosines": "Cosines"}, style="row")
ORDER = Choice(
    name="order",
    label="Order of the dimensions",
    options={
        "paper": "as in the paper: sine and cosine alternate",
        "halves": "all sines, then all cosines (CTRL, Marian)",
        "tensor2tensor": "halves, spread a little wider (M2M-100)",
    },
    width=360,
)
_WIDTHS = (16, 32, 64, 128, 192, 256, 384, 512)


def positions(view: View) -> None:
    """Draw the section."""
    _DRAWN[KIND.draw(view.state)](view)
    headings = ("Encoding", "Where", "Depends on", "Positions", "Used by")
    text_table(TextTable(headings, view.words.front["encodings"], view.words.label("table"), _TABLE))
    view.say("Without")


def learned(view: View) -> None:
    """A learned table of positions."""
    param = MODEL_OF_KIND.with_(fits=lambda spec: spec.offers("learned positions"))
    if not param.offered():
        view.note("Not here: learned")
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        spec = model_of(view.state, param)
        picture = PICTURE.draw(view.state)
    table = session.computed("reading-the-table", position_embeddings, spec.slug)
    count, width = table.shape
    values = np.asarray(table, dtype=np.float64)
    _table_and_distances(view, values, picture, spec.name, accent(spec.branch), sinusoids(count, width))
    view.try_and_notice("learned", width=width)
    if count == MOST:
        view.note("First positions", most=MOST)
    view.how_it_works("How it works: learned")


def sinusoidal(view: View) -> None:
    """The formula of 2017."""
    state = view.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        width = stepped(WIDTH, _WIDTHS, state)
        order = cast(Order, ORDER.draw(state))
        picture = PICTURE.draw(state)
    _table_and_distances(view, sinusoids(MOST, width, order), picture, "sinusoids", theme().categorical[0], None)
    view.try_and_notice("sinusoidal")
    fixed = ", ".join(
        spec.name.removeprefix("Atlas ")
        for spec in checkpoints.available()
        if spec.card and spec.offers("fixed positions")
    )
    view.how_it_works("How it works: sinusoidal", fixed=fixed)


def _table_and_distances(
    view: View, table: Numbers, picture: str, name: str, color: str, baseline: Numbers | None
) -> None:
    """Draw the table, or the cosines of its rows, and the mean cosine by distance."""
    count, width = table.shape
    similarities = cosines(table, table)
    means, spreads = by_distance(similarities)
    rows = [str(position) for position in range(count)]
    values = picture == "numbers"
    matrix, columns = (table, [str(i + 1) for i in range(width)]) if values else (similarities, rows)
    left, right = st.columns(2, gap="large")
    with left:
        Panel(
            "positions",
            PICTURE.options[picture],
            signed_strips(
                matrix,
                rows,
                columns,
                row_height=3,
                down="position",
                across=f"the {width} dimensions" if values else "position",
                reach=float(np.quantile(np.abs(matrix), 0.995)) if values else 1.0,
            ),
            view.words.part("Table: alt", what=PICTURE.options[picture], count=count, name=name),
        ).draw(view.state)
    with right:
        distances = list(range(count))
        lines = [Line(name, distances, means.tolist(), color, spread=spreads.tolist())]
        if baseline is not None:
            other, _ = by_distance(cosines(baseline, baseline))
            lines.append(Line("sinusoids", distances, other.tolist(), theme().categorical[6], "dot"))
        some = ", ".join(f"{means[d]:.2f} at {d}" for d in (1, 4, 16, 64) if d < len(means))
        title = view.words.label("by_distance")
        line_panel(
            view,
            "positions-by-distance",
            title,
            lines,
            "cosine",
            {"distance": distances, "mean cosine": means, "standard deviation": spreads},
            f"{title}: {some}.",
            note=f"{title}: {some}.",
            across="distance of two positions",
        )


_TABLE = (12, 19, 23, 20, 26)
"""Widths of the columns."""
_DRAWN = {
    "learned": learned,
    "sinusoidal": sinusoidal,
    "relative": in_scores.relative,
    "rotary": rotary.rotary,
    "linear": in_scores.alibi,
}
POSITIONS = Section(
    "places",
    positions,
    (KIND, MODEL_OF_KIND, PICTURE, WIDTH, ORDER, *in_scores.PARAMS, *rotary.PARAMS),
)
