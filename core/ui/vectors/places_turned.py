"""Rotary positions: pairs of numbers that are turned, and scores that know distances only."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from core import session
from core.figures import depth, strips
from core.figures.vectors import COLOURS
from core.table import Table
from core.ui.export import download_csv
from core.ui.glossary import told
from core.ui.heads.pictures import saved_as
from core.ui.links import within
from core.ui.page import accent
from core.ui.text_table import TextTable, text_table
from core.ui.vectors.frame import VectorsView
from core.vectors.places import TURNED
from core.vectors.positions import alike_after_turns, turned, turns

if TYPE_CHECKING:
    from core.checkpoints.spec import CheckpointSpec
    from core.ui.links import PageState

WIDTH = 32
BASES = (100, 1_000, 10_000, 100_000, 500_000)
BASE = 10_000
SENTENCE = "The old king gave his daughter a golden ring."
_REACH = 64
_SHIFTS = (0, 10, 100, 1000)


def rotary(view: VectorsView) -> None:
    """Draw the whole kind; reads and writes width, base, passage, level, head, query and key.

    Raises:
        AtlasError: what was typed does not allow it.
    """
    state = view.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        widths = [8, 16, 32, 64, 128]
        width = st.select_slider(
            "Width of a head",
            widths,
            value=min(widths, key=lambda one: abs(one - state.number("width", WIDTH))),
            key=state.key("rotary.width"),
            width=260,
        )
        base = st.select_slider(
            "Base",
            BASES,
            value=min(BASES, key=lambda one: abs(one - state.number("base", BASE))),
            key=state.key("base"),
            format_func=lambda one: f"{one:,}",
            width=260,
            help="How slowly the slowest pair turns: larger for longer texts",
        )
    state.set(width=None if width == WIDTH else width, base=None if base == BASE else base)
    dark = st.context.theme.type == "dark"
    distances = np.arange(0, 257)
    left, right = st.columns(2, gap="large")
    with left:
        angles = turns(int(width), float(base))
        shown = np.cos(np.arange(_REACH)[:, None] * angles)
        st.plotly_chart(
            strips.strips(
                shown,
                [str(place) for place in range(_REACH)],
                [str(k + 1) for k in range(len(angles))],
                signed=True,
                digits=None,
                reach=1.0,
                row_height=5,
                down="place",
                across="pair: cosine of its turn",
                dark=dark,
            ),
            key=state.key("angles"),
            config=saved_as("atlas-turns"),
            alt=f"The turn of each of {len(angles)} pairs at {_REACH} places: the first pairs go round fast, the last "
            "hardly.",
        )
        st.caption(
            f"Pair 1 goes round in {2 * np.pi / angles[0]:.1f} places, pair {len(angles)} in "
            f"{2 * np.pi / angles[-1]:,.0f}."
        )
    with right:
        alike = alike_after_turns(distances, int(width), float(base))
        line = depth.Line("mean cosine", distances.tolist(), alike.tolist(), COLOURS[1])
        st.plotly_chart(
            depth.curves([line], "cosine", across="distance of query and key", dark=dark, markers=False, height=390),
            key=state.key("alike"),
            config=saved_as("atlas-rotary"),
            alt=f"Cosine of a vector with itself turned: {alike[1]:.2f} at 1, {alike[16]:.2f} at 16, {alike[256]:.2f} "
            "at 256.",
        )
        st.caption("A query and a key that are equal before the turns, with all pairs of one length.")
        download_csv(
            Table.from_records(
                [{"distance": int(d), "cosine": f"{value:.5f}"} for d, value in zip(distances, alike, strict=True)]
            ),
            "rotary",
            state.key("csv.rotary"),
        )
    told(
        "**Try** a larger base: the slow pairs turn slower, so that far words stay distinguishable. **Notice** below "
        "that a score does not change when both words move by the same number of places."
    )
    spec = next((view.specs[slug] for slug in TURNED if slug in view.specs), None)
    if spec is not None:
        _live(spec, state)
    st.latex(
        r"R_t = \begin{pmatrix} \cos t\theta_k & -\sin t\theta_k \\ \sin t\theta_k & \cos t\theta_k \end{pmatrix}"
        r"\ \text{for pair } k, \qquad \theta_k = b^{-2k/d}"
    )
    st.latex(r"(R_s\, q) \cdot (R_t\, k) = q \cdot (R_{t-s}\, k)")
    told(
        "$R_t$ turns a vector by the angle $t \\theta_k$ in each pair $k$ of its numbers; $q$ and $k$ beside it are a "
        "query and a key of width $d$, at places $s$ and $t$; $b$ is the base, and pairs are counted "
        "from 0. Nothing is added to the words: in every layer queries and keys are turned, values are not."
    )
    st.caption(
        "Su et al., RoFormer (2021, [arXiv 2104.09864](https://arxiv.org/abs/2104.09864)). *Read: notes on the paper "
        "by others, and the library's code of LLaMA, which pairs the k-th number with the (k + d/2)-th (tested).*"
    )


def _live(spec: CheckpointSpec, state: PageState) -> None:
    """A real query and key at all distances."""
    st.markdown(f"**A query and a key of {spec.name}, moved apart**")
    row = st.container(horizontal=True, vertical_alignment="bottom")
    with row:
        passage = st.text_input(
            "Text", state.text("passage", SENTENCE), max_chars=400, key=state.key("rotary.passage"), width=340
        )
    state.set(passage=None if passage == SENTENCE else passage)
    with st.spinner("Running the model"):
        found = session.turned(spec.slug, passage)
    layers, heads, count = found.queries.shape[:3]
    with row:
        level = _menu("Layer", "level", layers, state, 2)
        head = _menu("Head", "head", heads, state, 1)
        names = [f"{number + 1} {token}" for number, token in enumerate(found.tokens)]
        query = _token("Query", "query", names, state, count)
        key = _token("Key", "key", names, state, min(count, 3))
    q, k = found.queries[level, head, query], found.keys[level, head, key]
    distances = np.arange(-_REACH, 1)
    scores = np.array([turned(q, 0, found.base) @ turned(k, float(d), found.base) for d in distances]) * found.factor
    real = key - query
    left, right = st.columns([1.4, 1], gap="large")
    with left:
        line = depth.Line("score", distances.tolist(), scores.tolist(), accent(spec.branch))
        st.plotly_chart(
            depth.curves(
                [line],
                "score",
                across="distance: key's place less query's",
                dark=st.context.theme.type == "dark",
                markers=False,
                height=300,
            ),
            key=state.key("moved"),
            config=saved_as("atlas-rotary-score"),
            alt=f"The score of this query and key by distance, highest at {int(distances[scores.argmax()])}.",
        )
        apart = f"They stand {abs(real)} apart in the text" + (
            ", the key later, where a decoder cannot look." if real > 0 else "."
        )
        st.caption(
            f"{apart} The score would be highest at distance {int(distances[scores.argmax()])}.".replace("-", "−")
        )
    with right:
        rows = []
        for shift in _SHIFTS:
            at = turned(q, query + shift, found.base) @ turned(k, key + shift, found.base) * found.factor
            rows.append((f"{query + shift}", f"{key + shift}", f"{at:.4f}".replace("-", "−")))
        text_table(
            TextTable(("Query at", "Key at", "Score"), rows, "Both moved by the same number", (34, 33, 33), (1, 2))
        )
        st.caption("Both moved on by 0, 10, 100 and 1,000 places: the score stays.")


def _menu(name: str, parameter: str, count: int, state: PageState, usual: int) -> int:
    """A choice from 1 to ``count``; returns it from 0."""
    usual = min(usual, count)
    chosen = st.selectbox(
        name,
        list(range(1, count + 1)),
        index=within(state, name, state.number(parameter, usual), 1, count) - 1,
        key=state.key(f"rotary.{parameter}"),
        width=90,
    )
    state.set(**{parameter: None if chosen == usual else chosen})
    return int(chosen) - 1


def _token(name: str, parameter: str, names: list[str], state: PageState, usual: int) -> int:
    chosen = st.selectbox(
        name,
        range(len(names)),
        index=min(state.number(parameter, usual), len(names)) - 1,
        format_func=names.__getitem__,
        key=state.key(f"rotary.{parameter}.{len(names)}"),
        width=130,
    )
    state.set(**{parameter: None if chosen == usual - 1 else chosen + 1})
    return int(chosen)
