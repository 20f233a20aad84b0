"""What a rule does to the next token: bars before and after it, what is cut off hatched, and the rule's own line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from core.figures.labels import label
from core.figures.lay_out import lay_out
from core.figures.predictions import percent

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from core.language.decoding.step import Look

_ROW = 27
_BARS = 0.7
"""The share of the width that the bars may take; the numbers stand in the rest."""
_GREY = "#8A939C"


def rule_bars(
    found: Look, names: Sequence[str], colour: str, *, taken: int | None = None, dark: bool = False
) -> go.Figure:
    """Two bars a token: the probability before the rule (wide, grey, hatched where it is cut off) and after it.

    Args:
        names: how the tokens of ``found.rows`` read.
        taken: id of the token that stands in the text; its label is bold.
    """
    import plotly.graph_objects as go

    rows = list(range(len(found.rows)))
    ink = _ink(dark)
    cut = [row.cut for row in found.rows]
    told = [f"{percent(row.before)} → {'cut' if row.cut else percent(row.after)}" for row in found.rows]
    spoken = [f"{label(name)}: {text}" for name, text in zip(names, told, strict=True)]
    figure = go.Figure()
    figure.add_bar(
        x=[row.before for row in found.rows],
        y=rows,
        orientation="h",
        width=0.8,
        name="before",
        marker={
            "color": "rgba(138,147,156,0.45)",
            "line": {"color": _GREY, "width": 1},
            "pattern": {"shape": ["/" if one else "" for one in cut], "fgcolor": ink, "size": 6, "solidity": 0.2},
        },
        customdata=spoken,
        hovertemplate="%{customdata}<extra></extra>",
    )
    figure.add_bar(
        x=[row.after for row in found.rows],
        y=rows,
        orientation="h",
        width=0.4,
        name="after",
        marker={"color": colour},
        customdata=spoken,
        hovertemplate="%{customdata}<extra></extra>",
    )
    widest = max([max(row.before, row.after) for row in found.rows], default=1e-9)
    right = widest / _BARS
    figure.add_scatter(  # a column of its own, where no line crosses it
        x=[right] * len(rows),
        y=rows,
        mode="text",
        text=told,
        textposition="middle left",
        textfont={"color": ink, "size": 12},
        hoverinfo="skip",
    )
    _own_line(figure, found, ink)
    _layout(figure, found, names, taken, ink, right)
    return figure


def _own_line(figure: go.Figure, found: Look, ink: str) -> None:
    """The line by which the rule decides."""
    around, rows = found.around, found.rows
    dashed = {"color": ink, "width": 1.5, "dash": "dash"}
    if around.rule == "min_p" and rows:
        least = around.value * rows[0].before
        figure.add_vline(x=least, line=dashed)
        figure.add_annotation(
            x=least, y=-0.9, text=f"m · p_max = {percent(least)}", showarrow=False, xanchor="left", font={"color": ink}
        )
    if around.rule == "top_k" and around.value < len(rows):
        figure.add_hline(y=around.value - 0.5, line=dashed)
        figure.add_annotation(
            x=_BARS,
            xref="paper",
            y=around.value - 0.5,
            yanchor="bottom",
            xanchor="right",
            showarrow=False,
            text=f"the {around.value:.0f} best above",
            font={"color": ink},
        )
    if around.rule == "top_p":
        figure.add_scatter(
            x=[row.reached for row in rows],
            y=list(range(len(rows))),
            mode="lines+markers",
            xaxis="x2",
            name="sum",
            line={"color": ink, "width": 1.5},
            marker={"size": 6, "color": ink},
            hovertemplate="together with all above: %{x:.1%}<extra></extra>",
        )
        figure.add_shape(
            type="line", x0=around.value, x1=around.value, xref="x2", y0=0, y1=1, yref="paper", line=dashed
        )
        lay_out(
            figure,
            xaxis2={
                "overlaying": "x",
                "side": "top",
                "range": [0, 1 / _BARS],
                "tickvals": [0, 0.5, around.value, 1.0],
                "ticktext": [
                    "0",
                    "0.5" if abs(around.value - 0.5) > 0.12 else "",
                    f"p = {around.value:g}",
                    "1" if around.value < 0.85 else "",
                ],
                "showgrid": False,
                "zeroline": False,
                "fixedrange": True,
                "tickfont": {"color": ink, "size": 12},
            },
        )


def surprise_bars(
    found: Look, names: Sequence[str], colour: str, *, taken: int | None = None, dark: bool = False
) -> go.Figure:
    """The surprise of each token in bits, and the entropy as a line: typical sampling keeps what is near it."""
    import plotly.graph_objects as go

    rows, ink = list(range(len(found.rows))), _ink(dark)
    entropy = found.around.entropy
    told = [f"{row.surprise:.1f} bits{', cut' if row.cut else ''}" for row in found.rows]
    figure = go.Figure(
        go.Bar(
            x=[row.surprise - entropy for row in found.rows],
            base=[entropy] * len(rows),
            y=rows,
            orientation="h",
            width=0.55,
            marker={
                "color": ["rgba(138,147,156,0.45)" if row.cut else colour for row in found.rows],
                "line": {"color": _GREY, "width": 1},
                "pattern": {
                    "shape": ["/" if row.cut else "" for row in found.rows],
                    "fgcolor": ink,
                    "size": 6,
                    "solidity": 0.2,
                },
            },
            customdata=[f"{label(name)}: {text}" for name, text in zip(names, told, strict=True)],
            hovertemplate="%{customdata}<extra></extra>",
        )
    )
    figure.add_vline(x=entropy, line={"color": ink, "width": 1.5, "dash": "dash"})
    figure.add_annotation(
        x=entropy,
        y=1,
        yref="paper",
        yanchor="bottom",
        showarrow=False,
        text=f"H = {entropy:.1f} bits",
        font={"color": ink},
    )
    most = max([row.surprise for row in found.rows] + [entropy])
    _layout(figure, found, names, taken, ink, 1.1 * most)
    lay_out(
        figure,
        margin={"t": 26, "b": 40},
        height=_ROW * max(1, len(rows)) + 66,
        xaxis={
            "visible": True,
            "title": {"text": "surprisal in bits", "font": {"color": ink}},
            "tickfont": {"color": ink},
            "gridcolor": "rgba(128,128,128,0.25)",
            "zeroline": False,
        },
    )
    return figure


def rule_alt(found: Look, names: Sequence[str], what: str) -> str:
    """The bars in a few sentences."""
    said = "; ".join(
        f"{name} {percent(row.before)}, {'cut off' if row.cut else f'then {percent(row.after)}'}"
        for name, row in zip(names, found.rows, strict=True)
    )
    around = found.around
    return (
        f"{what} keeps {around.kept:,} of {around.of:,} tokens with {percent(around.mass)} of the probability. {said}."
    )


def _ink(dark: bool) -> str:
    return "#E8ECF0" if dark else "#1A1F24"


def _layout(figure: go.Figure, found: Look, names: Sequence[str], taken: int | None, ink: str, right: float) -> None:
    shown = [_named(name, row.id == taken) for name, row in zip(names, found.rows, strict=True)]
    axis: dict[str, Any] = {
        "autorange": False,
        "range": [len(names) - 0.4, -1.2 if found.around.rule == "min_p" else -0.6],
        "tickmode": "array",
        "tickvals": list(range(len(names))),
        "ticktext": shown,
        "fixedrange": True,
        "showgrid": False,
        "zeroline": False,
        "automargin": True,
        "ticks": "",
        "tickfont": {"size": 14, "color": ink},
    }
    lay_out(
        figure,
        height=_ROW * max(1, len(names)) + 40,
        margin={"l": 0, "r": 4, "t": 24, "b": 4},
        showlegend=False,
        barmode="overlay",
        dragmode=False,
        plot_bgcolor="rgba(0,0,0,0)",
        paper_bgcolor="rgba(0,0,0,0)",
        xaxis={"visible": False, "range": [0, right], "fixedrange": True},
        yaxis=axis,
        font={"color": ink},
    )


def _named(name: str, taken: bool) -> str:
    escaped = label(name if len(name) <= 18 else name[:17] + "…")
    return f"<b>▸ {escaped}</b> " if taken else f"{escaped} "
