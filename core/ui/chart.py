"""Charts on pages: plotly's figures on our own templates, which Streamlit's would override."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

if TYPE_CHECKING:
    import plotly.graph_objects as go


def chart(figure: go.Figure, *, key: str, alt: str, config: dict[str, Any] | None = None, **select: Any) -> Any:
    """Draw ``figure``; what is selected in it, if ``on_select`` is given.

    Args:
        alt: what it shows, for those who cannot see it.
        config: plotly's, by default without its bar of buttons.
    """
    return st.plotly_chart(figure, theme=None, key=key, alt=alt, config=config or {"displayModeBar": False}, **select)
