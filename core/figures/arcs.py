"""Links between the words of a sentence, as arcs over it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from core.figures.labels import label
from core.figures.plot import figure, scatter
from core.lazy import go
from core.theme import LABEL, MONO, Theme

Kind = Literal["right", "wrong", "link"]
_LETTER = 9.2
"""Pixels of a letter under the arcs."""
_GAP = 2
"""Letters between two words."""
_POINTS = 25


@dataclass(frozen=True, slots=True)
class Arc:
    """A link between two words, from 0."""

    query: int
    key: int
    weight: float
    """The attention weight, from 0 to 1."""
    kind: Kind
    """Of a relation, whether the key is the right one."""


def width_of(words: Sequence[str]) -> int:
    """The pixels that a sentence needs."""
    return round(_LETTER * sum(len(word) + _GAP for word in words)) + 60


def arcs(
    words: Sequence[str], links: Sequence[Arc], names: Mapping[Kind, str], color: str, *, theme: Theme
) -> go.Figure:
    """An arc from each query to its key, where a triangle stands: the larger the weight, the thicker."""
    ends = np.cumsum([len(word) + _GAP for word in words])
    centers = [float(end) - (len(word) + _GAP) / 2 for end, word in zip(ends, words, strict=True)]
    looks = {
        "right": {"color": color, "dash": "solid"},
        "wrong": {"color": theme.muted, "dash": "dot"},
        "link": {"color": color, "dash": "solid"},
    }
    along = np.linspace(0, 1, _POINTS)
    traces, named = [], set[Kind]()
    for link in links:
        start, end = centers[link.query], centers[link.key]
        height = abs(link.query - link.key) ** 0.7
        text = f"{label(words[link.query])} → {label(words[link.key])}: {link.weight:.2f}, {names[link.kind]}"
        traces.append(
            scatter(
                (start + (end - start) * along).tolist(),
                (4 * height * along * (1 - along)).tolist(),
                "lines+markers",
                name=names[link.kind],
                legendgroup=link.kind,
                showlegend=link.kind not in named,
                line={"width": 1 + 7 * link.weight, **looks[link.kind]},
                marker={
                    "symbol": "triangle-down",
                    "size": [0] * (_POINTS - 1) + [11],
                    "opacity": 1,
                    "color": looks[link.kind]["color"],
                },
                hovertemplate=f"{text}<extra></extra>",
            )
        )
        named.add(link.kind)
    highest = max((abs(link.query - link.key) ** 0.7 for link in links), default=1.0)
    return figure(
        theme,
        traces,
        height=120 + round(34 * highest),
        margin={"l": 8, "r": 8, "t": 8},
        hovermode="closest",
        xaxis={
            "range": [0, float(ends[-1])],
            "tickvals": centers,
            "ticktext": [label(word) for word in words],
            "tickangle": 0,
            "tickfont": {"family": MONO, "size": LABEL},
            "showgrid": False,
            "zeroline": False,
        },
        yaxis={"visible": False, "range": [-0.1, 1.08 * highest]},
    )
