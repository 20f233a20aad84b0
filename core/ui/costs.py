"""Computed costs of a size: the lines that facts, trees and the table of all systems show."""

from __future__ import annotations

from typing import NamedTuple

import streamlit as st

from core import anatomy, links
from core.anatomy.roles import by_role
from core.catalogue.schema import System
from core.content import content
from core.costs import activations, cache_bytes, forward, operations, shape_of, states
from core.costs.known import formulas
from core.costs.memory import cache_bytes_per_token
from core.costs.operations import TRAINING
from core.costs.remarks import differences, left_out, no_editor
from core.costs.shape import Shape, usual_length
from core.figures.labels import in_bytes, in_operations, percent, short
from core.links.parameters import Value
from core.ui.formulas import formula
from core.ui.glossary import Linker, caption, plain_terms
from core.ui.page import base_path
from core.ui.tables import Link, TableRow, TextTable, text_table
from core.words import counted


class Line(NamedTuple):
    """One computed figure, and the key of its formula."""

    what: str
    value: str
    note: str
    formula: str


def lines(slug: str, size: str) -> tuple[Line, ...]:
    """All costs that follow from a size's tree and shape; :func:`left_out` explains missing ones."""
    root, shape = anatomy.tree(slug, size), shape_of(slug, size)
    roles = [f"{role} {short(n)} ({percent(n / root.total)})" for role, n in by_role(root).items() if n]
    count = root.parameters
    adam, sgd = in_bytes(states(count).total), in_bytes(states(count, "sgd").total)
    single, quarter = in_bytes(4 * count), in_bytes(count / 2)
    computed = [
        Line("Parameters", f"{count:,}", ", ".join(roles), "parameters"),
        Line("Weights", f"{in_bytes(2 * count)} in 16 bits", _note("Weights", single=single, four=quarter), "states"),
        Line("Weights, gradients and Adam", adam, _note("Adam", sgd=sgd), "states"),
    ]
    if shape is None:
        return (*computed, *_by_tower(slug, size), *_by_word(slug, size))
    length = usual_length(shape)
    source = shape.source(length)
    text = (
        f"{length:,} source and {counted(length, 'target token')}"
        if source
        else f"a text of {counted(length, 'token')}"
    )
    if shape.main.heads:
        computed.append(_activations("Activations", shape, length, text))
    elif selective := operations.activation_bytes_per_token(root):
        states_kept = in_bytes(operations.state_bytes_per_token(root))
        note = _note("States", total=in_bytes(length * selective), text=text, states=states_kept)
        computed.append(Line("Activations", f"{in_bytes(selective)} per token", note, "kept"))
    if shape.generates:
        total = in_bytes(cache_bytes(shape, length, source=length))
        value = f"{in_bytes(cache_bytes_per_token(shape))} per token"
        computed.append(Line("Key-value cache", value, _note("Cache", total=total, text=text), "cache"))
    tokens = length + source
    there = forward(shape, root, length, source)
    back = there.training
    note = _note(
        "Operations",
        text=text,
        attention=percent(there.attention / there.total),
        training=in_operations(back.total / tokens),
        rule=in_operations(6 * count),
    )
    computed.append(Line("Operations per token", in_operations(there.total / tokens), note, "work"))
    return tuple(computed)


def _note(part: str, **values: str) -> str:
    return content("branch", "costs").part(part, **values)


def _activations(what: str, shape: Shape, length: int, text: str) -> Line:
    full, scores, layers = (
        in_bytes(activations(shape, length, 1, recompute=recompute)) for recompute in ("none", "selective", "full")
    )
    return Line(what, full, _note("Activations", text=text, scores=scores, layers=layers), "activations")


def _by_tower(slug: str, size: str) -> list[Line]:
    """Memory and FLOPs of each of two towers; nothing for other networks."""
    computed = []
    for tower in operations.towers(slug, size):
        there = tower.forward
        note = _note(
            "Tower",
            text=tower.reads,
            attention=percent(there.attention / there.total),
            training=in_operations(there.training.total),
        )
        computed += [
            _activations(f"Activations, {tower.name} tower", tower.shape, tower.tokens, tower.reads),
            Line(f"Operations, {tower.name} tower", in_operations(there.total), note, "towers"),
        ]
    return computed


def _by_word(slug: str, size: str) -> list[Line]:
    """The cost of a word in a network of LSTMs; nothing for other networks."""
    work = operations.word_work(slug, size)
    if work is None:
        return []
    memory = operations.activation_bytes_per_word(anatomy.tree(slug, size))
    note = _note(
        "Word operations",
        recurrent=in_operations(work.recurrent),
        letters=in_operations(work.letters),
        count=str(operations.LETTERS),
        training=in_operations(TRAINING * work.total),
    )
    return [
        Line("Activations", f"{in_bytes(memory)} per word", _note("Word", total=in_bytes(512 * memory)), "kept"),
        Line("Operations per word", in_operations(work.total), note, "recurrent"),
    ]


def computed_table(system: System, size: str) -> None:
    """Draw the costs of one size, and a link to the calculators if they support it."""
    computed = lines(system.slug, size)
    linker = Linker("costs")
    rows: list[TableRow] = [
        (linker.rich(line.what), (line.value, linker.rich(line.note)), formulas()[line.formula].name)
        for line in computed
    ]
    wanted: dict[str, Value] = {
        "tab": "parameters",
        "system": system.slug,
        "size": None if size == system.default_size.name else size,
    }
    href = base_path() + links.url("catalogue", wanted)
    if not no_editor(system.slug, size):
        rows.append(("With other numbers", Link("open the calculators", href), ""))
    text_table(
        TextTable(
            ("", f"{system.name} {size}", "Formula"),
            rows,
            caption=f"Costs of {system.name} {size}",
            widths=(22, 56, 22),
        )
    )
    if missing := left_out(system.slug, size):
        caption(missing)


def computed_panel(system: System) -> None:
    """Draw the costs of the first size, and published figures that the count contradicts."""
    if not system.sizes:
        return
    st.subheader("Computed here", anchor=False)
    computed_table(system, system.default_size.name)
    with st.expander("Formulas"):
        for key in dict.fromkeys(line.formula for line in lines(system.slug, system.default_size.name)):
            st.subheader(plain_terms(formulas()[key].name), anchor=False)
            formula(key)
    deviations = differences([system])
    if not deviations:
        return
    rows: list[TableRow] = [
        (row.size.name, row.size.published_as, f"{row.counted:,}", f"{row.share:+.1%}", row.why) for row in deviations
    ]
    st.subheader(content("branch", "costs").label("differences"), anchor=False)
    headings = ("Size", "Published", "Counted", "Difference", "Why")
    text_table(TextTable(headings, rows, caption="Differences", widths=(13, 15, 18, 13, 41), numeric=(2, 3)))
