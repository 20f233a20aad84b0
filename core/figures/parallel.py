"""A layer split among devices as a figure: devices are rows, work goes from left to right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.figures.bars import row_axis
from core.figures.labels import label
from core.figures.plot import Json, figure, note
from core.lazy import go
from core.theme import BLACK, PURPLE, SMALL, Theme


@dataclass(frozen=True, slots=True)
class LayerStep:
    """A column of the picture of a split layer."""

    name: str
    each: Sequence[str]
    """What each device computes; empty for an all-reduce."""
    joined: str = ""
    """What an all-reduce exchanges."""


def split_layer(steps: Sequence[LayerStep], devices: int, *, theme: Theme) -> go.Figure:
    """Steps from left to right, devices from top to bottom; an all-reduce is one bar over all devices."""
    shapes: list[Json] = []
    notes: list[Json] = []
    room = [1.0 if step.each else 0.7 for step in steps]
    middles = [sum(room[:x]) + size / 2 for x, size in enumerate(room)]
    for x, step in zip(middles, steps, strict=True):
        notes.append(note(_lines(step.name), x, -0.62, yanchor="bottom", font={"size": SMALL}))
        reduced = not step.each
        for row in [None] if reduced else range(devices):
            top, bottom = (-0.4, devices - 0.6) if row is None else (row - 0.36, row + 0.36)
            width = 0.28 if reduced else 0.46
            shapes.append(
                {
                    "type": "rect",
                    **{"x0": x - width, "x1": x + width, "y0": top, "y1": bottom},
                    "line": {"width": 1.5, "color": PURPLE if reduced else theme.muted},
                    "fillcolor": PURPLE if reduced else theme.ground,
                    "opacity": 0.85 if reduced else 1,
                    "layer": "below",
                }
            )
            if row is not None:
                notes.append(note(_lines(step.each[row]), x, row))
        if reduced:
            style = {"font": {"size": SMALL, "color": BLACK}, "textangle": -90}
            notes.append(note(label(step.joined), x, (devices - 1) / 2, **style))
    return figure(
        theme,
        [{"type": "scatter", "x": [0, sum(room)], "y": [0, devices - 1], "mode": "none", "hoverinfo": "skip"}],
        height=106 + max(150, 62 * devices),
        margin={"t": 46},
        showlegend=False,
        shapes=shapes,
        annotations=notes,
        xaxis={"range": [0, sum(room)], "visible": False},
        yaxis=row_axis([f"device {row + 1}" for row in range(devices)]) | {"range": [devices - 0.45, -0.62]},
    )


def _lines(text: str) -> str:
    return label(text).replace("\n", "<br>")
