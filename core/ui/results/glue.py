"""GLUE's nine tasks as one table."""

from __future__ import annotations

from core.table import Table
from core.ui.export import download_csv
from core.ui.glossary import Linker
from core.ui.section import Section, View
from core.ui.text_table import TextTable, text_table

_WIDTHS = (9, 18, 23, 19, 18, 13)


def glue(view: View) -> None:
    """Draw the section."""
    view.say("Intro")
    columns, rows = tuple(view.words.front["columns"]), [tuple(row) for row in view.words.front["rows"]]
    linker = Linker("results.glue")
    linked = [(task, *map(linker.rich, others)) for task, *others in rows]
    text_table(TextTable(columns, linked, view.words.title, _WIDTHS, numeric=(5,)))
    download_csv(Table(columns, tuple(rows)), "glue-tasks", view.state.key("glue.csv"))
    view.try_and_notice()
    view.note("Sources")


GLUE = Section("glue", glue)
