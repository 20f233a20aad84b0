"""A layout that is assigned is the one that plotly's own update gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import plotly.graph_objects as go
import pytest
from plotly.subplots import make_subplots

from core.figures.lay_out import band, lay_out, level, upright


def plain() -> go.Figure:
    return go.Figure(go.Scatter(y=[1, 2]))


def with_axes() -> go.Figure:
    figure = go.Figure(go.Bar(y=[1, 2]))
    figure.update_xaxes(title_text="before", showgrid=False)
    figure.add_annotation(x=0, y=0, text="kept")
    figure.add_vline(x=1)
    return figure


def two_plots() -> go.Figure:
    figure = make_subplots(1, 2, subplot_titles=("left", "right"), shared_yaxes=True)
    figure.add_scatter(y=[1, 2], row=1, col=2)
    return figure


LAYOUTS: tuple[dict[str, Any], ...] = (
    {"height": 300, "margin": {"l": 8}, "xaxis": {"title": {"text": "new", "standoff": 4}, "range": [0, 3]}},
    {"xaxis_showgrid": True, "legend": {"orientation": "h", "title_text": "key"}, "font": {"color": "#123456"}},
)


@pytest.mark.parametrize("layout", LAYOUTS, ids=("nested", "underscores"))
@pytest.mark.parametrize("made", [plain, with_axes, two_plots])
def test_it_is_what_update_layout_gives(made: Callable[[], go.Figure], layout: dict[str, Any]) -> None:
    figure, usual = made(), made()
    lay_out(figure, **layout)
    usual.update_layout(**layout)
    assert figure.to_dict() == usual.to_dict()
    lay_out(figure, width=200)
    usual.update_layout(width=200)
    figure.update_xaxes(title_text="after")
    usual.update_xaxes(title_text="after")
    assert figure.to_dict() == usual.to_dict()


def test_what_plotly_does_not_know_is_refused() -> None:
    with pytest.raises(ValueError, match="heigth"):
        lay_out(plain(), heigth=200)


@pytest.mark.parametrize("made", [plain, with_axes])
def test_lines_and_bands_are_those_that_plotly_draws(made: Callable[[], go.Figure]) -> None:
    figure, usual = made(), made()
    before = list(figure.layout.shapes)
    looks = {"line": {"color": "#123456", "width": 2, "dash": "dot"}}
    lay_out(figure, shapes=[*before, upright(0.5, **looks), level(1.5, **looks), band(0, 1, opacity=0.2)])
    usual.add_vline(x=0.5, **looks)
    usual.add_hline(y=1.5, **looks)
    usual.add_vrect(x0=0, x1=1, opacity=0.2)
    assert figure.to_dict() == usual.to_dict()


def test_a_line_through_each_of_several_charts() -> None:
    figure, usual = make_subplots(3, 1, shared_xaxes=True), make_subplots(3, 1, shared_xaxes=True)
    for chart in (figure, usual):
        for row in (1, 2, 3):
            chart.add_scatter(y=[1, 2], row=row, col=1)
    lay_out(figure, shapes=[upright(1, row=row) for row in (1, 2, 3)])
    usual.add_vline(x=1, row="all", col=1)
    assert figure.to_dict() == usual.to_dict()
