"""Position embeddings that are added to the token embeddings: learned tables, and sinusoids."""

from __future__ import annotations

from typing import cast

import numpy as np
import streamlit as st

from core import checkpoints, session
from core.figures.lines import Line, line_chart
from core.figures.vectors import strips
from core.table import Table
from core.ui.page import accent, theme
from core.ui.panel import Panel
from core.ui.param import Choice, Integer, Model
from core.ui.section import View
from core.ui.vectors.common import model_of
from core.vectors.places import MOST
from core.vectors.positions import Numbers, Order, by_distance, similarity, sinusoids

ASKED = Model(
    name="asked",
    first="vectors-positions",
    fits=lambda spec: spec.offers("learned positions") or spec.offers("relative positions"),
    width=350,
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
WIDTH = Integer(name="width", label="Dimension", low=4, high=512)
_WIDTHS = (16, 32, 64, 128, 192, 256, 384, 512)
_WIDTH = 192


def learned(view: View) -> None:
    """A learned table of positions."""
    param = ASKED.with_(fits=lambda spec: spec.offers("learned positions"))
    if not param.offered():
        view.note("Not here: learned")
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        spec = model_of(view.state, param)
        picture = PICTURE.draw(view.state)
    with st.spinner("Reading the table"):
        table = session.place_table(spec.slug)
    count, width = table.shape
    values = np.asarray(table, dtype=np.float64)
    _table_and_distances(view, values, picture, spec.name, accent(spec.branch), sinusoids(count, width))
    view.try_and_notice("learned", width=width)
    if count == MOST:
        view.note("First positions", most=MOST)
    view.say("How it works: learned")


def sinusoidal(view: View) -> None:
    """The formula of 2017."""
    state = view.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        width = _slider(view, _WIDTHS, _WIDTH, "width")
        order = cast(Order, ORDER.draw(state))
        picture = PICTURE.draw(state)
    _table_and_distances(view, sinusoids(MOST, width, order), picture, "sinusoids", theme().categorical[0], None)
    view.try_and_notice("sinusoidal")
    fixed = ", ".join(
        spec.name.removeprefix("Atlas ")
        for spec in checkpoints.available()
        if spec.card and spec.offers("fixed positions")
    )
    view.say("How it works: sinusoidal", fixed=fixed)


def _slider(view: View, widths: tuple[int, ...], usual: int, tag: str) -> int:
    nearest = min(widths, key=lambda width: abs(width - view.state.number("width", usual)))
    width = int(st.select_slider(WIDTH.label, widths, value=nearest, key=view.state.key(tag), width=260))
    view.state.set(width=None if width == usual else width)
    return width


def _table_and_distances(
    view: View, table: Numbers, picture: str, name: str, color: str, baseline: Numbers | None
) -> None:
    """The table, or the cosines of its rows, and the mean cosine by distance."""
    count, width = table.shape
    cosines = similarity(table)
    means, spreads = by_distance(cosines)
    rows = [str(position) for position in range(count)]
    values = picture == "numbers"
    shown, columns = (table, [str(i + 1) for i in range(width)]) if values else (cosines, rows)
    left, right = st.columns(2, gap="large")
    with left:
        Panel(
            "positions",
            PICTURE.options[picture],
            strips(
                shown,
                rows,
                columns,
                signed=True,
                digits=None,
                row_height=3,
                down="position",
                across=f"the {width} dimensions" if values else "position",
                reach=float(np.quantile(np.abs(shown), 0.995)) if values else 1.0,
                theme=theme(),
            ),
            f"{PICTURE.options[picture]} of {count} positions of {name}: blue above zero, orange below.",
        ).draw(view.state)
    with right:
        distances = list(range(count))
        lines = [Line(name, distances, means.tolist(), color, spread=spreads.tolist())]
        if baseline is not None:
            other, _ = by_distance(similarity(baseline))
            lines.append(Line("sinusoids", distances, other.tolist(), theme().categorical[6], "dot"))
        some = ", ".join(f"{means[d]:.2f} at {d}" for d in (1, 4, 16, 64) if d < len(means))
        Panel(
            "positions-by-distance",
            "Mean cosine of two positions by distance",
            line_chart(lines, "cosine", across="distance of two positions", theme=theme(), markers=False, height=430),
            f"Mean cosine of two positions by distance: {some}.",
            Table(
                ("distance", "mean cosine", "standard deviation"),
                tuple(
                    (d, float(mean), float(spread)) for d, (mean, spread) in enumerate(zip(means, spreads, strict=True))
                ),
            ),
            note=f"Mean cosine at a distance: {some}.",
        ).draw(view.state)
