"""A figure's layout in one assignment: what ``update_layout`` gives, in a quarter of its time.

``update_layout`` checks and reports every single value. A page draws up to a dozen charts while its reader waits, so
the dictionaries are merged here first, and plotly checks the result once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import plotly.graph_objects as go


def lay_out(figure: go.Figure, **layout: Any) -> None:
    """Set what is given of a figure's layout and keep the rest of it; within an axis, a font and the like as well."""
    before = figure.layout.to_plotly_json()
    before.pop("template", None)  # plotly puts its usual one in again; no figure here has another
    figure.layout = _merged(before, layout)


def upright(x: float, *, row: int = 1, **looks: Any) -> dict[str, Any]:
    """A line at ``x`` through the whole height of a chart, as a shape for :func:`lay_out`.

    ``add_vline`` gives the same, and looks through all that the chart holds for each of its lines. In a column of
    charts with one axis across, ``row`` says through which; it counts from 1, from the top.
    """
    axis = "" if row == 1 else str(row)
    return {"type": "line", "x0": x, "x1": x, "y0": 0, "y1": 1, "xref": f"x{axis}", "yref": f"y{axis} domain", **looks}


def level(y: float, **looks: Any) -> dict[str, Any]:
    """A line at ``y`` through the whole width of a chart, as ``add_hline`` gives it."""
    return {"type": "line", "x0": 0, "x1": 1, "y0": y, "y1": y, "xref": "x domain", "yref": "y", **looks}


def band(x0: float, x1: float, **looks: Any) -> dict[str, Any]:
    """The ground from ``x0`` to ``x1`` through the whole height of a chart, as ``add_vrect`` gives it."""
    return {"type": "rect", "x0": x0, "x1": x1, "y0": 0, "y1": 1, "xref": "x", "yref": "y domain", **looks}


def _merged(before: Mapping[str, Any], changed: Mapping[str, Any]) -> dict[str, Any]:
    both = dict(before)
    for name, value in changed.items():
        old = both.get(name)
        both[name] = _merged(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return both
