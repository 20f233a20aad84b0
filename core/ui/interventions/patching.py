"""Patching: how much of a prediction returns with one state of another text, and the whole distribution for a cell."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from core import session
from core.attention.tokens import short
from core.checkpoints.spec import CheckpointSpec
from core.figures.interventions import patch_map
from core.figures.labels import percent
from core.figures.predictions import compared_bars
from core.interventions.patching import LEAST, Cell, Kind, Patched, Patching, States, kinds_of, patch_cell, patch_grid
from core.links import parameters as link
from core.table import Table
from core.ui.heads.panel import KINDS
from core.ui.interventions.pair import PAIR_PARAMS, SECOND, draw_pair
from core.ui.interventions.setup import draw_model
from core.ui.page import plain, theme
from core.ui.panel import Panel
from core.ui.param import Carried, Choice
from core.ui.section import Section, View
from core.ui.selection import clicks
from core.ui.slot import Slot

PART = Choice(
    name="part",
    label="State",
    options={"resid": "Residual stream", "attn": "Attention", "mlp": "Feed-forward", "heads": "Heads"},
    style="row",
    hide_label=True,
    resets=("cell",),
)
SIDE = Choice(name="side", label="Where", options=KINDS, style="row", hide_label=True, resets=("cell",))
CELL = Carried(name="cell", label="Cell", as_=link.Integers(high=1_000, most=2))


def patching(view: View) -> None:
    spec = draw_model(view)
    with st.spinner(session.waiting("loading-the-model")):
        kinds = kinds_of(session.checkpoint(spec.slug))
    asked = draw_pair(spec, view, second=True)
    first, second, more = asked.first, asked.second, asked.more
    part, side = _states(kinds, spec, view)
    grid = session.computed("patching", patch_grid, spec.slug, first, second, part, side, **more)
    if np.isnan(grid.recovered).any():
        before, after = (f"{difference:.1f}" for difference in grid.differences)
        view.say("Nothing", answer=_difference(grid), first=before, second=after, least=LEAST)
        return
    slot = _cell(grid, part, (spec.slug, side, part, first, second), view)
    cell = Cell(*(number - 1 for number in slot.get()))
    patched = session.computed("patching", patch_cell, spec.slug, first, second, part, side, cell, **more)
    left, right = st.columns([1.35, 1], gap="medium")
    with left:
        _grid(grid, cell, part, f"{spec.slug}-patching-{side}-{part}", view, slot)
    with right:
        _answers(grid, patched, cell, part, view)
    view.try_and_notice("tasks" if spec.offers("classifies texts") else spec.family.side)


def _states(kinds: tuple[Kind, ...], spec: CheckpointSpec, view: View) -> tuple[States, Kind]:
    """Draw the choice of states: what is patched, and whose it is."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        sides = {str(kind): KINDS[kind] for kind in kinds}
        side: Any = kinds[0] if len(kinds) == 1 else SIDE.with_(options=sides).draw(view.state, tag=spec.slug)
        parts = {part: name for part, name in PART.options.items() if side != "cross" or part in ("attn", "heads")}
        part: Any = PART.with_(options=parts).draw(view.state, tag=side)
    return part, side


def _cell(grid: Patching, part: States, owner: tuple[str, ...], view: View) -> Slot[tuple[int, int]]:
    """The selected row and column, from 1: first the cell that recovers most, of the residual stream between the first
    row and the last, which recover all."""
    rows, columns = grid.recovered.shape
    start, end = (1, rows - 1) if part == "resid" and rows > 2 else (0, rows)
    row, column = divmod(int(grid.recovered[start:end].argmax()), columns)

    def refusal(at: tuple[int, int]) -> str:
        fits = len(at) == 2 and 1 <= at[0] <= rows and 1 <= at[1] <= columns
        return "" if fits else view.words.part("No cell", rows=rows, columns=columns)

    return Slot(view.state, CELL, (row + start + 1, column + 1), owner=owner, refusal=refusal)


def _grid(grid: Patching, cell: Cell, part: States, slug: str, view: View, slot: Slot[tuple[int, int]]) -> None:
    """Draw the grid; a click selects a cell."""
    rows, columns = grid.recovered.shape
    names, heads = _rows(rows, part), part == "heads"
    pairs = zip(grid.first, grid.second, strict=True)
    tokens = [short(a, 12) if a == b else f"{short(a, 12)} / {short(b, 12)}" for a, b in pairs]
    across = [str(head + 1) for head in range(columns)] if heads else tokens
    alt = {"rows": rows, "columns": columns, "row": names[cell.row], "column": across[cell.column]}
    numbers = {
        "state": [name for name in names for _ in across],
        "at": across * rows,
        "recovered": [round(share, 4) for share in grid.recovered.ravel().tolist()],
    }
    panel = Panel(
        slug,
        view.words.label("grid"),
        patch_map(grid.recovered, names, across, cell, heads=heads, causal=grid.causal, theme=theme()),
        view.words.part("Alt: grid", best=f"{grid.recovered.max():.0%}", **alt),
        Table.from_columns(numbers),
        heading=True,
    )

    def choose(at: int) -> None:
        row, column = divmod(at, columns)
        slot.set((row + 1, column + 1))

    panel.draw(view.state, **clicks(panel.key(view.state), rows * columns, choose))


def _answers(grid: Patching, patched: Patched, cell: Cell, part: States, view: View) -> None:
    """Draw the predictions before and after one state is patched."""
    # there may be more heads than tokens
    place = f"head {cell.column + 1}" if part == "heads" else f"“{plain(short(grid.first[cell.column], 20))}”"
    st.subheader(f"{PART.options[part]}, {_rows(len(grid.recovered), part)[cell.row]}, {place}", anchor=False)
    first, second = grid.differences
    numbers = {"first": first, "second": second, "patched": patched.difference}
    st.markdown(
        view.words.part(
            "Returned",
            answer=_difference(grid),
            share=percent(float(grid.recovered[cell.row, cell.column])),
            **{name: f"{difference:.1f}" for name, difference in numbers.items()},
        )
    )
    answers = [change.token for change in patched.changes]
    probabilities = {
        "first text": patched.first,
        "second text": [change.before for change in patched.changes],
        "second text, patched": [change.after for change in patched.changes],
    }
    words = list(zip(answers, zip(*probabilities.values(), strict=True), strict=True))
    Panel(
        "patched",
        view.words.label("answers"),
        compared_bars(list(probabilities), words, theme().categorical, theme=theme()),
        view.words.part("Alt: answers")
        + "".join(f" {answer} {percent(before)} → {percent(after)}," for answer, (_, before, after) in words),
        Table.from_columns({"answer": answers, **probabilities}),
    ).draw(view.state)


def _rows(count: int, part: States) -> list[str]:
    """Names of the rows of a grid."""
    if part == "resid":
        return ["embeddings", *(f"after layer {row}" for row in range(1, count))]
    return [f"layer {row + 1}" for row in range(count)]


def _difference(grid: Patching) -> str:
    """The logit difference, as Markdown."""
    return f"“{plain(grid.answers[0])}” − “{plain(grid.answers[1])}”"


PATCHING = Section("patch", patching, (*PAIR_PARAMS, SECOND, PART, SIDE, CELL))
