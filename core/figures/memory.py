"""What a memory saves: one bar a token, with a line where each segment begins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from core.figures.labels import label
from core.figures.lay_out import lay_out

if TYPE_CHECKING:
    import plotly.graph_objects as go


def saved_bars(
    tokens: Sequence[str], saved: Sequence[float], segment: int, colour: str, *, dark: bool = False
) -> go.Figure:
    """Bars in reading order, up where the memory made a token cheaper, down where it made it dearer.

    :param tokens: n tokens as they read.
    :param saved: bits that each costs less with the memory than without.
    :param segment: tokens of a segment.
    """
    import plotly.graph_objects as go

    ink = "#E8ECF0" if dark else "#1A1F24"
    against = "#A9B2BB" if dark else "#5F6B76"
    numbers = list(range(1, len(tokens) + 1))
    names = [f"token {n}, “{label(text)}”" for n, text in zip(numbers, tokens, strict=True)]
    figure = go.Figure(
        go.Bar(
            x=numbers,
            y=list(saved),
            width=1.0,
            marker={"color": [colour if value > 0 else against for value in saved], "line": {"width": 0}},
            customdata=names,
            hovertemplate="%{customdata}: %{y:+.2f} bits<extra></extra>",
        )
    )
    for begin in range(segment, len(tokens), segment):
        figure.add_vline(x=begin + 0.5, line={"color": ink, "width": 1, "dash": "dot"}, opacity=0.7)
    lay_out(
        figure,
        height=260,
        margin={"l": 0, "r": 0, "t": 8, "b": 0},
        showlegend=False,
        bargap=0.0,
        font={"color": ink},
        plot_bgcolor="rgba(0,0,0,0)",
        paper_bgcolor="rgba(0,0,0,0)",
        dragmode=False,
        xaxis={"title": "token (dotted: a segment begins)", "fixedrange": True, "showgrid": False, "zeroline": False},
        yaxis={"title": "bits saved", "fixedrange": True, "zeroline": True, "zerolinecolor": ink},
    )
    return figure


def saved_alt(saved: Sequence[float], segment: int) -> str:
    """The bars in one sentence, for screen readers."""
    helped = sum(value > 0 for value in saved[segment:])
    later = len(saved[segment:])
    return (
        f"Bits that the memory saves on each of {len(saved)} tokens, in segments of {segment}. The first segment has "
        f"nothing to remember; of the {later} tokens after it {helped} are cheaper with the memory."
    )
