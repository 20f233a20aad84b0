"""Pictures of costs: bytes on a device as stacked bars, and what a cache grows to with the length of a text.

A part has its color and its hatching in every picture; a memory is a line that bars stay below or cross.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING

from core.figures.heatmap import ink_on
from core.figures.labels import label
from core.figures.lines import Line, line_chart
from core.figures.numbers import in_bytes
from core.figures.plot import DASHES, ROWS, figure, note, scatter, title, upright
from core.theme import FILLS, Theme

if TYPE_CHECKING:
    import plotly.graph_objects as go

PARTS: dict[str, tuple[str, str]] = {
    "weights": (FILLS[0], ""),
    "gradients": (FILLS[1], "/"),
    "optimizer": (FILLS[2], ""),
    "activations": (FILLS[5], "."),
    "key-value cache": (FILLS[6], "\\"),
    "in all": (FILLS[1], ""),
}
"""Color and hatching of each part."""
_WRAP = 19
"""Characters of a label's line."""
_EDGE = {"width": 0.5, "color": "rgba(128,128,128,0.6)"}


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: its label and its parts in bytes."""

    label: str
    parts: tuple[tuple[str, float], ...]
    chosen: bool = False

    @property
    def total(self) -> float:
        """The whole bar."""
        return sum(amount for _, amount in self.parts)


def held_bars(bars: Sequence[Bar], limit: float | None = None, *, limit_name: str = "", theme: Theme) -> go.Figure:
    """Stacked bars of bytes; a dashed line at ``limit`` bytes where there is one. The chosen bar's label is bold."""
    # long labels wrap, so that bars keep their room on a telephone
    wrapped = ["<br>".join(map(label, wrap(bar.label, _WRAP))) for bar in bars]
    labels = [f"<b>{text}</b>" if bar.chosen else text for text, bar in zip(wrapped, bars, strict=True)]
    tallest = max((text.count("<br>") for text in wrapped), default=0)
    traces = []
    for part, (color, hatch) in PARTS.items():
        amounts = [dict(bar.parts).get(part, 0.0) for bar in bars]
        if not any(amounts):
            continue
        pattern = {"shape": hatch, "fillmode": "overlay", "fgcolor": ink_on(color), "fgopacity": 0.35, "size": 6}
        traces.append(
            {
                "type": "bar",
                "name": part,
                "orientation": "h",
                "y": labels,
                "x": [amount / 1e9 for amount in amounts],
                "marker": {"color": color, "pattern": pattern, "line": _EDGE},
                "customdata": [in_bytes(amount) for amount in amounts],
                "hovertemplate": "%{y}<br>" + part + ": %{customdata}<extra></extra>",
            }
        )
    # the legend begins a fixed number of pixels below the plot, whatever the plot's height, with two entries a row
    rows = math.ceil(len(traces) / 2)
    above, plot, below = 30 if limit else 10, 54 + (42 + 20 * max(0, tallest - 1)) * max(2, len(bars)), 56 + 22 * rows
    longest = max([bar.total for bar in bars] + ([limit] if limit else []), default=1.0) / 1e9
    totals = scatter(
        [bar.total / 1e9 for bar in bars],
        labels,
        "text",
        text=[f" {in_bytes(bar.total)}" for bar in bars],
        textposition="middle right",
        hoverinfo="skip",
        showlegend=False,
    )
    shapes, notes = [], []
    if limit:
        at, side = limit / 1e9, "right" if limit / 1e9 > 0.6 * longest else "left"
        shapes.append(upright(at, color=theme.ink, width=2, dash="dash"))
        name = label(limit_name)
        notes.append(note(name, at, 1, yref="paper", yanchor="bottom", font={"size": 12}, xanchor=side))
    return figure(
        theme,
        [*traces, totals],
        shapes=shapes,
        annotations=notes,
        xaxis={**title("GB on one device"), "range": [0, 1.28 * longest], "showgrid": True},
        yaxis=ROWS,
        barmode="stack",
        bargap=0.35,
        height=above + plot + below,
        margin={"r": 16, "t": above, "b": below},
        showlegend=True,
        legend={"yanchor": "top", "y": -52 / plot},
    )


def held_alt(bars: Sequence[Bar], limit: float | None = None) -> str:
    """The bars in words, for screen readers."""
    said = "; ".join(f"{bar.label}: {in_bytes(bar.total)}" for bar in bars)
    return f"Bytes on one device. {said}." + (f" The line stands at {in_bytes(limit)}." if limit else "")


def held_rows(bars: Sequence[Bar]) -> list[dict[str, object]]:
    """The bars as rows of bytes: what, each part, in all."""
    shown = [part for part in PARTS if any(dict(bar.parts).get(part) for bar in bars)]
    return [
        {
            "What": bar.label,
            **{f"{part}, bytes": round(dict(bar.parts).get(part, 0)) for part in shown},
            "in all, bytes": round(bar.total),
        }
        for bar in bars
    ]


@dataclass(frozen=True, slots=True)
class Growth:
    """One line: a model, and bytes at each of the lengths."""

    name: str
    lengths: tuple[int, ...]
    bytes: tuple[float, ...]


def cache_lines(lines: Sequence[Growth], at: int, *, theme: Theme) -> go.Figure:
    """Bytes over the length of a text, both on logarithmic scales; a line at the length that is asked for."""
    colors = (*theme.categorical, FILLS[6])
    drawn = [
        Line(
            line.name,
            line.lengths,
            [max(1.0, value) for value in line.bytes],
            colors[number % len(colors)],
            DASHES[number % len(DASHES)],
            words=[in_bytes(value) for value in line.bytes],
        )
        for number, line in enumerate(lines)
    ]
    top = max((value for line in lines for value in line.bytes), default=1e9)
    low = min((value for line in lines for value in line.bytes), default=1e3)
    ticks = [10.0**power for power in range(3, 16) if low / 10 <= 10.0**power <= top * 10]
    named = {"tickvals": ticks, "ticktext": [in_bytes(tick).replace(".00", "").replace(".0", "") for tick in ticks]}
    return line_chart(
        drawn,
        "key-value cache",
        across="tokens of the text",
        hover="%{x:,} tokens: %{customdata}",
        at=at,
        xaxis={"type": "log", "dtick": 1, "tickformat": "~s", "tickangle": 0},
        yaxis={"type": "log", **named},
        height=430,
        margin={"r": 16, "t": 12},
        legend={"yanchor": "top", "y": -0.24},
        showlegend=True,
        theme=theme,
    )


def hours_bars(
    names: Sequence[str], hours: Sequence[float], said: Sequence[str], chosen: str, *, theme: Theme
) -> go.Figure:
    """Hours by device as bars; the chosen one is dark and its name bold."""
    bar = {
        "type": "bar",
        "orientation": "h",
        "x": list(hours),
        "y": [f"<b>{label(name)}</b>" if name == chosen else label(name) for name in names],
        "text": list(said),
        "textposition": "outside",
        "hovertemplate": "%{y}: %{text}<extra></extra>",
        "marker": {"color": [FILLS[0] if name == chosen else FILLS[1] for name in names]},
    }
    return figure(
        theme,
        [bar],
        xaxis={**title("hours"), "range": [0, 1.25 * max(hours, default=1)], "showgrid": True},
        yaxis=ROWS,
        height=110 + 30 * max(2, len(names)),
        margin={"r": 24},
        bargap=0.35,
    )
