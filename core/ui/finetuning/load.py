"""Trained weights, loaded again: a visitor's file, or an example, on held-out texts and on any text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from operator import itemgetter

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from core import checkpoints, engine
from core.checkpoints.spec import CheckpointSpec
from core.content import content
from core.figures.labels import in_bytes, percent
from core.figures.predictions import bars_alt, prediction_bars
from core.finetuning import record, spans
from core.finetuning.examples import LONGEST, Example, LabeledSet, parse
from core.finetuning.load import Card, predict, read_card
from core.language.text import clean
from core.settings import settings
from core.table import Table
from core.ui.finetuning.run import OWN, TRAINED, floor
from core.ui.finetuning.spans import draw_answer
from core.ui.finetuning.tags import draw_tagged
from core.ui.page import accent, theme
from core.ui.panel import Panel
from core.ui.param import Text
from core.ui.section import Section, View
from core.ui.tables import data_table

TEXT = Text(name="text", label="Text", default="Who left the door open", most=2 * LONGEST, sentence="plain")
LINES = OWN["own"]
_Judged = tuple[tuple[str, str, str, float], bool]


def draw(view: View) -> None:
    """Draw the section."""
    state, words = view.state, view.words
    left, right = st.columns(2, gap="large")
    with left:
        file = st.file_uploader(
            words.label("file"),
            "safetensors",
            key=state.key("weights.file"),
            help=words.part("File", most=f"{settings().max_weights_kb:,}"),
        )
    data = record.EXAMPLE.read_bytes() if file is None else file.getvalue()
    with right:
        card = read_card(data)
        own_box = card.task != "classes"
        box = TEXT.with_(default=words.part(f"Sample: {card.task}")) if own_box else TEXT
        own = box.draw(state, tag=card.task if own_box else "")
        spec = checkpoints.get(card.base)
        view.note(
            "Example" if file is None else "Card",
            base=spec.name,
            trained=TRAINED.options[card.setup.trained].lower(),
            parameters=f"{card.parameters:,}",
            size=in_bytes(len(data)),
        )
    asked = card.example(clean(own))
    chances = engine.run(predict, card.base, data, card, (asked,))
    if card.task == "tags":
        predicted = [card.labels[best] for best in chances.argmax(1).tolist()]
        draw_tagged(replace(view, words=content("fine-tuning", "tags")), spec, asked, predicted)
    elif card.task == "spans":
        (passage,) = engine.run(spans.tokenized, card.base, (asked,))
        draw_answer(replace(view, words=content("fine-tuning", "spans")), spec, asked, passage, chances)
    else:
        _bars(view, spec, asked.choices or card.labels, chances[0])
    view.try_and_notice()
    st.subheader(words.label("held-out"), anchor=False)
    if (texts := _held_out(view, card)) is not None:
        _predictions(view, card, data, texts)
    view.how_it_works()


def _held_out(view: View, card: Card) -> LabeledSet | None:
    """The texts with the file's classes: of a ready set, or of the visitor's own lines, whose box is drawn."""
    if card.set:
        return record.data(card.set)
    own = parse(LINES.with_(default=view.words.part("Sample")).draw(view.state))
    if set(own.labels) == set(card.labels):
        return own
    view.say("Other classes")
    return None


def _bars(view: View, spec: CheckpointSpec, names: Sequence[str], chances: NDArray[np.float32]) -> None:
    """The probability of each class or answer."""
    order, picture = chances.argsort()[::-1].tolist(), view.words.label("picture")
    labels, values = [names[at] for at in order], [float(chances[at]) for at in order]
    Panel(
        "loaded",
        picture,
        prediction_bars(labels, values, accent(spec.branch), scale=1, theme=theme()),
        bars_alt(labels, values, picture),
        Table(("class", "probability"), tuple(zip(labels, values, strict=True))),
        heading=True,
    ).draw(view.state)


def _predictions(view: View, card: Card, data: bytes, texts: LabeledSet) -> None:
    chances = engine.run(predict, card.base, data, card, texts.held_out)
    found = (_answers if card.task == "spans" else _classes)(card, texts.held_out, chances)
    rows = [dict(zip(view.words.front["columns"], row, strict=True)) for row, _ in found]
    right = [own for _, own in found]
    page = card.task if card.task in ("tags", "spans") else "learn"
    view.say(
        "Held out",
        right=sum(right),
        texts=len(rows),
        share=percent(sum(right) / len(rows)),
        baseline=content("fine-tuning", page).front["runs"]["majority"].lower(),
        most=percent(floor(texts)),
    )
    rows = [row for _, row in sorted(zip(right, rows, strict=True), key=itemgetter(0))]
    data_table(rows, "held-out", alt=view.words.label("held-out"))


def _classes(card: Card, examples: Sequence[Example], chances: NDArray[np.float32]) -> list[_Judged]:
    """Of each text or word its class, the predicted one with its probability, and whether it is right."""
    texts = [part for example in examples for part in example.words or (example.whole,)]
    goals = [goal for example in examples for goal in example.targets]
    best = [card.labels[at] for at in chances.argmax(1).tolist()]
    columns = zip(texts, goals, best, chances.max(1).tolist(), strict=True)
    return [(row, row[1] == row[2]) for row in columns]


def _answers(card: Card, examples: Sequence[Example], chances: NDArray[np.float32]) -> list[_Judged]:
    """The same of each question and its answer; the probability is that of its start times that of its end."""
    passages, found = engine.run(spans.tokenized, card.base, examples), list[_Judged]()
    parts = np.split(chances, np.cumsum([len(passage.at) for passage in passages])[:-1])
    for example, passage, part in zip(examples, passages, parts, strict=True):
        first, last = spans.best_span(part)
        text, goal = passage.text(example.second, (first, last)), spans.truth(example)
        found.append(((example.text, goal, text, float(part[first, 0] * part[last, 1])), spans.f1(text, goal) == 1))
    return found


LOAD = Section("load", draw, (TEXT, LINES))
