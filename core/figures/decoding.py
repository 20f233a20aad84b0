"""What a decoding rule does to the next token: bars before and after it, what is cut off hatched, and its own line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from core.figures.bars import row_axis
from core.figures.labels import label
from core.figures.plot import Json, Trace, cut, figure, level, note, scatter, title, upright
from core.figures.predictions import percent

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from core.language.decoding.step import Look
    from core.theme import Theme

_ROW = 27
_BARS = 0.7
"""The share of the width that the bars may take; the numbers stand in the rest."""
_FAINT = "rgba(138,147,156,0.45)"


def rule_bars(found: Look, names: Sequence[str], color: str, *, taken: int | None = None, theme: Theme) -> go.Figure:
    """Two bars a token: the probability before the rule (wide, gray, hatched where it is cut off) and after it.

    Args:
        names: how the tokens of ``found.rows`` read.
        taken: id of the token that stands in the text; its label is bold.
    """
    rows = list(range(len(found.rows)))
    texts = [f"{percent(row.before)} → {'cut' if row.cut else percent(row.after)}" for row in found.rows]
    words = _words(names, texts)
    widest = max([max(row.before, row.after) for row in found.rows], default=1e-9)
    right = widest / _BARS
    traces = [
        _bar([row.before for row in found.rows], 0.8, _cut_off(found, _FAINT, theme), words, name="before"),
        _bar([row.after for row in found.rows], 0.4, {"color": color}, words, name="after"),
        scatter(  # a column of its own, where no line crosses it
            [right] * len(rows),
            rows,
            "text",
            text=texts,
            textposition="middle left",
            textfont={"size": 12},
            hoverinfo="skip",
        ),
    ]
    sums, own = _own_line(found, theme)
    top = -1.2 if found.around.rule == "min_p" else -0.6
    return figure(
        theme,
        traces + sums,
        height=_ROW * max(1, len(names)) + 40,
        margin={"l": 0, "r": 4, "t": 24, "b": 4},
        showlegend=False,
        barmode="overlay",
        xaxis={"visible": False, "range": [0, right]},
        yaxis=_rows(found, names, taken, top),
        **own,
    )


def surprise_bars(
    found: Look, names: Sequence[str], color: str, *, taken: int | None = None, theme: Theme
) -> go.Figure:
    """The surprisal of each token in bits, and the entropy as a line: typical sampling keeps what is near it."""
    entropy = found.around.entropy
    texts = [f"{row.surprise:.1f} bits{', cut' if row.cut else ''}" for row in found.rows]
    colors = [_FAINT if row.cut else color for row in found.rows]
    bar = _bar(
        [row.surprise - entropy for row in found.rows], 0.55, _cut_off(found, colors, theme), _words(names, texts)
    )
    most = max([row.surprise for row in found.rows] + [entropy])
    return figure(
        theme,
        [bar | {"base": [entropy] * len(found.rows)}],
        height=_ROW * max(1, len(names)) + 66,
        margin={"l": 0, "r": 4, "t": 26, "b": 40},
        showlegend=False,
        xaxis={**title("surprisal in bits"), "range": [0, 1.1 * most], "showgrid": True},
        yaxis=_rows(found, names, taken, -0.6),
        shapes=[upright(entropy, color=theme.ink, width=1.5, dash="dash")],
        annotations=[note(f"H = {entropy:.1f} bits", entropy, 1, yref="paper", yanchor="bottom")],
    )


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


def _own_line(found: Look, theme: Theme) -> tuple[list[Trace], Json]:
    """The line by which the rule decides: traces and what it adds to the layout."""
    around, rows = found.around, found.rows
    dashed: Json = {"color": theme.ink, "width": 1.5, "dash": "dash"}
    if around.rule == "min_p" and rows:
        least = around.value * rows[0].before
        text = note(f"m · p_max = {percent(least)}", least, -0.9, xanchor="left")
        return [], {"shapes": [upright(least, **dashed)], "annotations": [text]}
    if around.rule == "top_k" and around.value < len(rows):
        edge = around.value - 0.5
        text = note(f"the {around.value:.0f} best above", _BARS, edge, xref="paper", yanchor="bottom", xanchor="right")
        return [], {"shapes": [level(edge, **dashed)], "annotations": [text]}
    if around.rule != "top_p":
        return [], {}
    sums = scatter(
        [row.reached for row in rows],
        list(range(len(rows))),
        "lines+markers",
        xaxis="x2",
        name="sum",
        line={"color": theme.ink, "width": 1.5},
        marker={"size": 6, "color": theme.ink},
        hovertemplate="together with all above: %{x:.1%}<extra></extra>",
    )
    p = around.value
    axis = {
        "overlaying": "x",
        "side": "top",
        "range": [0, 1 / _BARS],
        "tickvals": [0, 0.5, p, 1.0],
        "ticktext": ["0", "0.5" if abs(p - 0.5) > 0.12 else "", f"p = {p:g}", "1" if p < 0.85 else ""],
        "tickfont": {"size": 12},
    }
    return [sums], {"shapes": [upright(p, **dashed) | {"xref": "x2", "yref": "paper"}], "xaxis2": axis}


def _bar(values: Sequence[float], width: float, marker: Json, words: Sequence[str], **looks: Any) -> Trace:
    return {
        "type": "bar",
        "orientation": "h",
        "x": list(values),
        "y": list(range(len(values))),
        "width": width,
        "marker": marker,
        "customdata": list(words),
        "hovertemplate": "%{customdata}<extra></extra>",
        **looks,
    }


def _cut_off(found: Look, color: str | Sequence[str], theme: Theme) -> Json:
    shapes = ["/" if row.cut else "" for row in found.rows]
    pattern = {"shape": shapes, "fgcolor": theme.ink, "size": 6, "solidity": 0.2}
    return {"color": color, "line": {"color": theme.muted, "width": 1}, "pattern": pattern}


def _words(names: Sequence[str], texts: Sequence[str]) -> list[str]:
    return [f"{label(name)}: {text}" for name, text in zip(names, texts, strict=True)]


def _rows(found: Look, names: Sequence[str], taken: int | None, top: float) -> Json:
    shown = []
    for name, row in zip(names, found.rows, strict=True):
        escaped = label(cut(name, 18))
        shown.append(f"<b>▸ {escaped}</b> " if row.id == taken else f"{escaped} ")
    return row_axis(shown, autorange=None, range=[len(names) - 0.4, top])
