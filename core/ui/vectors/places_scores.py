"""Distances that are added to the scores: T5's numbers, the vectors of DeBERTa and Transformer-XL, ALiBi's slopes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from core import session
from core.figures import depth, strips
from core.figures.vectors import COLOURS
from core.table import Table
from core.ui.export import download_csv
from core.ui.glossary import terms, told
from core.ui.heads.pictures import saved_as
from core.ui.links import within
from core.ui.page import accent
from core.ui.vectors.frame import VectorsView, model_menu
from core.vectors.places import RELATIVE, TERMS, ByDistance
from core.vectors.positions import slopes, t5_bucket

if TYPE_CHECKING:
    from core.ui.links import PageState

PASSAGE = (
    "The old king gave his daughter a golden ring, and she wore it every day until the winter came and the river froze."
)
HEADS = 8
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
FORMULAS = {
    "t5": r"s_{ij} = q_i \cdot k_j + b_{h,\,\mathrm{bucket}(j - i)}",
    "deberta-v2": r"s_{ij} = \frac{1}{\sqrt{3d}} \bigl( q_i \cdot k_j + q_i \cdot k^r_{\delta(i,j)} "
    r"+ q^r_{\delta(i,j)} \cdot k_j \bigr)",
    "xlnet": r"s_{ij} = \frac{1}{\sqrt d} \bigl( (q_i + u) \cdot k_j + (q_i + v) \cdot r_{i-j} \bigr)",
}
_SCORE = "$s_{ij}$ is the score of query $q_i$ at place $i$ with key $k_j$ at place $j$"
TOLD = {
    "t5": f"{_SCORE}, "
    "$b$ is a number for each head $h$ and each bucket of distances, learned once and used in every layer; "
    "nothing else knows about order. Near distances have a bucket each, far ones share. The score is not divided by "
    "anything.",
    "deberta-v2": f"{_SCORE}. "
    "$q^r$ and $k^r$ are made of a vector for the distance $\\delta(i,j)$, $d$ is the width of a head: "
    "what a word wants of a distance, and what a distance wants of a word. Both depend on the words, so there is a "
    "spread.",
    "xlnet": f"{_SCORE}. "
    "$r_{i-j}$ is made of the sinusoid of the distance, $u$ and $v$ are vectors that all queries of a head "
    "share, $d$ is the width of a head. $q_i \\cdot r_{i-j}$ depends on the word that asks, so there is a spread.",
}
PAPERS = {
    "t5": "Raffel et al., T5 (2019, [arXiv 1910.10683](https://arxiv.org/abs/1910.10683)). *Read: the paper's text in "
    "a stored copy, and the library's code for the buckets.*",
    "deberta-v2": "He et al., DeBERTa (2020, [arXiv 2006.03654](https://arxiv.org/abs/2006.03654)). *Read: the paper's "
    "text in a stored copy, and the library's code.*",
    "xlnet": "Dai et al., Transformer-XL (2019, [arXiv 1901.02860](https://arxiv.org/abs/1901.02860)); Yang et al., "
    "XLNet (2019, [arXiv 1906.08237](https://arxiv.org/abs/1906.08237)). *Read: the library's code of XLNet.*",
}


def relative(view: VectorsView) -> None:
    """Terms of live scores that are about distance; reads and writes asked, passage, level, term and head.

    Raises:
        AtlasError: what was typed, or the model, does not allow it.
    """
    state = view.state
    specs = {slug: view.specs[slug] for slug in RELATIVE if slug in view.specs}
    if not specs:
        st.info(terms("No live model with relative positions is installed here."))
        return
    row = st.container(horizontal=True, vertical_alignment="bottom")
    with row:
        spec = model_menu(view, specs, first="atlas-t5", name="asked")
        passage = st.text_input(
            "Text",
            state.text("passage", PASSAGE),
            max_chars=400,
            key=state.key("passage"),
            width=320,
            help="Distances go as far as it is long; where words take part in the score, it is they that are asked",
        )
    state.set(passage=None if passage == PASSAGE else passage)
    with st.spinner("Running the model"):
        scored = session.place_terms(spec.slug, passage)
    kind = (
        "xlnet"
        if spec.slug in ("atlas-xlnet", "atlas-transformer-xl")
        else ("deberta-v2" if spec.slug == "atlas-deberta" else "t5")
    )
    with row:
        name, layer = _menus(scored, kind, spec.slug, state)
    found = scored[name]
    _heads(found, layer, name, accent(spec.branch), kind, state)
    told(
        "**Try** T5, then DeBERTa at several layers. **Notice** heads that want the word before, the word after, or "
        "anything but themselves: positions are what a head looks for, before it has seen a word."
    )
    st.latex(FORMULAS[kind])
    told(TOLD[kind] + " Shown is the part of the score that is about distance, mean over all pairs of the text.")
    if kind == "t5":
        _buckets(found.reach)
    st.caption(PAPERS[kind])


def _menus(terms: dict[str, ByDistance], kind: str, slug: str, state: PageState) -> tuple[str, int]:
    names = list(terms)
    name = names[0]
    if len(names) > 1:
        wanted = state.text("term", name)
        name = st.selectbox(
            "Part",
            names,
            index=names.index(wanted) if wanted in names else 0,
            format_func=TERMS.__getitem__,
            key=state.key("term"),
            width=210,
        )
        state.set(term=None if name == names[0] else name)
    layers = len(terms[name].means)
    if kind == "t5":
        return name, 0
    level = st.selectbox(
        "Layer",
        list(range(1, layers + 1)),
        index=within(state, "Layer", state.number("level", 1), 1, layers) - 1,
        key=state.key(f"level.{slug}"),
        width=90,
    )
    state.set(level=None if level == 1 else level)
    return name, int(level) - 1


def _heads(found: ByDistance, layer: int, name: str, colour: str, kind: str, state: PageState) -> None:
    means, spreads = found.means[layer], found.spreads[layer]
    heads = len(means)
    known = [d for d in range(means.shape[1]) if not np.isnan(means[:, d]).any()]
    distances = [d - found.reach for d in known]
    dark = st.context.theme.type == "dark"
    left, right = st.columns(2, gap="large")
    with left:
        st.plotly_chart(
            strips.strips(
                means[:, known],
                [str(head + 1) for head in range(heads)],
                [str(d) for d in distances],
                signed=True,
                digits=None,
                row_height=44,
                down="head",
                across="distance: key's place less query's",
                dark=dark,
            ),
            key=state.key("heads"),
            config=saved_as("atlas-distance-by-head"),
            alt=f"{TERMS[name]} by head and distance: blue raises the score, orange lowers it.",
        )
        st.caption("Blue raises the score of a key at that distance, orange lowers it.")
    with right:
        head = st.selectbox(
            "Head",
            list(range(1, heads + 1)),
            index=within(state, "Head", state.number("head", 1), 1, heads) - 1,
            key=state.key(f"head.{heads}"),
            width=90,
        )
        state.set(head=None if head == 1 else head)
        row = means[head - 1][known]
        line = depth.Line(f"head {head}", distances, row.tolist(), colour, spread=spreads[head - 1][known].tolist())
        st.plotly_chart(
            depth.curves([line], "added to the score", across="distance", dark=dark, markers=False, height=330),
            key=state.key("distance"),
            config=saved_as("atlas-distance"),
            alt=f"Head {head}: highest at distance {distances[int(row.argmax())]}, lowest at "
            f"{distances[int(row.argmin())]}.",
        )
        said = "; the band is one standard deviation over the pairs of the text" if kind != "t5" else ""
        st.caption(
            f"Head {head} adds most, {row.max():.2f}, at distance {distances[int(row.argmax())]} and least, "
            f"{row.min():.2f}, at {distances[int(row.argmin())]}{said}."
        )
        download_csv(
            Table.from_records(
                [
                    {"head": h + 1, "distance": d, "mean": f"{means[h, at]:.5f}", "deviation": f"{spreads[h, at]:.5f}"}
                    for h in range(heads)
                    for at, d in zip(known, distances, strict=True)
                ]
            ),
            "distance",
            state.key("csv.distance"),
        )


def _buckets(reach: int) -> None:
    with st.expander("Which distances share a bucket"):
        groups: dict[int, list[int]] = {}
        for distance in range(-max(reach, 128), max(reach, 128) + 1):
            groups.setdefault(t5_bucket(distance), []).append(distance)
        said = "; ".join(
            f"{bucket}: {ends[0]}" + (f" to {ends[-1]}" if len(ends) > 1 else "")
            for bucket, ends in sorted(groups.items())
        )
        told(
            "Bucket: distances, of an encoder with 32 buckets, the last of which begin before 128. With $B$ buckets on "
            "a side and $m$ the furthest distance, a distance $n \\ge B/2$ has the bucket below; nearer ones are their "
            "own."
        )
        st.latex(
            r"\min\Bigl(B - 1,\; \tfrac B2 + \Bigl\lfloor \frac{\ln(2n/B)}{\ln(2m/B)} \cdot \tfrac B2 "
            r"\Bigr\rfloor\Bigr)"
        )
        st.caption(said + ".")


def linear(view: VectorsView) -> None:
    """ALiBi's slopes; reads and writes heads."""
    state = view.state
    heads = st.select_slider(
        "Heads",
        list(range(1, 33)),
        value=min(32, state.number("heads", HEADS)),
        key=state.key("heads.linear"),
        width=320,
    )
    state.set(heads=None if heads == HEADS else heads)
    found = slopes(int(heads))
    distances = list(range(0, 65))
    dark = st.context.theme.type == "dark"
    shown = list(enumerate(found))
    if len(shown) > 8:
        shown = [shown[round(i * (len(shown) - 1) / 7)] for i in range(8)]
    lines = [
        depth.Line(
            f"head {h + 1}",
            [-d for d in distances],
            [-slope * d for d in distances],
            COLOURS[i % len(COLOURS)],
            _DASHES[i % len(_DASHES)],
        )
        for i, (h, slope) in enumerate(shown)
    ]
    st.plotly_chart(
        depth.curves(
            lines,
            "added to the score",
            across="distance: key's place less query's",
            dark=dark,
            markers=False,
            height=430,
        ),
        key=state.key("linear"),
        config=saved_as("atlas-alibi"),
        alt=f"What {heads} heads add to the score by distance: a straight line each, slopes {found[0]:.3g} to "
        f"{found[-1]:.3g}.",
    )
    st.caption("Slopes: " + ", ".join(f"{slope:.4g}" for slope in found) + ".")
    told(
        "**Try** another number of heads. **Notice** that nothing is learned: the first head sees only what is near, "
        "the last one almost everything, and texts longer than any in training meet the same lines."
    )
    st.latex(
        r"s_{ij} = q_i \cdot k_j / \sqrt d - m_h\,(i - j), \qquad m_h = 2^{-8h/H}, \quad h = 1, \dots, H, \quad j \le i"
    )
    told(
        "$s_{ij}$ is the score, $q_i$ a query and $k_j$ a key, $m_h$ is the slope of head $h$ of $H$, $i$ and $j$ are "
        "the places of query and key, $d$ is the width of a "
        "head. For a number of heads that is no power of two, those of the next smaller power stand first and every "
        "second one of the next larger fills up. No live model here has such slopes."
    )
    st.caption(
        "Press et al., Train Short, Test Long (2021, [arXiv 2108.12409](https://arxiv.org/abs/2108.12409)). *Read: "
        "notes on the paper by others, and the library's code of BLOOM, which has the same slopes (tested).*"
    )
    download_csv(
        Table.from_records([{"head": h + 1, "slope": f"{slope:.8f}"} for h, slope in enumerate(found)]),
        "alibi",
        state.key("csv.alibi"),
    )
