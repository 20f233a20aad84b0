"""GLUE's nine tasks, each with its metrics on predictions that a visitor edits."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

import streamlit as st

from core.errors import InputUnusable
from core.figures.bars import Series, bars
from core.language import metrics
from core.table import Table
from core.ui.generation.strategies import minus
from core.ui.glossary import Linker
from core.ui.grid import Column, Grid
from core.ui.page import accent, theme
from core.ui.panel import Panel
from core.ui.param import Choice, Text
from core.ui.section import View
from core.ui.tables import TextTable, text_table
from core.words import counted

TASK = Choice(name="glue", label="Task of GLUE", options={}, style="pills", resets=("predictions",))
PREDICTIONS = Text(name="predictions", label="Predictions", most=200)
PARAMS = (TASK, PREDICTIONS)
_WIDTHS = (9, 18, 23, 19, 18, 13)
_BINARY, _SCORES = ("accuracy", "f1", "matthews"), ("pearson", "spearman")


def draw_glue(view: View) -> None:
    """A task of GLUE, and all nine as a table."""
    words = view.words
    st.subheader(words.title, anchor=False)
    view.say("Intro")
    tasks = {task["slug"]: task for task in words.front["tasks"]}
    task = tasks[TASK.with_(options={slug: entry["title"] for slug, entry in tasks.items()}).draw(view.state)]
    _card(view, task)
    st.subheader(words.label("all"), anchor=False)
    shows: tuple[Any, ...] = ("", *[Linker("training.glue").rich] * 4, ",")
    columns: list[Column[Any]] = [
        Column(heading, itemgetter(at), show, width, heading)
        for at, (heading, show, width) in enumerate(zip(words.front["columns"], shows, _WIDTHS, strict=True))
    ]
    Grid(words.label("all"), columns, words.front["rows"]).draw("glue-tasks", view.state.key("glue.csv"))
    view.how_it_works(notes=["Sizes", "Sources"])


def _card(view: View, task: Mapping[str, Any]) -> None:
    """A task's examples, the predictions, and their metrics."""
    words, classes, look = view.words, task["classes"], theme()
    examples = task["examples"]
    usual = " ".join(f"{predicted:g}" for *_, predicted in examples)
    box = PREDICTIONS.with_(default=usual).draw(view.state, tag=task["slug"])
    names = ", ".join(f"{number} = {name}" for number, name in enumerate(classes))
    view.note("Classes", classes=names) if classes else view.note("Scores")
    truth = [float(right) for _, _, right, _ in examples]
    predicted = parse(box, len(examples), len(classes))
    kinds = _SCORES if not classes else _BINARY if len(classes) == 2 else ("accuracy",)
    constant = [max(truth, key=truth.count)] * len(truth)
    values = [[getattr(metrics, kind)(truth, answers) for kind in kinds] for answers in (predicted, constant)]
    official = f" ({words.label('official')})"
    labels = [words.front["metrics"][kind] + (official if kind in task["metrics"] else "") for kind in kinds]
    title, low = words.label("picture"), min([0.0, *(value for row in values for value in row if value is not None)])
    series = [
        Series(name, [value or 0.0 for value in row], color, hatch, texts=[_number(value) for value in row])
        for name, row, color, hatch in zip(
            words.front["series"], values, (accent("encoder"), look.muted), ("", "/"), strict=True
        )
    ]
    figure = bars(
        [f"{text}  " for text in labels],
        series,
        look,
        height=90 + 62 * len(kinds),
        end=1.2,
        xaxis={"range": [1.15 * low, 1.2]},
        barmode="group",
        margin={"t": 40},
    )
    table = Table(("metric", *words.front["series"]), tuple(zip(labels, *values, strict=True)))
    alt = "; ".join(f"{name} {_number(value)}" for name, value in zip(labels, values[0], strict=True))
    rows = [
        (f"{text} | {second}" if second else text, *(_answer(value, classes) for value in pair))
        for (text, second, *_), *pair in zip(examples, truth, predicted, strict=True)
    ]
    left, right = st.columns((6, 5), gap="large")
    with right:
        Panel("glue", title, figure, f"{title}: {alt}", table, heading=True).draw(view.state)
    with left:
        text_table(TextTable(tuple(words.front["heads"]), rows, words.label("examples"), (42, 29, 29)))
    view.try_and_notice()


def _number(value: float | None) -> str:
    return "–" if value is None else minus(value)


def _answer(value: float, classes: Sequence[str]) -> str:
    return str(classes[int(value)]) if classes else f"{value:g}"


def parse(text: str, count: int, classes: int) -> list[float]:
    """The predictions of a box: classes from 0, or without classes scores from 0 to 5.

    Raises:
        InputUnusable: another number of predictions, or one out of range.
    """
    words = re.split(r"[\s,;]+", text.strip())
    if len(words) != count or not words[0]:
        typed = len(words) if words[0] else 0
        raise InputUnusable(
            f"A prediction belongs to each example: {counted(count, 'example')}, {counted(typed, 'prediction')}."
        )
    predictions = []
    for word in words:
        allowed = re.fullmatch(r"\d" if classes else r"\d(\.\d{1,3})?", word, re.ASCII)
        if not allowed or float(word) > (classes - 1 if classes else 5):
            what = f"a class from 0 to {classes - 1}" if classes else "a score from 0 to 5"
            raise InputUnusable(f"“{word[:20]}” is not {what}.")
        predictions.append(float(word))
    return predictions
