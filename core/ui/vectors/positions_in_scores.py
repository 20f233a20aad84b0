"""Position terms of attention scores: T5's biases, the vectors of DeBERTa and Transformer-XL, ALiBi's slopes."""

from __future__ import annotations

import numpy as np
import streamlit as st

from core import session
from core.checkpoints.families.architectures import Trait
from core.figures.lines import Line
from core.table import Table
from core.ui.page import accent, theme
from core.ui.panel import Panel
from core.ui.param import Choice, Integer, Text
from core.ui.section import View
from core.ui.vectors.common import ACROSS, DASHES, MODEL_OF_KIND, line_panel, model_of, signed_strips
from core.vectors.positions import TERMS, ByDistance, distance_terms, slopes, t5_bucket

PASSAGE = Text(
    name="passage",
    label="Text",
    default="The old king gave his daughter a golden ring, and she wore it every day until the winter came and the "
    "river froze.",
    most=400,
    width=320,
)
TERM = Choice(name="term", label="Term", options={str(key): name for key, name in TERMS.items()}, width=210)
LEVEL = Integer(name="level", label="Layer", low=1, high=200, default=1, width=110)
HEAD = Integer(name="head", label="Head", low=1, high=256, default=1, width=110)
HEADS = Integer(name="heads", label="Heads", low=1, high=32, default=8, style="slider", width=320)
PARAMS = (PASSAGE, LEVEL, HEAD, TERM, HEADS)
_SCHEMES: dict[Trait, str] = {"disentangled attention": "deberta-v2", "two streams": "xlnet", "memory": "xlnet"}


def relative(view: View) -> None:
    """Draw the relative-position terms of a live model's scores.

    Raises:
        AtlasError: the input does not fit the model.
    """
    state = view.state
    param = MODEL_OF_KIND.with_(fits=lambda spec: spec.offers("relative positions"), first="vectors-distances")
    if not param.offered():
        view.note("Not here: relative")
        return
    row = st.container(horizontal=True, vertical_alignment="bottom")
    with row:
        spec = model_of(state, param)
        passage = PASSAGE.draw(state, tag="relative")
    terms = session.computed("running-the-model", distance_terms, spec.slug, passage)
    scheme = next((scheme for trait, scheme in _SCHEMES.items() if spec.offers(trait)), "t5")
    with row:
        names = {name: TERMS[name] for name in terms}
        name = next(iter(names))
        if len(names) > 1:
            name = TERM.with_(options=names, default=name).draw(state, tag=spec.slug)
        by_distance = terms[name]
        layer = 1
        if scheme != "t5":
            layer = LEVEL.with_(high=len(by_distance.means)).draw(state, tag=spec.slug)
    _bias_by_distance(view, by_distance, layer - 1, TERMS[name], accent(spec.branch), scheme)
    view.try_and_notice("relative")
    view.note("Shown")
    view.how_it_works(f"How it works: {scheme}")
    if scheme == "t5":
        _buckets(view, by_distance.reach)


def _bias_by_distance(view: View, by_distance: ByDistance, layer: int, title: str, color: str, scheme: str) -> None:
    means, spreads = by_distance.means[layer], by_distance.spreads[layer]
    heads = len(means)
    known = [d for d in range(means.shape[1]) if not np.isnan(means[:, d]).any()]
    distances = [d - by_distance.reach for d in known]
    left, right = st.columns(2, gap="large")
    with left:
        Panel(
            "distance-by-head",
            f"{title} by head and distance",
            signed_strips(
                means[:, known],
                [str(head + 1) for head in range(heads)],
                [str(d) for d in distances],
                row_height=44,
                down="head",
                across=ACROSS,
            ),
            f"{title} by head and distance: {view.words.part('Bias')}",
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
        note = view.words.part("Head", head=head, most=f"{row.max():.2f}", high=high, least=f"{row.min():.2f}", low=low)
        line_panel(
            view,
            "distance",
            f"Head {head} by distance",
            [Line(f"head {head}", distances, row.tolist(), color, spread=spread.tolist())],
            "added to the score",
            {"distance": distances, "mean": row, "standard deviation": spread},
            note,
            note if scheme == "t5" else f"{note} {view.words.part('Band')}",
            height=330,
        )


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
    by_head = slopes(heads)
    shown = sorted({round(i * (heads - 1) / 7) for i in range(8)})
    colors = theme().categorical
    lines = [
        Line(
            f"head {head + 1}",
            list(range(-64, 1)),
            [by_head[head] * distance for distance in range(-64, 1)],
            colors[i % len(colors)],
            DASHES[i % len(DASHES)],
        )
        for i, head in enumerate(shown)
    ]
    line_panel(
        view,
        "alibi",
        view.words.label("alibi"),
        lines,
        "added to the score",
        {"head": range(1, heads + 1), "slope": by_head},
        view.words.part("ALiBi: alt", heads=heads, first=f"{by_head[0]:.3g}", last=f"{by_head[-1]:.3g}"),
        f"Slopes: {', '.join(f'{slope:.4g}' for slope in by_head)}.",
    )
    view.try_and_notice("linear")
    view.how_it_works("How it works: linear")
