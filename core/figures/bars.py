"""Bar charts: horizontal bars with one row per name, and bars over tokens and layers.

Series differ by hatching as well as by color.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.figures.heatmap import ink_on
from core.figures.labels import label, sentence
from core.figures.plot import BARE, HIDDEN, TURNED, Json, Trace, figure, hover, scatter, title, upright
from core.lazy import go
from core.theme import LABEL, SMALL, Theme


@dataclass(frozen=True, slots=True)
class Series:
    """One bar per row; texts and words are already escaped."""

    name: str
    values: Sequence[float]
    color: str | Sequence[str]
    hatch: str | Sequence[str] = ""
    texts: Sequence[str] = ()
    """Written at the bars' ends, or in their middle where ``inside`` is set."""
    inside: bool = False
    words: Sequence[str] = ()
    """The hover text of each bar; by default the row's name and the value."""
    width: float | None = None
    opacity: float = 1.0
    base: float | None = None
    """The start of each bar."""
    hover: str = "%{customdata}: %{x:.4f}"
    extra: str = ""
    """What names the series under the pointer."""


def hatched(color: str | Sequence[str], shape: str | Sequence[str], theme: Theme, **marker: object) -> Json:
    """A marker of bars with a hatching in ink over their color."""
    pattern = {"shape": shape, "fillmode": "overlay", "fgcolor": theme.ink, "solidity": 0.25}
    return {"color": color, "pattern": pattern, **marker}


def row_axis(names: Sequence[str], size: float = LABEL, **axis: object) -> Json:
    """Rows from the top down, numbered and then named, since different tokens may look the same."""
    at = list(range(len(names)))
    named = {"tickmode": "array", "tickvals": at, "ticktext": list(names), "tickfont": {"size": size}}
    return TURNED | BARE | named | axis


def totals(values: Sequence[float], texts: Sequence[str]) -> Trace:
    """Texts at the ends of stacked bars."""
    style = {"text": [f" {text}" for text in texts], "textposition": "middle right"}
    return scatter(list(values), list(range(len(values))), "text", **style, **HIDDEN)


def bars(
    names: Sequence[str],
    series: Sequence[Series],
    theme: Theme,
    *,
    height: int,
    end: float,
    measure: str = "",
    words: Sequence[str] = (),
    size: float = LABEL,
    more: Sequence[Trace] = (),
    xaxis: Json | None = None,
    yaxis: Json | None = None,
    **layout: object,
) -> go.Figure:
    """Horizontal bars, the first row on top; no axis below unless ``xaxis`` is given, or its title alone.

    Args:
        names: of the rows, escaped.
        end: the value at the right edge.
        measure: what bars count, below them; needless where each number says it, as a percentage or “3 hours” does.
        words: the hover name of each row, escaped.
        size: of the names.
        more: traces over the bars.
    """
    traces = [
        {
            "type": "bar",
            "orientation": "h",
            "x": list(series_.values),
            "y": list(range(len(names))),
            "name": series_.name,
            "width": series_.width,
            "base": series_.base,
            "marker": hatched(series_.color, series_.hatch, theme, opacity=series_.opacity),
            "text": list(series_.texts),
            "textfont": {"size": SMALL},
            **_text_place(series_),
            "customdata": list(series_.words or words or names),
            "hovertemplate": f"{'%{customdata}' if series_.words else series_.hover}<extra>{series_.extra}</extra>",
        }
        for series_ in series
    ]
    return figure(
        theme,
        [*traces, *more],
        height=height,
        showlegend=layout.pop("showlegend", len(series) > 1),
        xaxis={"range": [0, end], **({"showgrid": True} | xaxis if xaxis else measured(measure))},
        yaxis=row_axis(names, size) | (yaxis or {}),
        uniformtext={"minsize": SMALL, "mode": "show"},
        **layout,
    )


def measured(measure: str) -> Json:
    """An axis that says what numbers at the ends of bars count, and has none itself; none at all without a measure."""
    return {"showgrid": False, "showticklabels": False, **title(measure, 4)} if measure else {"visible": False}


def _text_place(series: Series) -> Json:
    if not series.inside:
        return {"textposition": "outside"}
    ink = {"color": ink_on(str(series.color))}
    return {"textposition": "inside", "insidetextanchor": "middle", "textangle": 0, "insidetextfont": ink}


SUBLAYERS = ("attention", "feed-forward")
"""The sub-layers after which adapters stand, by turns."""


def update_bars(updates: Sequence[float], color: str, *, theme: Theme) -> go.Figure:
    """The size of the adapters' update in each layer, from left to right.

    :param updates: 2 L shares of the hidden state's norm, alternately after attention and after feed-forward.
    """
    traces = [
        {
            "type": "bar",
            "x": [str(number + 1) for number in range(len(updates) // 2)],
            "y": list(updates[offset::2]),
            "name": f"after {SUBLAYERS[offset]}",
            "marker": hatched(shade, shape, theme),
            "hovertemplate": f"layer %{{x}}, after {SUBLAYERS[offset]}: %{{y:.0%}} of |h|<extra></extra>",
        }
        for offset, shade, shape in ((0, color, ""), (1, theme.muted, "/"))
    ]
    share = {**title("added, as a share of |h|"), "tickformat": ".0%", "rangemode": "tozero"}
    layers = {**title("layer"), "type": "category"}
    return figure(theme, traces, height=280, margin={"t": 48}, bargap=0.3, xaxis=layers, yaxis=share)


def update_rows(updates: Sequence[float]) -> list[dict[str, object]]:
    """The same numbers as rows of a table."""
    return [
        {"layer": at // 2 + 1, "after": SUBLAYERS[at % 2], "added, as a share of |h|": value}
        for at, value in enumerate(updates)
    ]


def update_alt(updates: Sequence[float]) -> str:
    """The bars in one sentence, for screen readers."""
    if not updates:
        return sentence("Adapters: none")
    largest, smallest = (
        sentence("Adapters: share", share=f"{100 * updates[at]:.0f}%", sublayer=SUBLAYERS[at % 2], layer=at // 2 + 1)
        for at in (updates.index(max(updates)), updates.index(min(updates)))
    )
    return sentence("Adapters", layers=len(updates) // 2, largest=largest, smallest=smallest)


def saved_bars(tokens: Sequence[str], saved: Sequence[float], segment: int, color: str, *, theme: Theme) -> go.Figure:
    """Surprisal that the memory saves on each token, in reading order; a line marks the start of each segment.

    :param tokens: n tokens as shown.
    :param saved: bits by which the memory lowers each token's surprisal.
    :param segment: tokens of a segment.
    """
    bar = {
        "type": "bar",
        "x": list(range(1, len(tokens) + 1)),
        "y": list(saved),
        "width": 1.0,
        "marker": {"color": [color if value > 0 else theme.muted for value in saved]},
        **hover(
            [
                f"token {n}, “{label(text)}”: {bits:+.2f} bits"
                for n, (text, bits) in enumerate(zip(tokens, saved, strict=True), 1)
            ]
        ),
    }
    begins = range(segment, len(tokens), segment)
    return figure(
        theme,
        [bar],
        height=260,
        bargap=0.0,
        shapes=[upright(begin + 0.5, color=theme.ink, width=1, dash="dot") for begin in begins],
        xaxis=title("position (dotted: a segment begins)"),
        yaxis={**title("bits saved"), "zeroline": True},
    )


def saved_alt(saved: Sequence[float], segment: int) -> str:
    """The bars in one sentence, for screen readers."""
    later = saved[segment:]
    lower = sum(bits > 0 for bits in later)
    return sentence("Memory", tokens=len(saved), segment=segment, lower=lower, later=len(later))
