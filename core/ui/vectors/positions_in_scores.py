"""Position terms of attention scores: T5's biases, DeBERTa's vectors, Transformer-XL's four terms, ALiBi's slopes."""

from __future__ import annotations

import numpy as np
import streamlit as st

from core import session
from core.attention.disentangled import ScoreComponents
from core.checkpoints.spec import Feature
from core.figures.lines import Line
from core.figures.vectors import score_sum
from core.table import Table
from core.ui.page import accent, theme
from core.ui.panel import Panel
from core.ui.param import Choice, Integer, Text
from core.ui.section import View
from core.ui.vectors.common import ACROSS, DASHES, MODEL_OF_KIND, line_panel, model_of, signed_strips
from core.vectors.positions import TERMS, ByDistance, distance_terms, first_segment, score_terms, slopes, t5_bucket

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
_SCHEMES: dict[Feature, str] = {"disentangled attention": "deberta-v2", "two streams": "xlnet", "memory": "xlnet"}


def relative(view: View) -> None:
    """Draw the relative-position terms of a live model's scores.

    Raises:
        AtlasError: the input does not fit the model.
    """
    state = view.state
    param = MODEL_OF_KIND.with_(needs=("relative positions",), first="vectors-distances")
    if not param.offered():
        view.note("Not here: relative")
        return
    row = st.container(horizontal=True, vertical_alignment="bottom")
    with row:
        spec = model_of(state, param)
        scheme = next(iter(spec.entries(_SCHEMES)), "t5")
        twice = {"default": view.words.label("twice"), "width": 225} if scheme == "xlnet" else {}
        passage = PASSAGE.with_(**twice).draw(state, tag=f"relative.{scheme}")
    terms = session.computed("running-the-model", distance_terms, spec.slug, passage)
    with row:
        names = {name: TERMS[name] for name in terms}
        name = next(iter(names))
        if len(names) > 1:
            name = TERM.with_(options=names, default=name).draw(state, tag=spec.slug)
        by_distance = terms[name]
        layer = 1
        if scheme != "t5":
            first = min(2 if scheme == "xlnet" else 1, len(by_distance.means))
            layer = LEVEL.with_(high=len(by_distance.means), default=first).draw(state, tag=spec.slug)
        heads = by_distance.means.shape[1]
        head = HEAD.with_(high=heads, default=min(3 if scheme == "xlnet" else 1, heads)).draw(state, tag=spec.slug)
    if scheme == "xlnet":
        parts = session.computed("running-the-model", score_terms, spec.slug, passage)
        _four_terms(view, parts, layer, head, memory=spec.offers("memory"))
    _bias_by_distance(view, by_distance, layer - 1, head, TERMS[name], accent(spec.branch), scheme)
    if scheme != "xlnet":
        view.try_and_notice("relative")
    view.note("Shown")
    view.how_it_works(f"How it works: {scheme}")
    if scheme == "t5":
        _buckets(view, by_distance.reach)


def _four_terms(view: View, parts: ScoreComponents, layer: int, head: int, *, memory: bool) -> None:
    """Draw Transformer-XL's four terms of a head's scores and their sum, side by side on one scale."""
    terms = parts.scores[layer - 1, :, head - 1]
    maps = dict(zip(view.words.front["terms"], (*terms, terms.sum(axis=0)), strict=True))
    names = [name.replace("\n", " ") for name in maps]
    low, high = np.nanmin(terms, axis=(1, 2)), np.nanmax(terms, axis=(1, 2))
    ranges = ", ".join(f"{name} {a:.2f} to {b:.2f}" for name, a, b in zip(names, low, high, strict=False))
    queries, keys = np.nonzero(np.isfinite(terms[0]))
    labels = np.array([f"{i} {token}" for i, token in enumerate(parts.tokens, 1)])
    columns = {"query": labels[queries], "key": labels[keys], "distance": keys - queries}
    remembered = first_segment(len(labels)) if memory else 0
    if memory:
        columns["key in memory"] = np.where((keys < remembered) & (queries >= remembered), "yes", "no")
    columns |= {name: values[queries, keys] for name, values in zip(names, maps.values(), strict=True)}
    columns["weight"] = parts.weights[layer - 1, head - 1][queries, keys]
    Panel(
        "four-terms",
        view.words.label("four"),
        score_sum(maps, parts.tokens, remembered, theme=theme()),
        view.words.part("Terms: alt", layer=layer, head=head, tokens=len(parts.tokens), ranges=ranges),
        Table.from_columns(columns),
        note=view.words.part("Memory", tokens=remembered) if memory else "",
        width=880,
    ).draw(view.state)
    for column, part in zip(st.columns(5), ("Content", "Position", "Content bias", "Position bias"), strict=False):
        with column:
            view.note(part)
    spreads = zip(names, np.nanstd(terms, axis=(1, 2)), strict=False)
    view.try_and_notice("xlnet", spreads=", ".join(f"{name[:3]} {spread:.2f}" for name, spread in spreads))


def _bias_by_distance(
    view: View, by_distance: ByDistance, layer: int, head: int, title: str, color: str, scheme: str
) -> None:
    means, spreads = by_distance.means[layer], by_distance.spreads[layer]
    heads = len(means)
    present = [d for d in range(means.shape[1]) if not np.isnan(means[:, d]).any()]
    distances = [d - by_distance.reach for d in present]
    left, right = st.columns(2, gap="large")
    with left:
        Panel(
            "distance-by-head",
            f"{title} by head and distance",
            signed_strips(
                means[:, present],
                [str(head + 1) for head in range(heads)],
                [str(d) for d in distances],
                row_height=44,
                down="head",
                across=ACROSS,
            ),
            f"{title} by head and distance: {view.words.part('Bias')}",
            Table.from_columns(
                {
                    "head": np.repeat(range(1, heads + 1), len(present)),
                    "distance": np.tile(distances, heads),
                    "mean": means[:, present].ravel(),
                    "standard deviation": spreads[:, present].ravel(),
                }
            ),
            note=view.words.part("Bias"),
        ).draw(view.state)
    with right:
        row, spread = means[head - 1][present], spreads[head - 1][present]
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
