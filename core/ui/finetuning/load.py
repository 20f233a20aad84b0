"""Trained weights, loaded again: a visitor's file, or an example, on held-out texts and on any text."""

from __future__ import annotations

import streamlit as st

from core import checkpoints, engine
from core.figures.labels import in_bytes, percent
from core.figures.predictions import bars_alt, prediction_bars
from core.finetuning import record
from core.finetuning.examples import LONGEST, LabeledSet, parse, ready
from core.finetuning.load import Card, predict, read_card
from core.language.text import clean
from core.settings import settings
from core.table import Table
from core.ui.finetuning.run import OWN, TRAINED
from core.ui.page import accent, theme
from core.ui.panel import Panel
from core.ui.param import Text
from core.ui.section import Section, View
from core.ui.tables import data_table

TEXT = Text(name="text", label="Text", default="Who left the door open", most=2 * LONGEST, sentence="plain")
LINES = OWN["own"]


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
        box = TEXT.with_(default=words.part("Sample: choice")) if card.chooses else TEXT
        own = box.draw(state, tag="choice" if card.chooses else "")
        spec = checkpoints.get(card.base)
        view.note(
            "Example" if file is None else "Card",
            base=spec.name,
            trained=TRAINED.options[card.setup.trained].lower(),
            parameters=f"{card.parameters:,}",
            size=in_bytes(len(data)),
        )
    asked = card.example(clean(own))
    (chances,) = engine.run(predict, card.base, data, card, (asked,))
    order = chances.argsort()[::-1].tolist()
    labels, values = [(asked.choices or card.labels)[at] for at in order], [float(chances[at]) for at in order]
    Panel(
        "loaded",
        words.label("picture"),
        prediction_bars(labels, values, accent(spec.branch), scale=1, theme=theme()),
        bars_alt(labels, values, words.label("picture")),
        Table(("class", "probability"), tuple(zip(labels, values, strict=True))),
        heading=True,
    ).draw(state)
    view.try_and_notice()
    st.subheader(words.label("held-out"), anchor=False)
    if (texts := _held_out(view, card)) is not None:
        _predictions(view, card, data, texts)
    view.how_it_works()


def _held_out(view: View, card: Card) -> LabeledSet | None:
    """The texts with the file's classes: of a ready set, or of the visitor's own lines, whose box is drawn."""
    if card.set:
        return ready(card.set)
    own = parse(LINES.with_(default=view.words.part("Sample")).draw(view.state))
    if set(own.labels) == set(card.labels):
        return own
    view.say("Other classes")
    return None


def _predictions(view: View, card: Card, data: bytes, texts: LabeledSet) -> None:
    chances = engine.run(predict, card.base, data, card, texts.held_out)
    predicted = [card.labels[best] for best in chances.argmax(1).tolist()]
    rows = [
        {"text": example.whole, "class": example.label, "predicted": label, "probability": float(probability)}
        for example, label, probability in zip(texts.held_out, predicted, chances.max(1), strict=True)
    ]
    right = sum(row["class"] == row["predicted"] for row in rows)
    view.say("Held out", right=right, texts=len(rows), share=percent(right / len(rows)), most=percent(texts.majority))
    rows.sort(key=lambda row: row["class"] == row["predicted"])
    data_table(rows, "held-out", alt=view.words.label("held-out"))


LOAD = Section("load", draw, (TEXT, LINES))
