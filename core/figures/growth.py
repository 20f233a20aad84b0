"""Milliseconds for a token over the length of the text before it, with the cache and without."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from core.figures.lay_out import lay_out

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from core.efficiency.growth import Point


def growth_lines(points: Sequence[Point], most: int, colour: str, *, dark: bool = False) -> go.Figure:
    """Medians as lines that differ by dash and marker, the fastest and slowest turn as thin bars."""
    import plotly.graph_objects as go

    ink = "#E8ECF0" if dark else "#1A1F24"
    figure = go.Figure()
    for name, dash, symbol, line, values, ranges in (
        ("without the cache", "dash", "square", ink, [p.whole for p in points], [p.whole_range for p in points]),
        ("with the cache", "solid", "circle", colour, [p.cached for p in points], [p.cached_range for p in points]),
    ):
        figure.add_scatter(
            x=[p.tokens for p in points],
            y=[1000 * v for v in values],
            name=name,
            mode="lines+markers",
            line={"color": line, "dash": dash, "width": 2.5},
            marker={"symbol": symbol, "size": 9, "color": line},
            error_y={
                "type": "data",
                "symmetric": False,
                "thickness": 1,
                "width": 3,
                "color": line,
                "array": [1000 * (high - v) for v, (_, high) in zip(values, ranges, strict=True)],
                "arrayminus": [1000 * (v - low) for v, (low, _) in zip(values, ranges, strict=True)],
            },
            hovertemplate="after %{x} tokens: %{y:.1f} ms<extra>" + name + "</extra>",
            cliponaxis=False,
        )
    top = max([1000 * max(p.whole, p.cached) for p in points], default=1.0)
    lay_out(
        figure,
        height=380,
        margin={"l": 0, "r": 10, "t": 34, "b": 44},
        dragmode=False,
        font={"color": ink},
        plot_bgcolor="rgba(0,0,0,0)",
        paper_bgcolor="rgba(0,0,0,0)",
        legend={"orientation": "h", "y": 1.12, "x": 0, "font": {"color": ink}},
        xaxis={
            "title": {"text": "tokens before it", "font": {"color": ink}},
            "range": [0, most * 1.02],
            "fixedrange": True,
            "tickfont": {"color": ink},
            "gridcolor": "rgba(128,128,128,0.25)",
            "zeroline": False,
        },
        yaxis={
            "title": {"text": "milliseconds for one token", "font": {"color": ink}},
            "range": [0, 1.35 * top],
            "fixedrange": True,
            "tickfont": {"color": ink},
            "gridcolor": "rgba(128,128,128,0.25)",
            "automargin": True,
        },
    )
    return figure


def growth_alt(points: Sequence[Point]) -> str:
    """The lines in a few sentences."""
    if not points:
        return "Milliseconds for one token, with the cache and without: nothing is measured yet."
    said = "; ".join(f"after {p.tokens} tokens {1000 * p.cached:.1f} and {1000 * p.whole:.1f} ms" for p in points)
    return f"Milliseconds for one token with the cache and without it: {said}."
