"""Rotary positions: pairs of dimensions that are rotated, and scores that depend on distances only."""

from __future__ import annotations

import numpy as np
import streamlit as st

from core import session
from core.checkpoints.spec import CheckpointSpec
from core.figures.lines import Line, line_chart
from core.figures.vectors import strips
from core.table import Table
from core.ui.page import accent, theme
from core.ui.panel import Panel
from core.ui.param import Choice, Integer
from core.ui.section import View
from core.ui.text_table import TextTable, text_table
from core.ui.vectors.common import MODEL, WIDTH, stepped
from core.ui.vectors.positions_in_scores import HEAD, LEVEL, PASSAGE
from core.vectors.positions import pair_angles, rotary_cosines, rotated

BASE = Integer(
    name="base",
    label="Base",
    low=2,
    high=10**7,
    default=10_000,
    help="How slowly the slowest pair rotates: larger for longer texts",
)
QUERY = Choice(name="query", label="Query", options={}, width=130)
KEY = Choice(name="key", label="Key", options={}, width=130)
PARAMS = (BASE, QUERY, KEY)
SENTENCE = "The old king gave his daughter a golden ring."
_WIDTHS = (8, 16, 32, 64, 128)
_BASES = (100, 1_000, 10_000, 100_000, 500_000)
_REACH = 64
_SHIFTS = (0, 10, 100, 1000)


def rotary(view: View) -> None:
    """Draw the whole kind.

    Raises:
        AtlasError: what was typed does not allow it.
    """
    state = view.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        width = stepped(WIDTH.with_(label="Head dimension", default=32), _WIDTHS, state, tag="rotary.width")
        base = stepped(BASE, _BASES, state)
    _angles_and_decay(view, width, float(base))
    view.try_and_notice("rotary")
    spec = next((spec for spec in MODEL.offered().values() if spec.card and spec.offers("rotary positions")), None)
    if spec is not None:
        _live(view, spec)
    view.say("How it works: rotary")


def _angles_and_decay(view: View, width: int, base: float) -> None:
    distances = np.arange(0, 257)
    angles = pair_angles(width, base)
    left, right = st.columns(2, gap="large")
    with left:
        cosines = np.cos(np.arange(_REACH)[:, None] * angles)
        periods = {"first": f"{2 * np.pi / angles[0]:.1f}", "last": f"{2 * np.pi / angles[-1]:,.0f}"}
        Panel(
            "rotations",
            "Rotation of each pair by position",
            strips(
                cosines,
                [str(position) for position in range(_REACH)],
                [str(k + 1) for k in range(len(angles))],
                signed=True,
                digits=None,
                reach=1.0,
                row_height=5,
                down="position",
                across="pair: cosine of its angle",
                theme=theme(),
            ),
            f"The rotation of each of {len(angles)} pairs at {_REACH} positions: the first pairs rotate fast, the last "
            "hardly.",
            note=view.words.part("Periods", pairs=len(angles), **periods),
        ).draw(view.state)
    with right:
        alike = rotary_cosines(distances, width, base)
        line = Line("mean cosine", distances.tolist(), alike.tolist(), theme().categorical[1])
        Panel(
            "rotary",
            "Cosine after rotation by distance",
            line_chart([line], "cosine", across="distance of query and key", theme=theme(), markers=False, height=390),
            f"Cosine of a vector with itself rotated: {alike[1]:.2f} at 1, {alike[16]:.2f} at 16, {alike[256]:.2f} at "
            "256.",
            Table.from_columns({"distance": distances, "cosine": alike}),
            note=view.words.part("Equal"),
        ).draw(view.state)


def _live(view: View, spec: CheckpointSpec) -> None:
    """A real query and key at all distances."""
    state = view.state
    st.markdown(f"**A query and a key of {spec.name}, moved apart**")
    row = st.container(horizontal=True, vertical_alignment="bottom")
    with row:
        passage = PASSAGE.with_(default=SENTENCE, help=None).draw(state, tag="rotary")
    with st.spinner("Running the model"):
        vectors = session.rotary_vectors(spec.slug, passage)
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
        line = Line("score", distances.tolist(), scores.tolist(), accent(spec.branch))
        across = "distance: key position minus query position"
        blocked = ", the key later, where a causal mask blocks it" if key > query else ""
        Panel(
            "rotary-score",
            "Score of this query and key by distance",
            line_chart([line], "score", across=across, theme=theme(), markers=False, height=300),
            f"The score of this query and key by distance, highest at {best}.",
            Table.from_columns({"distance": distances, "score": scores}),
            note=f"They are {abs(key - query)} apart in the text{blocked}. The score would be highest at distance "
            f"{best}.",
        ).draw(state)
    with right:
        rows = []
        for shift in _SHIFTS:
            moved = rotated(q, query + shift, vectors.base) @ rotated(k, key + shift, vectors.base)
            rows.append((f"{query + shift}", f"{key + shift}", f"{moved * vectors.factor:.4f}".replace("-", "−")))
        headings = ("Query at", "Key at", "Score")
        text_table(TextTable(headings, rows, "Both moved by the same number", (34, 33, 33), (1, 2)))
        view.note("Shifted")
