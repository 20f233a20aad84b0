"""Positions: five position encodings of Transformers, each as a figure and as similarity by distance.

This module draws those added to the token embeddings (learned and sinusoidal), rotary ones (rotated pairs of
dimensions, and scores that depend on distance only), and the section of all five.
"""

from __future__ import annotations

from typing import cast

import numpy as np
import streamlit as st

from core import checkpoints, session
from core.checkpoints.spec import CheckpointSpec
from core.figures.lines import Line
from core.ui.page import accent, theme
from core.ui.panel import Panel
from core.ui.param import Choice, Integer
from core.ui.section import Section, View
from core.ui.tables import TextTable, text_table
from core.ui.vectors import positions_in_scores as in_scores
from core.ui.vectors.common import MODEL, MODEL_OF_KIND, WIDTH, line_panel, model_of, signed_strips, stepped
from core.ui.vectors.positions_in_scores import HEAD, LEVEL, PASSAGE
from core.vectors.nearest import cosines
from core.vectors.positions import (
    MOST,
    Numbers,
    Order,
    by_distance,
    pair_angles,
    position_embeddings,
    rotary_cosines,
    rotary_vectors,
    rotated,
    sinusoids,
)

BASE = Integer(
    name="base",
    label="Base",
    low=2,
    high=10**7,
    default=10_000,
)
QUERY = Choice(name="query", label="Query", options={}, width=130)
KEY = Choice(name="key", label="Key", options={}, width=130)
ROTARY_PARAMS = (BASE, QUERY, KEY)
SENTENCE = "The old king gave his daughter a golden ring."
_ROTARY_WIDTHS = (8, 16, 32, 64, 128)
_BASES = (100, 1_000, 10_000, 100_000, 500_000)
_REACH = 64
_SHIFTS = (0, 10, 100, 1000)


def rotary(view: View) -> None:
    state = view.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        width = stepped(WIDTH.with_(label="Head dimension", default=32), _ROTARY_WIDTHS, state, tag="rotary.width")
        base = stepped(BASE, _BASES, state)
    _angles_and_decay(view, width, float(base))
    view.try_and_notice("rotary")
    rotary_models = MODEL.with_(needs=("rotary positions",)).offered().values()
    if (spec := next((spec for spec in rotary_models if spec.card), None)) is not None:
        _live(view, spec)
    view.how_it_works("How it works: rotary")


def _angles_and_decay(view: View, width: int, base: float) -> None:
    distances = np.arange(0, 257)
    angles = pair_angles(width, base)
    left, right = st.columns(2, gap="large")
    with left:
        cosines = np.cos(np.arange(_REACH)[:, None] * angles)
        periods = {"first": f"{2 * np.pi / angles[0]:.1f}", "last": f"{2 * np.pi / angles[-1]:,.0f}"}
        Panel(
            "rotations",
            view.words.label("rotations"),
            signed_strips(
                cosines,
                [str(position) for position in range(_REACH)],
                [str(k + 1) for k in range(len(angles))],
                reach=1.0,
                row_height=5,
                down="position",
                across="pair: cosine of its angle",
            ),
            view.words.part("Rotations: alt", pairs=len(angles), positions=_REACH),
            note=view.words.part("Periods", pairs=len(angles), **periods),
        ).draw(view.state)
    with right:
        alike = rotary_cosines(distances, width, base)
        line_panel(
            view,
            "rotary",
            view.words.label("rotary"),
            [Line("mean cosine", distances.tolist(), alike.tolist(), theme().categorical[1])],
            "cosine",
            {"distance": distances, "cosine": alike},
            f"{view.words.label('rotary')}: " + ", ".join(f"{alike[d]:.2f} at {d}" for d in (1, 16, 256)) + ".",
            view.words.part("Equal"),
            across="distance of query and key",
            height=390,
        )


def _live(view: View, spec: CheckpointSpec) -> None:
    """Draw the score of a live model's query and key at all distances."""
    state = view.state
    view.say("Live", name=spec.name)
    row = st.container(horizontal=True, vertical_alignment="bottom")
    with row:
        passage = PASSAGE.with_(default=SENTENCE).draw(state, tag="rotary")
    vectors = session.computed("running-the-model", rotary_vectors, spec.slug, passage)
    layers, heads, count = vectors.queries.shape[:3]
    with row:
        layer = LEVEL.with_(high=layers, default=min(2, layers)).draw(state, tag="rotary") - 1
        head = HEAD.with_(high=heads).draw(state, tag="rotary") - 1
        names = {str(i): f"{i} {token}" for i, token in enumerate(vectors.tokens, 1)}
        query, key = (
            int(param.with_(options=names, default=str(usual)).draw(state, tag=str(count))) - 1
            for param, usual in ((QUERY, count), (KEY, min(count, 3)))
        )
    q, k = vectors.queries[layer, head, query], vectors.keys[layer, head, key]
    distances = np.arange(-_REACH, 1)
    scores = vectors.factor * np.array([q @ rotated(k, float(d), vectors.base) for d in distances])
    best = str(int(distances[scores.argmax()])).replace("-", "−")
    left, right = st.columns([1.4, 1], gap="large")
    with left:
        note = view.words.part("Apart, blocked" if key > query else "Apart", apart=abs(key - query), best=best)
        line_panel(
            view,
            "rotary-score",
            view.words.label("score"),
            [Line("score", distances.tolist(), scores.tolist(), accent(spec.branch))],
            "score",
            {"distance": distances, "score": scores},
            f"{view.words.label('score')}. {note}",
            note,
            height=300,
        )
    with right:
        rows = []
        for shift in _SHIFTS:
            moved = rotated(q, query + shift, vectors.base) @ rotated(k, key + shift, vectors.base)
            rows.append((f"{query + shift}", f"{key + shift}", f"{moved * vectors.factor:.4f}".replace("-", "−")))
        headings = ("Query at", "Key at", "Score")
        text_table(TextTable(headings, rows, view.words.label("shifted"), (34, 33, 33), (1, 2)))
        view.note("Shifted")


KIND = Choice(
    name="kind",
    label="Kind",
    options={
        "sinusoidal": "Sinusoidal",
        "learned": "Learned",
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
    _DRAWN[KIND.draw(view.state)](view)
    headings = ("Encoding", "Where", "Depends on", "Positions", "Used by")
    text_table(TextTable(headings, view.words.front["encodings"], view.words.label("table"), _TABLE))


def learned(view: View) -> None:
    param = MODEL_OF_KIND.with_(needs=("learned positions",))
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
    "sinusoidal": sinusoidal,
    "learned": learned,
    "relative": in_scores.relative,
    "rotary": rotary,
    "linear": in_scores.alibi,
}
POSITIONS = Section(
    "places",
    positions,
    (KIND, MODEL_OF_KIND, PICTURE, WIDTH, ORDER, *in_scores.PARAMS, *ROTARY_PARAMS),
)
