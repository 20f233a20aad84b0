"""What a size costs, computed here: the lines that facts, trees and the table of all systems show."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from core import anatomy, links
from core.anatomy.roles import by_role
from core.catalogue.schema import System
from core.costs import activations, cache_bytes, forward, shape_of, states, training
from core.costs.flops import TRAINING
from core.costs.known import formulas
from core.costs.memory import kept_by_one_token
from core.costs.remarks import differences, left_out, no_editor
from core.costs.shape import usual_length
from core.costs.special import LETTERS, kept_by_token, kept_by_word, states_by_token, towers, word_work
from core.figures.numbers import in_bytes, in_operations, percent, short
from core.ui.formulas import formula
from core.ui.glossary import Linker, caption, plain_terms
from core.ui.page import base_path
from core.ui.text_table import Link, Row, TextTable, text_table


@dataclass(frozen=True, slots=True)
class Line:
    """One computed figure, and the key of its formula."""

    what: str
    value: str
    note: str
    formula: str


def lines(slug: str, size: str) -> tuple[Line, ...]:
    """Everything that follows from the tree and the shape of a size; what is missing, :func:`left_out` tells."""
    root, shape = anatomy.tree(slug, size), shape_of(slug, size)
    parts = ", ".join(
        f"{role} {short(amount)} ({percent(amount / root.total)})" for role, amount in by_role(root).items() if amount
    )
    count = root.parameters
    training_states = states(count)
    found = [
        Line("Parameters", f"{count:,}", parts, "parameters"),
        Line(
            "Weights",
            f"{in_bytes(2 * count)} in 16 bits",
            f"{in_bytes(4 * count)} in 32 bits, {in_bytes(count / 2)} in 4",
            "states",
        ),
        Line(
            "Weights, gradients and Adam",
            in_bytes(training_states.total),
            f"mixed precision, 16 bytes a parameter; with SGD {in_bytes(states(count, 'sgd').total)}",
            "states",
        ),
    ]
    if shape is None:
        return (*found, *_by_tower(slug, size), *_by_word(slug, size))
    length = usual_length(shape)
    two = shape.kind == "encoder-decoder"
    text = f"{length:,} tokens read and {length:,} written" if two else f"a text of {length:,} tokens"
    if shape.main.heads:
        kept = [in_bytes(activations(shape, length, 1, recompute=way)) for way in ("none", "selective", "full")]
        found.append(
            Line(
                "Activations",
                kept[0],
                f"{text}, 16 bits; {kept[1]} with attention scores recomputed, {kept[2]} with whole layers",
                "activations",
            )
        )
    elif selective := kept_by_token(root):
        found.append(
            Line(
                "Activations",
                f"{in_bytes(selective)} a token",
                f"{in_bytes(length * selective)} for {text}, 16 bits, the states recomputed; kept they would be "
                f"{in_bytes(states_by_token(root))} a token more",
                "kept",
            )
        )
    if shape.stack("decoder") is not None:
        all_of_it = in_bytes(cache_bytes(shape, length, source=length))
        found.append(
            Line(
                "Key-value cache",
                f"{in_bytes(kept_by_one_token(shape))} a token",
                f"{all_of_it} for {text}, 16 bits",
                "cache",
            )
        )
    tokens = 2 * length if two else length
    there = forward(shape, root, length, length if two else 0)
    back = training(shape, root, length, length if two else 0)
    found.append(
        Line(
            "Operations for a token",
            in_operations(there.total / tokens),
            f"forward, {text}; {percent(there.attention / there.total)} of them in attention. Training "
            f"{in_operations(back.total / tokens)}; the rule 6 N gives {in_operations(6 * count)}",
            "work",
        )
    )
    return tuple(found)


def _by_tower(slug: str, size: str) -> list[Line]:
    """What each of two towers keeps and costs; nothing for other networks."""
    found = []
    for tower in towers(slug, size):
        shape, tokens = tower.shape, tower.tokens
        kept = [in_bytes(activations(shape, tokens, 1, recompute=way)) for way in ("none", "selective", "full")]
        found.append(
            Line(
                f"Activations, {tower.name} tower",
                kept[0],
                f"{tower.reads}, 16 bits; {kept[1]} with attention scores recomputed, {kept[2]} with whole layers",
                "activations",
            )
        )
        there = tower.forward
        found.append(
            Line(
                f"Operations, {tower.name} tower",
                in_operations(there.total),
                f"forward, {tower.reads}; {percent(there.attention / there.total)} of them in attention. Training "
                f"{in_operations(there.training.total)}",
                "towers",
            )
        )
    return found


def _by_word(slug: str, size: str) -> list[Line]:
    """What a word costs in a network of LSTMs; nothing for other networks."""
    work = word_work(slug, size)
    if work is None:
        return []
    kept = kept_by_word(anatomy.tree(slug, size))
    return [
        Line(
            "Activations",
            f"{in_bytes(kept)} a word",
            f"16 bits, of the LSTMs alone; {in_bytes(512 * kept)} for a text of 512 words",
            "kept",
        ),
        Line(
            "Operations for a word",
            in_operations(work.total),
            f"forward, at any length of the text; {in_operations(work.recurrent)} of them in the LSTMs, "
            f"{in_operations(work.letters)} to read {LETTERS} letters. Training {in_operations(TRAINING * work.total)}",
            "recurrent",
        ),
    ]


def computed_table(system: System, size: str) -> None:
    """The lines of one size, and a link that opens the calculators with it where they can take it."""
    found = lines(system.slug, size)
    linker = Linker("costs")
    rows: list[Row] = [
        (linker.rich(one.what), (one.value, linker.rich(one.note)), formulas()[one.formula].name) for one in found
    ]
    wanted: dict[str, links.Value] = {"system": system.slug, "size": None if size == system.default_size.name else size}
    href = base_path() + links.url("calculators", wanted)
    if not no_editor(system.slug, size):
        rows.append(("With other numbers", Link("change them in the calculators", href), ""))
    text_table(
        TextTable(
            ("", f"{system.name} {size}", "By the formula"),
            rows,
            caption=f"Costs of {system.name} {size}",
            widths=(22, 56, 22),
        )
    )
    if missing := left_out(system.slug, size):
        caption(missing)


def computed_panel(system: System) -> None:
    """The section of the facts: costs of the first size, and published figures that the count does not bear out."""
    if not system.sizes:
        return
    st.subheader("Computed here", anchor=False)
    computed_table(system, system.default_size.name)
    with st.expander("The formulas, letter by letter"):
        for key in dict.fromkeys(line.formula for line in lines(system.slug, system.default_size.name)):
            st.markdown(f"**{plain_terms(formulas()[key].name)}**")
            formula(key)
    found = differences([system])
    if not found:
        return
    rows: list[Row] = [
        (one.size.name, one.size.published_as, f"{one.counted:,}", f"{one.share:+.1%}", one.why) for one in found
    ]
    st.markdown("**Published figures that differ from the count by more than 2 %**")
    headings = ("Size", "Published", "Counted", "Difference", "Why")
    text_table(TextTable(headings, rows, caption="Differences", widths=(13, 15, 18, 13, 41), numeric=(2, 3)))
