"""Span extraction: start and end of an answer, token by token."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import streamlit as st
from numpy.typing import NDArray
from streamlit.delta_generator import DeltaGenerator

from core import engine, session
from core.checkpoints.spec import CheckpointSpec
from core.figures.labels import percent
from core.figures.lines import Line, line_alt, line_chart
from core.figures.plot import ABOVE
from core.finetuning import spans
from core.finetuning.examples import Example
from core.finetuning.setup import SECONDS
from core.finetuning.spans import Passage
from core.language.tokens import style
from core.objectives.example import Cell
from core.table import Table
from core.ui.objectives.picture import picture as token_picture
from core.ui.page import accent, theme
from core.ui.panel import Panel
from core.ui.section import View
from core.ui.tables import TextTable, text_table
from core.ui.training.run import SENTENCE, TRAINED, trained_epochs

QUESTION = SENTENCE.with_(label="Held-out question")


def answer_spans(view: View, row: DeltaGenerator, spec: CheckpointSpec) -> None:
    """Train on questions and passages; ``row`` takes the controls."""
    state, data = view.state, spans.facts()
    with row:
        trained = TRAINED.draw(state)
        at = int(QUESTION.with_(options={str(n): e.text for n, e in enumerate(data.held_out)}, default="1").draw(state))
        button = st.empty()
    setup = spans.setup(cast(Any, trained), spec)
    status, answer = st.empty(), st.container()
    st.subheader(view.words.label("measured"), anchor=False)
    epochs = trained_epochs(view, spec, data, setup, spans.NAME, status, st.empty(), button)
    if epochs is None:
        return
    passages = _passages(spec.slug)
    ends = np.cumsum([len(passage.at) for passage in passages])[:-1]
    by_run = {name: np.split(run[-1].probabilities, ends) for name, run in epochs.items() if run}
    with answer:
        draw_answer(view, spec, data.held_out[at], passages[at], by_run["chosen"][at])
        view.try_and_notice()
    predicted = {
        view.words.front["runs"][name]: spans.exact_and_f1(_texts(data.held_out, passages, parts), data.held_out)
        for name, parts in by_run.items()
    } | {view.words.front["baselines"][name]: pair for name, pair in spans.baselines(data.held_out).items()}
    columns = tuple(view.words.front["columns"])
    rows = [(name, percent(exact), percent(f1)) for name, (exact, f1) in predicted.items()]
    text_table(TextTable(columns, rows, view.words.label("measured"), (60, 20, 20), (1, 2)))
    view.how_it_works(longest=spans.LONGEST, seconds=f"{SECONDS:g}")


@session.cached()
def _passages(slug: str) -> tuple[Passage, ...]:
    """The held-out questions and passages as tokens."""
    return engine.run(spans.tokenized, slug, spans.facts().held_out)


def _texts(examples: Sequence[Example], passages: Sequence[Passage], parts: Sequence[NDArray[Any]]) -> list[str]:
    """The predicted answers."""
    triples = zip(examples, passages, parts, strict=True)
    return [passage.text(example.second, spans.best_span(part)) for example, passage, part in triples]


def draw_answer(
    view: View, spec: CheckpointSpec, example: Example, passage: Passage, scores: NDArray[np.floating]
) -> None:
    """One question: its tokens, the probabilities (q, 2) of start and end, and those of all valid spans."""
    words, look = view.words, theme()
    first, last = spans.best_span(scores)
    predicted, chance = passage.text(example.second, (first, last)), float(scores[first, 0] * scores[last, 1])
    right = spans.truth(example)
    marks = {passage.at[first]: "start", passage.at[last]: "end" if first < last else "start, end"}
    cells = [
        Cell(
            token.label,
            target=marks.get(n),
            change="special" if token.special else "none",
            segment=int(n in passage.at),
        )
        for n, token in enumerate(passage.tokens)
    ]
    alt = f"{example.text} {example.second} {words.label('predicted')}: {predicted}. {words.label('truth')}: {right}"
    token_picture(cells, style(session.checkpoint(spec.slug).tokenizer), accent(spec.branch), alt=alt)
    verdict = "Right" if spans.f1(predicted, right) == 1 else "Wrong"
    view.note(verdict, chance=percent(chance), answer=right)
    if scores[:, 0].argmax() > scores[:, 1].argmax():
        view.note("Invalid")
    tokens = [passage.tokens[n].label for n in passage.at]
    lines = [
        Line(words.label(name), list(range(len(tokens))), scores[:, column].tolist(), color, dash)
        for column, (name, color, dash) in enumerate(
            (("start", accent(spec.branch), "solid"), ("end", look.ink, "dash"))
        )
    ]
    span = {"type": "rect", "yref": "paper", "y0": 0, "y1": 1, "x0": first - 0.5, "x1": last + 0.5}
    marked = [span | {"line": {"width": 0}, "fillcolor": accent(spec.branch), "opacity": 0.18, "layer": "below"}]
    figure = line_chart(
        lines,
        words.label("probability"),
        tokens,
        across=words.label("tokens"),
        yaxis={"range": [0, 1.04]},
        shapes=marked,
        height=300,
        legend=ABOVE,
        theme=look,
    )
    rows = tuple(zip(tokens, scores[:, 0].tolist(), scores[:, 1].tolist(), strict=True))
    table = Table(("token", "start", "end"), rows)
    Panel(
        "ends",
        words.label("ends"),
        figure,
        line_alt(lines, words.label("probability"), tokens, words.label("tokens")),
        table,
        heading=True,
        width=max(640, 24 * len(tokens)),
    ).draw(view.state)
