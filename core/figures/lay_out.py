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


def _merged(before: Mapping[str, Any], changed: Mapping[str, Any]) -> dict[str, Any]:
    both = dict(before)
    for name, value in changed.items():
        old = both.get(name)
        both[name] = _merged(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return both
