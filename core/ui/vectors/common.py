"""What several sections share: the live model, the word and its sentences, and charts by distance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
import streamlit as st
from numpy.typing import NDArray

from core import session
from core.checkpoints.spec import CheckpointSpec
from core.content import content
from core.figures.lines import Line, line_chart
from core.figures.vectors import strips
from core.table import Table
from core.ui.links import PageState
from core.ui.page import plain, theme
from core.ui.panel import Panel
from core.ui.param import Integer, Model, Text
from core.ui.section import View
from core.vectors.occurrences import EXAMPLES, MAX_WORD, WordVectors, missing_note, parse
from core.vectors.reading import readable

FIRST = next(iter(EXAMPLES))
MODEL = Model(
    name="model",
    first="vectors",
    fits=readable,
    resets=("layer",),
    width=260,
    hide_label=True,
)
WORD = Text(name="word", label="Word", default=FIRST, most=MAX_WORD, width=150)
TEXT = Text(name="text", label="Sentences", default=EXAMPLES[FIRST], height=400)
DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
ACROSS = "distance: key position minus query position"
MODEL_OF_KIND = Model(
    name="asked",
    first="vectors-positions",
    fits=lambda spec: spec.offers("learned positions") or spec.offers("relative positions"),
    width=350,
)
WIDTH = Integer(name="width", label="Dimension", low=4, high=512, default=192)


def model_of(state: PageState, param: Model = MODEL) -> CheckpointSpec:
    """Draw the menu of the live models that ``param`` admits."""
    specs = param.offered()
    return specs[param.here().draw(state, tag=str(len(specs)))]


def stepped(param: Integer, values: tuple[int, ...], state: PageState, *, tag: str = "") -> int:
    """Draw a slider over a few ``values``; a number from a link is rounded to the nearest."""
    wanted = state.number(param.name, param.default)
    chosen = st.select_slider(
        param.label,
        values,
        value=min(values, key=lambda value: abs(value - wanted)),
        key=state.key(tag or param.name),
        format_func="{:,}".format,
        width=260,
        help=state.helps.get(param.name),
    )
    state.set(**{param.name: None if chosen == param.default else chosen})
    return int(chosen)


def word_box(state: PageState, text: Text = TEXT) -> str:
    """Draw the word's text box, and examples beside it, each with its sentences for the box ``text``."""
    word = WORD.draw(state)

    def put(example: str, lines: str) -> None:
        WORD.put(state.key(WORD.name), example)
        text.put(state.key(text.name), lines)

    with st.popover("Examples"):
        by_title = {
            f"{example}: {', '.join(dict.fromkeys(line.sense for line in parse(lines)))}": (example, lines)
            for example, lines in EXAMPLES.items()
        }
        by_title |= {row["title"]: (row["word"], row["text"]) for row in content("vectors", "word").front["examples"]}
        for title, (example, lines) in by_title.items():
            st.button(
                title,
                key=state.key(f"example.{title}"),
                on_click=put,
                args=(example, lines.strip()),
                width="stretch",
            )
    return word


def text_for(state: PageState, text: Text = TEXT) -> Text:
    """The parameter ``text`` of the sentences; the default depends on the word."""
    return text.with_(default=EXAMPLES.get(WORD.value(state), EXAMPLES[FIRST]))


def word_vectors(spec: CheckpointSpec, word: str, text: str) -> WordVectors:
    """The word's vectors and those of all words; a note names the lines without the word.

    Raises:
        AtlasError: the input does not fit the model.
    """
    with st.spinner(session.waiting("running-the-model")):
        vectors = session.word_vectors(spec.slug, word, text)
    if lines := missing_note(vectors.own):
        st.caption(plain(lines))
    return vectors


def line_panel(
    view: View,
    slug: str,
    title: str,
    lines: Sequence[Line],
    y: str,
    columns: Mapping[str, Any],
    alt: str,
    note: str = "",
    across: str = ACROSS,
    height: int = 430,
) -> None:
    """Draw lines over distances, with ``columns`` as their table."""
    figure = line_chart(list(lines), y, across=across, theme=theme(), markers=False, height=height)
    Panel(slug, title, figure, alt, Table.from_columns(columns), note=note).draw(view.state)


def signed_strips(values: NDArray[np.floating], rows: Sequence[str], columns: Sequence[str], **look: Any) -> go.Figure:
    """A map of signed values without digits in its cells."""
    return strips(values, rows, columns, signed=True, digits=None, theme=theme(), **look)
