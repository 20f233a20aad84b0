"""Fine-tuning inputs: each task as tokens, and the positions at which the output is read."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from core.objectives.example import Cell
from core.table import Table
from core.ui.export import download_csv
from core.ui.glossary import Linker, caption, markdown
from core.ui.objectives.picture import picture
from core.ui.page import accent
from core.ui.param import Choice
from core.ui.section import Section, View
from core.ui.tables import TextTable, text_table

FORMAT = Choice(name="format", label="Model and task", options={}, width=345)
_WIDTHS = (22, 38, 20, 20)


def formats(view: View) -> None:
    """Draw the section: one format as a figure, then all as a table."""
    front = view.words.front
    known = {entry["slug"]: entry for entry in front["formats"]}
    view.say("Intro")
    chosen = known[FORMAT.with_(options={slug: entry["title"] for slug, entry in known.items()}).draw(view.state)]
    for name, tokens in chosen["rows"]:
        caption(name)
        read = cells(tokens, front["notes"])
        labels = [f"{cell.target} at {cell.token}" for cell in read if cell.target is not None]
        alt = f"{chosen['title']}, {name}: {' '.join(cell.token for cell in read)}. {'; '.join(labels)}"
        picture(read, "wordpiece", accent(chosen["branch"]), alt=alt)
    markdown(f"**Output** {chosen['output']}")
    view.note("Legend")
    view.try_and_notice()
    st.subheader(view.words.label("all"), anchor=False)
    columns, linker = tuple(front["columns"]), Linker("objectives.formats")
    rows = [(entry["title"], *entry["table"]) for entry in known.values()]
    linked = [(title, *map(linker.rich, others)) for title, *others in rows]
    text_table(TextTable(columns, linked, view.words.label("all"), _WIDTHS))
    download_csv(Table(columns, tuple(rows)), "fine-tuning-inputs", view.state.key("formats.csv"))
    view.how_it_works()


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


FORMATS = Section("fine-tuning", formats, (FORMAT,))
