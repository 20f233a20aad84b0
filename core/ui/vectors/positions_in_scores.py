"""Distances that are added to the scores: T5's biases, the vectors of DeBERTa and Transformer-XL, ALiBi's slopes."""

from __future__ import annotations

import numpy as np
import streamlit as st

from core import session
from core.figures.lines import Line, line_chart
from core.figures.vectors import strips
from core.table import Table
from core.ui.page import accent, theme
from core.ui.panel import Panel
from core.ui.param import Choice, Integer, Text
from core.ui.section import View
from core.ui.vectors.common import ASKED, model_of
from core.vectors.positions import TERMS, ByDistance, slopes, t5_bucket

PASSAGE = Text(
    name="passage",
    label="Text",
    default="The old king gave his daughter a golden ring, and she wore it every day until the winter came and the "
    "river froze.",
    most=400,
    width=320,
    help="Its length limits the distances; where the words take part in the score, these are the words",
)
TERM = Choice(name="term", label="Term", options={str(key): name for key, name in TERMS.items()}, width=210)
LEVEL = Integer(name="level", label="Layer", low=1, high=200, default=1, width=110)
HEAD = Integer(name="head", label="Head", low=1, high=256, default=1, width=110)
HEADS = Integer(name="heads", label="Heads", low=1, high=32, default=8, style="slider", width=320)
PARAMS = (PASSAGE, LEVEL, HEAD, TERM, HEADS)
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
_SCHEMES = {"xlnet": "xlnet", "transformer-xl": "xlnet", "deberta": "deberta-v2", "deberta-v2": "deberta-v2"}


def relative(view: View) -> None:
    """The distance terms of live scores.

    Raises:
        AtlasError: what was typed, or the model, does not allow it.
    """
    state = view.state
    param = ASKED.with_(fits=lambda spec: spec.offers("relative positions"), first="vectors-distances")
    if not param.offered():
        view.note("Not here: relative")
        return
    row = st.container(horizontal=True, vertical_alignment="bottom")
    with row:
        spec = model_of(state, param)
        passage = PASSAGE.draw(state, tag="relative")
    with st.spinner("Running the model"):
        terms = session.distance_terms(spec.slug, passage)
    scheme = _SCHEMES.get(spec.architecture or "", "t5")
    with row:
        names = {name: TERMS[name] for name in terms}
        name = next(iter(names))
        if len(names) > 1:
            name = TERM.with_(options=names, default=name).draw(state, tag=spec.slug)
        found = terms[name]
        layer = 1
        if scheme != "t5":
            layer = LEVEL.with_(high=len(found.means)).draw(state, tag=spec.slug)
    _bias_by_distance(view, found, layer - 1, TERMS[name], accent(spec.branch), scheme)
    view.try_and_notice("relative")
    view.say(f"How it works: {scheme}")
    view.note("Shown")
    if scheme == "t5":
        _buckets(view, found.reach)


def _bias_by_distance(view: View, found: ByDistance, layer: int, title: str, color: str, scheme: str) -> None:
    means, spreads = found.means[layer], found.spreads[layer]
    heads = len(means)
    known = [d for d in range(means.shape[1]) if not np.isnan(means[:, d]).any()]
    distances = [d - found.reach for d in known]
    left, right = st.columns(2, gap="large")
    with left:
        Panel(
            "distance-by-head",
            f"{title} by head and distance",
            strips(
                means[:, known],
                [str(head + 1) for head in range(heads)],
                [str(d) for d in distances],
                signed=True,
                digits=None,
                row_height=44,
                down="head",
                across="distance: key position minus query position",
                theme=theme(),
            ),
            f"{title} by head and distance: blue raises the score, orange lowers it.",
            Table.from_columns(
                {
                    "head": np.repeat(range(1, heads + 1), len(known)),
                    "distance": np.tile(distances, heads),
                    "mean": means[:, known].ravel(),
                    "standard deviation": spreads[:, known].ravel(),
                }
            ),
            note=view.words.part("Bias"),
        ).draw(view.state)
    with right:
        head = HEAD.with_(high=heads).draw(view.state, tag=str(heads))
        row, spread = means[head - 1][known], spreads[head - 1][known]
        high, low = distances[int(row.argmax())], distances[int(row.argmin())]
        band = "; the band is one standard deviation over the pairs of the text" if scheme != "t5" else ""
        line = Line(f"head {head}", distances, row.tolist(), color, spread=spread.tolist())
        Panel(
            "distance",
            f"Head {head} by distance",
            line_chart([line], "added to the score", across="distance", theme=theme(), markers=False, height=330),
            f"Head {head}: highest at distance {high}, lowest at {low}.",
            Table.from_columns({"distance": distances, "mean": row, "standard deviation": spread}),
            note=f"Head {head} adds most, {row.max():.2f}, at distance {high} and least, {row.min():.2f}, at {low}"
            f"{band}.",
        ).draw(view.state)


def _buckets(view: View, reach: int) -> None:
    with st.expander("Distance buckets"):
        groups: dict[int, list[int]] = {}
        for distance in range(-max(reach, 128), max(reach, 128) + 1):
            groups.setdefault(t5_bucket(distance), []).append(distance)
        view.say("Buckets")
        st.caption(
            "; ".join(
                f"{bucket}: {ends[0]}" + (f" to {ends[-1]}" if len(ends) > 1 else "")
                for bucket, ends in sorted(groups.items())
            )
            + "."
        )


def alibi(view: View) -> None:
    """ALiBi's slopes."""
    heads = HEADS.draw(view.state)
    found = slopes(heads)
    distances = list(range(0, 65))
    shown = list(enumerate(found))
    if len(shown) > 8:
        shown = [shown[round(i * (len(shown) - 1) / 7)] for i in range(8)]
    lines = [
        Line(
            f"head {h + 1}",
            [-d for d in distances],
            [-slope * d for d in distances],
            theme().categorical[i % len(theme().categorical)],
            _DASHES[i % len(_DASHES)],
        )
        for i, (h, slope) in enumerate(shown)
    ]
    across = "distance: key position minus query position"
    Panel(
        "alibi",
        "ALiBi's biases by distance",
        line_chart(lines, "added to the score", across=across, theme=theme(), markers=False, height=430),
        f"What {heads} heads add to the score by distance: a straight line each, slopes {found[0]:.3g} to "
        f"{found[-1]:.3g}.",
        Table.from_columns({"head": range(1, heads + 1), "slope": found}),
        note="Slopes: " + ", ".join(f"{slope:.4g}" for slope in found) + ".",
    ).draw(view.state)
    view.try_and_notice("linear")
    view.say("How it works: linear")
