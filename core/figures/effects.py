"""What an answer loses without each head, as a grid, and held against how sharp the head looks."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from core.figures.attention import Theme, scale
from core.figures.lay_out import lay_out

if TYPE_CHECKING:
    import plotly.graph_objects as go

_TEXT = {"light": "#1a1f24", "dark": "#e8ecf0"}


def effect_grid(
    bits: NDArray[np.float32], off: Collection[tuple[int, int]], theme: Theme = "light", accent: str = "#767676"
) -> go.Figure:
    """Layers down, heads across; a cross on every head that is off. ``bits`` (L, H), ``off`` from 0.

    Invisible points take clicks: the point of (layer, head) has the index layer * H + head.
    """
    import plotly.graph_objects as go

    layers, heads = bits.shape
    x, y = [str(head + 1) for head in range(heads)], [str(layer + 1) for layer in range(layers)]
    figure = go.Figure(
        go.Heatmap(
            z=np.round(bits, 4),
            x=x,
            y=y,
            zmin=0.0,
            zmax=max(0.05, float(bits.max(initial=0.0))),
            colorscale=scale(theme),
            xgap=2,
            ygap=2,
            hoverinfo="skip",
            colorbar={
                "orientation": "h",
                "thickness": 10,
                "len": 0.6,
                "x": 0,
                "xanchor": "left",
                "y": 0,
                "yanchor": "top",
                "ypad": 14,
                "outlinewidth": 0,
                "nticks": 5,
                "title": {"text": "bits", "side": "right", "font": {"color": _TEXT[theme]}},
                "tickfont": {"color": _TEXT[theme]},
            },
        )
    )
    places = [(layer, head) for layer in range(layers) for head in range(heads)]
    figure.add_scatter(
        x=[x[head] for _, head in places],
        y=[y[layer] for layer, _ in places],
        mode="markers",
        marker={"size": 26, "symbol": "square", "opacity": 0.0},
        selected={"marker": {"opacity": 0.0}},
        unselected={"marker": {"opacity": 0.0}},
        text=[
            f"layer {layer + 1}, head {head + 1}: {float(bits[layer, head]):.3f} bits"
            + (", off" if (layer, head) in off else "")
            for layer, head in places
        ],
        hovertemplate="%{text}<br>click to switch it<extra></extra>",
        showlegend=False,
    )
    if off:
        figure.add_scatter(
            x=[x[head] for _, head in off],
            y=[y[layer] for layer, _ in off],
            mode="markers",
            hoverinfo="skip",
            marker={"symbol": "x-thin", "size": 15, "line": {"width": 4, "color": accent}},
            showlegend=False,
            selected={"marker": {"opacity": 1.0}},
            unselected={"marker": {"opacity": 1.0}},
        )
    lay_out(
        figure,
        xaxis={"title": "head", "side": "top", "type": "category", "fixedrange": True, "showgrid": False, "ticks": ""},
        yaxis={
            "title": "layer",
            "autorange": "reversed",
            "type": "category",
            "fixedrange": True,
            "showgrid": False,
            "ticks": "",
        },
        height=120 + 34 * layers,
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        dragmode=False,
        clickmode="event+select",
        font={"color": _TEXT[theme]},
    )
    return figure


def sharp_and_idle(
    names: Sequence[str], sharpness: Sequence[float], bits: Sequence[float], colour: str, theme: Theme = "light"
) -> go.Figure:
    """One dot a head: how sharply it looks, and what the answer loses without it (on a root scale)."""
    import plotly.graph_objects as go

    ink = _TEXT[theme]
    roots = np.sqrt(np.asarray(bits, dtype=np.float64))
    top = max(0.3, float(roots.max(initial=0.0)))
    ticks = [t for t in (0.0, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0) if t**0.5 <= top]
    figure = go.Figure(
        go.Scatter(
            x=list(sharpness),
            y=roots,
            mode="markers",
            marker={"size": 10, "color": colour, "opacity": 0.8},
            text=list(names),
            customdata=list(bits),
            hovertemplate="%{text}<br>sharpness %{x:.2f}, effect %{customdata:.3f} bits<extra></extra>",
        )
    )
    lay_out(
        figure,
        height=320,
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        font={"color": ink},
        dragmode=False,
        plot_bgcolor="rgba(0,0,0,0)",
        paper_bgcolor="rgba(0,0,0,0)",
        xaxis={"title": "sharpness of its attention", "range": [0, 1.03], "fixedrange": True, "zeroline": False},
        yaxis={
            "title": "bits lost without it",
            "tickmode": "array",
            "tickvals": [t**0.5 for t in ticks],
            "ticktext": [f"{t:g}" for t in ticks],
            "range": [-0.03 * top, 1.08 * top],
            "fixedrange": True,
            "zeroline": False,
        },
    )
    return figure
