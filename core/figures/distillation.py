"""What a teacher and its student find probable at a hidden token: bars side by side, for the teacher's best words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from core.figures.labels import label
from core.figures.lay_out import lay_out
from core.figures.predictions import percent

if TYPE_CHECKING:
    import plotly.graph_objects as go

_ROW = 34


def soft_bars(
    words: Sequence[str],
    teacher: Sequence[float],
    student: Sequence[float],
    colour: str,
    *,
    truth: str = "",
    dark: bool = False,
) -> go.Figure:
    """Two bars a word: the teacher's is filled, the student's striped.

    :param words: the teacher's best, most probable first.
    :param teacher: their probabilities at the temperature, from 0 to 1.
    :param student: the student's for the same words.
    :param truth: the word that stood there; its label is bold.
    """
    import plotly.graph_objects as go

    ink = "#E8ECF0" if dark else "#1A1F24"
    rows = list(range(len(words)))
    names = [f"<b>▸ {label(word)}</b>" if word == truth else label(word) for word in words]
    figure = go.Figure()
    for name, values, pattern in (("teacher", teacher, ""), ("student", student, "/")):
        figure.add_bar(
            x=list(values),
            y=rows,
            orientation="h",
            name=name,
            text=[percent(value) for value in values],
            textposition="outside",
            textfont={"size": 12, "color": ink},
            cliponaxis=False,
            marker={"color": colour, "opacity": 0.85, "pattern": {"shape": pattern, "fgcolor": ink, "solidity": 0.25}},
            customdata=[label(word) for word in words],
            hovertemplate="%{customdata}: %{x:.4f}<extra>" + name + "</extra>",
        )
    widest = max([*teacher, *student, 1e-9])
    lay_out(
        figure,
        height=_ROW * len(rows) + 40,
        margin={"l": 0, "r": 14, "t": 4, "b": 4},
        bargap=0.25,
        barmode="group",
        plot_bgcolor="rgba(0,0,0,0)",
        paper_bgcolor="rgba(0,0,0,0)",
        dragmode=False,
        font={"color": ink},
        xaxis={"visible": False, "range": [0, widest * 1.3], "fixedrange": True},
        yaxis={
            "autorange": "reversed",
            "tickmode": "array",
            "tickvals": rows,
            "ticktext": names,
            "fixedrange": True,
            "showgrid": False,
            "zeroline": False,
            "automargin": True,
            "ticks": "",
            "tickfont": {"size": 14, "color": ink},
        },
        legend={"orientation": "h", "x": 0, "y": 0, "yanchor": "top", "font": {"color": ink}},
    )
    return figure


def soft_alt(words: Sequence[str], teacher: Sequence[float], student: Sequence[float], what: str) -> str:
    """The bars in one sentence, for screen readers."""
    said = ", ".join(
        f"{word} {percent(one)} and {percent(other)}" for word, one, other in zip(words, teacher, student, strict=True)
    )
    return f"{what}, teacher and student: {said}."
