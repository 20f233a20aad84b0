"""Adapters live: one frozen encoder, a task that is swapped in, and a head alone beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from core import session
from core.errors import AtlasError
from core.figures.bars import update_alt, update_bars, update_rows
from core.figures.predictions import bars_alt, guess_bars, percent
from core.table import Table
from core.ui.data_table import data_table
from core.ui.demos.cover import COVER, choice, uncovered, was_shown
from core.ui.demos.demo import Demo, DemoView
from core.ui.notices import sentences
from core.ui.page import plain, theme
from core.ui.panel import Panel
from core.ui.param import Choice, Text

if TYPE_CHECKING:
    from core.language.adapters import TaskInfo, TaskVerdict

SAMPLES = {
    "A sentence": "The princess opened the little door in the wall.",
    "Two words exchanged": "The princess opened little the door in the wall.",
    "A question": "Did the princess open the little door in the wall?",
    "Two halves": "The door is open and the guests are here.",
    "A fact": "Each cell has a membrane that controls what goes in and out.",
    "An opinion": "The soup was cold and tasted of nothing.",
}
TEXT = Text(name="text", label="A sentence or two", default=SAMPLES["A sentence"], height=68, samples=SAMPLES)
TASK = Choice(name="task", label="Adapters for", options={}, style="row")


@dataclass(frozen=True, slots=True)
class Cost:
    """What all tasks share, and what a swap takes."""

    encoder: int
    """Parameters."""
    swap: float
    """Seconds."""
    width: int
    size: int
    """Dimensions of the encoder's states and of an adapter."""


def draw(view: DemoView) -> None:
    """Draw the demo."""
    spec, state = view.spec, view.state
    tasks = {info.slug: info for info in _tasks(spec.slug)}
    text = TEXT.draw(state, tag="adapters")
    names = {slug: info.name for slug, info in tasks.items()}
    info = tasks[TASK.with_(options=names, default="").draw(state)]
    shown = True
    with sentences():
        shown = _one(view, text, info)
    if shown:
        _all(view, text, list(tasks.values()))
    cost = _cost(spec.slug)
    whole = cost.encoder + info.trained
    view.say(
        "Cost",
        trained=f"{info.trained:,}",
        whole=f"{whole:,}",
        share=f"{100 * info.trained / whole:.1f}",
        alone=f"{info.trained_alone:,}",
        tasks=len(tasks),
        swap=f"{1e6 * cost.swap:.1f}",
    )
    view.how_it_works(size=cost.size, width=cost.width)


def _one(view: DemoView, text: str, info: TaskInfo) -> bool:
    """The chosen task: its answers, and what its adapters add on the way; False while they are covered."""
    verdict = _verdict(view.spec.slug, text, info.slug)
    st.markdown(f"**{plain(info.question)}**")
    if info.without_mark:
        st.caption(f"The model reads: {plain(verdict.read)}")

    def judge(guess: str) -> str:
        return choice(guess, info.answers, verdict.adapted)

    if not uncovered(view.state, (info.slug, verdict.read), "Your answer", judge, choices=info.answers):
        return False
    sides = (("adapted", verdict.adapted, view.accent), ("alone", verdict.alone, theme().muted))
    for column, (name, values, color) in zip(st.columns(2, gap="large"), sides, strict=True):
        title = view.words.label(name)
        rows = [{"answer": a, "probability": p} for a, p in zip(info.answers, values, strict=True)]
        with column:
            Panel(
                name,
                title,
                guess_bars(info.answers, values, color, scale=1.0, theme=theme()),
                bars_alt(info.answers, values, title),
                Table.from_records(rows),
                heading=True,
            ).draw(view.state)
    Panel(
        "adapter-updates",
        view.words.label("updates"),
        update_bars(verdict.updates, view.accent, theme=theme()),
        update_alt(verdict.updates),
        Table.from_records(update_rows(verdict.updates)),
        heading=True,
    ).draw(view.state)
    view.try_and_notice()
    return True


def _all(view: DemoView, text: str, tasks: Sequence[TaskInfo]) -> None:
    """Every task on the same text; one whose answer is still covered stays so."""
    rows, answered = [], False
    covered = COVER.value(view.state)
    for info in tasks:
        try:
            verdict = _verdict(view.spec.slug, text, info.slug)
        except AtlasError as error:
            rows.append({"task": info.name, "adapters": str(error), "head alone": ""})
            continue
        answered = True
        cells = (
            ("covered", "covered")
            if covered and not was_shown(view.state, (info.slug, verdict.read))
            else (
                f"{verdict.answer}, {percent(max(verdict.adapted))}",
                f"{verdict.answer_alone}, {percent(max(verdict.alone))}",
            )
        )
        rows.append({"task": info.name, "adapters": cells[0], "head alone": cells[1]})
    if answered:  # else why not has been said above
        st.markdown("**All tasks on this text**")
        alt = "The most probable answer to every task's question, with its probability"
        data_table(rows, "answers-of-all-tasks", alt=alt)


@session.cached("Loading the encoder")
def _tasks(slug: str) -> tuple[TaskInfo, ...]:
    from core.language.adapters import tasks

    return tasks(session.checkpoint(slug))


@session.cached()
def _cost(slug: str) -> Cost:
    from core.language.adapters import swap_seconds

    checkpoint = session.checkpoint(slug)
    config = checkpoint.model.config
    numbers = sum(value.numel() for value in checkpoint.model.trunk.parameters())
    return Cost(numbers, swap_seconds(checkpoint), config.hidden_size, config.adapter_size)


@session.cached("Running the task")
def _verdict(slug: str, text: str, task: str) -> TaskVerdict:
    from core.language.adapters import judge

    return judge(session.checkpoint(slug), text, task)


TASKS = Demo("tasks", draw, lambda spec: spec.offers("answers tasks"), (TEXT, TASK))
