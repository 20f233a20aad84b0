"""Zero-, one- and few-shot prompts on the live decoder: their parts, the predictions, and held-out accuracy."""

from __future__ import annotations

import streamlit as st

from core.catalogue.results import of_system
from core.figures.labels import percent
from core.figures.predictions import compared_bars
from core.finetuning.examples import ready
from core.language import few_shot
from core.language.text import clean
from core.table import Table
from core.ui.demos.demo import Demo, DemoView
from core.ui.page import theme
from core.ui.param import Text
from core.ui.tables import TextTable, text_table

SHOTS = Text(
    name="shots",
    label="Examples, one on each line",
    default="""The goalkeeper saved a penalty in the last minute. => sports
Stir the soup until the butter has melted. => cooking
It will rain in the north until the evening. => weather""",
    height=110,
    most=2_000,
)
ASKED = Text(name="query", label="Query", default="The runners waited at the start of the race.", most=200)
TASK = Text(name="instruction", label="Task description", default="Name the topic of each sentence.", most=200)


def draw(view: DemoView) -> None:
    words = view.words
    left, right = st.columns((2, 3), gap="large")
    with left:
        task = clean(TASK.draw(view.state))
        shots = few_shot.examples(SHOTS.draw(view.state))
        query = clean(ASKED.draw(view.state))
    names, choices = tuple(words.front["settings"]), few_shot.labels(shots)
    counts = (0, 1, len(shots))
    prompts = tuple(few_shot.prompt(task, shots[:count], query) for count in counts)
    found = view.computed("predicting", few_shot.predict, prompts, choices)
    shares = {choice: [one.shares[at] for one in found] for at, choice in enumerate(choices)}
    alt = "; ".join(f"{choice} {', '.join(map(percent, own))}" for choice, own in shares.items())
    with right:
        view.picture(
            "few-shot",
            compared_bars(
                names,
                list(shares.items()),
                (view.accent, theme().primary, theme().muted),
                theme=theme(),
            ),
            Table(("label", *names), tuple((choice, *own) for choice, own in shares.items())),
            alt=f"{', '.join(names)}: {alt}",
        )
        view.note("Mass", **dict(zip(("zero", "one", "few"), (percent(one.mass) for one in found), strict=True)))
    view.try_and_notice()
    _parts(view, task, shots, query)
    _measured(view, names)
    view.how_it_works()


def _parts(view: DemoView, task: str, shots: tuple[few_shot.Example, ...], query: str) -> None:
    """The prompt in its parts, and which settings have them."""
    words, names = view.words, view.words.front["settings"]
    parts = view.words.front["parts"]
    every, some = ", ".join(names), ", ".join(names[1:])
    rows = [
        (parts["task"], task, every),
        *(
            (f"{parts['example']} {number}", f"{text} => {answer}", names[-1] if number > 1 else some)
            for number, (text, answer) in enumerate(shots, 1)
        ),
        (parts["query"], f"{query} =>", every),
    ]
    st.subheader(words.label("anatomy"), anchor=False)
    text_table(TextTable(tuple(words.front["columns"]), rows, words.label("anatomy"), (22, 50, 28)))


def _measured(view: DemoView, names: tuple[str, ...]) -> None:
    """Accuracy on a ready set with no, one and more examples, and what GPT-3's paper reports."""
    data = ready("topic")
    shots = tuple((e.text, e.label) for e in data.first(2 * len(data.labels)).train)
    held_out = tuple((e.text, e.label) for e in data.held_out[::2])
    counts = (0, 1, len(shots))
    rows = [
        (
            f"{name} ({count})",
            percent(view.computed("predicting", few_shot.accuracy, TASK.default, shots[:count], held_out, data.labels)),
        )
        for name, count in zip(names, counts, strict=True)
    ]
    rows.append((view.words.label("majority"), percent(data.majority)))
    left, right = st.columns(2, gap="large")
    with left:
        title = view.words.label("measured")
        st.subheader(title, anchor=False)
        text_table(TextTable(tuple(view.words.front["accuracies"]), rows, title, (60, 40), (1,)))
        view.note("Measured", texts=len(held_out))
    with right:
        title = view.words.label("reported")
        st.subheader(title, anchor=False)
        shown = [
            (row.measure.dataset, row.variant, f"{row.printed}{row.measure.unit} {row.measure.metric}")
            for row in of_system("gpt-3")
            if "shot" in row.variant
        ]
        text_table(TextTable(tuple(view.words.front["reports"]), shown, title, (46, 24, 30), (2,)))
        view.note("Reported")


FEW_SHOT = Demo("few-shot", draw, lambda spec: spec.offers("continues"), (SHOTS, ASKED, TASK))
