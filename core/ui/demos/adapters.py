"""Adapters on a live model: one frozen encoder, the adapter of a task, and a head-only baseline."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.errors import AtlasError
from core.figures.bars import update_alt, update_bars, update_rows
from core.figures.labels import percent
from core.language.adapters import TaskInfo, TaskPrediction, classify, tasks
from core.ui.demos.cover import COVER, choice, was_shown
from core.ui.demos.demo import Demo, DemoView
from core.ui.glossary import sentences
from core.ui.page import plain, theme
from core.ui.param import Choice, Text

SAMPLES = {
    "A sentence": "The princess opened the little door in the wall.",
    "Two words swapped": "The princess opened little the door in the wall.",
    "A question": "Did the princess open the little door in the wall?",
    "Two halves": "The door is open and the guests are here.",
    "A fact": "Each cell has a membrane that controls what goes in and out.",
}
TEXT = Text(name="text", label="A sentence or two", default=SAMPLES["A sentence"], samples=SAMPLES, sentence="plain")
TASK = Choice(name="task", label="Adapters for", options={}, style="row")


def draw_tasks(view: DemoView) -> None:
    offered = {info.slug: info for info in view.computed("loading-the-encoder", tasks)}
    text = TEXT.draw(view.state, tag="adapters")
    names = {slug: info.label for slug, info in offered.items()}
    info = offered[TASK.with_(options=names, default="").draw(view.state)]
    shown = True
    with sentences():
        shown = _chosen_task(view, text, info)
    if shown:
        _all_tasks(view, text, list(offered.values()))
    model = view.checkpoint.model
    total = sum(value.numel() for value in model.backbone.parameters()) + info.trained
    view.how_it_works(
        "Cost",
        "How it works",
        trained=f"{info.trained:,}",
        whole=f"{total:,}",
        share=f"{100 * info.trained / total:.1f}",
        alone=f"{info.trained_alone:,}",
        tasks=len(offered),
        size=model.config.adapter_size,
        width=model.config.hidden_size,
    )


def _run(view: DemoView, text: str, info: TaskInfo) -> TaskPrediction:
    return view.computed("running-the-task", classify, text, info.slug)


def _chosen_task(view: DemoView, text: str, info: TaskInfo) -> bool:
    """Draw the predictions and the adapters' updates by layer; False while they are covered."""
    verdict = _run(view, text, info)
    st.subheader(plain(info.question), anchor=False)
    if info.without_mark:
        st.caption(f"Model input: {plain(verdict.read)}")
    if not view.uncovered(
        "Your answer",
        lambda guess: choice(guess, info.answers, verdict.adapted),
        info.slug,
        verdict.read,
        choices=info.answers,
    ):
        return False
    sides = (("adapted", verdict.adapted, view.accent), ("alone", verdict.alone, theme().muted))
    for column, (name, values, color) in zip(st.columns(2, gap="large"), sides, strict=True):
        rows = [{"answer": a, "probability": p} for a, p in zip(info.answers, values, strict=True)]
        with column:
            view.chances(name, info.answers, values, rows, color)
    view.picture(
        "adapter-updates",
        update_bars(verdict.updates, view.accent, theme=theme()),
        update_rows(verdict.updates),
        alt=update_alt(verdict.updates),
    )
    view.try_and_notice()
    return True


def _all_tasks(view: DemoView, text: str, infos: Sequence[TaskInfo]) -> None:
    """Draw every task on the same text; answers still covered stay covered."""
    rows, answered = [], False
    for info in infos:
        try:
            verdict = _run(view, text, info)
        except AtlasError as error:
            rows.append({"task": info.label, "adapters": str(error), "head alone": ""})
            continue
        answered = True
        adapters = f"{verdict.answer}, {percent(max(verdict.adapted))}"
        alone = f"{verdict.answer_alone}, {percent(max(verdict.alone))}"
        if COVER.value(view.state) and not was_shown(view.state, view.question(info.slug, verdict.read)):
            adapters = alone = "covered"
        rows.append({"task": info.label, "adapters": adapters, "head alone": alone})
    if answered:  # else why not has been said above
        st.subheader("All tasks on this text", anchor=False)
        view.data_table("answers-of-all-tasks", rows)


TASKS = Demo("tasks", draw_tasks, ("classifies texts",), (TEXT, TASK))
