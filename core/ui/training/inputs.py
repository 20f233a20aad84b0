"""Inputs: each task as tokens, the positions at which the output is read, and the tasks of GLUE."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import streamlit as st

from core.content import content
from core.objectives.example import Cell
from core.table import Table
from core.ui.glossary import caption, markdown
from core.ui.objectives.picture import picture
from core.ui.page import accent
from core.ui.panel import offer_table
from core.ui.param import Choice
from core.ui.section import Section, View
from core.ui.training import glue

FORMAT = Choice(name="format", label="Model and task", options={}, width=345)


def inputs(view: View) -> None:
    """Draw the section: one format as a figure, then a task of GLUE."""
    front = view.words.front
    formats = {entry["slug"]: entry for entry in front["formats"]}
    with view.controls():
        menu = FORMAT.with_(options={slug: entry["title"] for slug, entry in formats.items()})
        chosen = formats[menu.draw(view.state)]
    for name, tokens in chosen["rows"]:
        caption(name)
        read = cells(tokens, front["notes"])
        labels = [f"{cell.target} at {cell.token}" for cell in read if cell.target is not None]
        alt = f"{chosen['title']}, {name}: {' '.join(cell.token for cell in read)}. {'; '.join(labels)}"
        picture(read, "wordpiece", accent(chosen["branch"]), alt=alt)
    markdown(f"**Output** {chosen['output']}")
    view.note("Legend")
    view.say("Intro")
    view.try_and_notice()
    rows = tuple((entry["title"], *entry["table"]) for entry in formats.values())
    offer_table(view.state, Table(tuple(front["columns"]), rows), view.words.label("all"), "fine-tuning-inputs")
    view.how_it_works()
    st.divider()
    glue.draw_glue(replace(view, words=content("training", "glue")))


def cells(tokens: str, notes: Mapping[str, str]) -> list[Cell]:
    """Tokens separated by spaces, as cells; ``token=label`` has a target, ``notes`` describes special tokens."""
    row: list[Cell] = []
    for part in tokens.split():
        token, _, label = part.partition("=")
        row.append(
            Cell(
                token,
                target=label or None,
                change="special" if token in notes else "none",
                segment=int("[SEP]" in {cell.token for cell in row}),
                note=notes.get(token, ""),
            )
        )
    return row


INPUTS = Section("inputs", inputs, (FORMAT, *glue.PARAMS))
