"""The calculator of parameters: a network's numbers in boxes, its tree and its parts beside the system's own."""

from __future__ import annotations

import streamlit as st

from core import anatomy, catalogue
from core.anatomy.node import ModuleNode
from core.anatomy.roles import ROLES, by_role
from core.costs.blueprint import tree, used
from core.costs.configuration import Configuration
from core.costs.start import meaning, start
from core.figures import parameters as figures
from core.figures.numbers import in_words, percent
from core.table import Table
from core.ui.calculators.boxes import boxes
from core.ui.calculators.parts import choose_system, formula
from core.ui.chart import chart
from core.ui.export import download_csv
from core.ui.glossary import plain_terms, told
from core.ui.links import PageState
from core.ui.page import plain, theme
from core.ui.text_table import Row, TextTable, text_table
from core.ui.tree.view import walkable_tree

_DRAWINGS = {"treemap": "Treemap", "tree": "Tree"}


def parameters(state: PageState) -> None:
    """Draw the calculator. Raises :class:`core.errors.OutOfRange` for numbers that make no network."""
    answer = st.container()  # first also where the columns lie below each other
    left, right = st.columns([1, 1.7], gap="large")
    with left:
        slug, size = choose_system(state)
        origin = start(slug, size)
        values = boxes(state, origin, f"{slug}.{size}")
    with right:
        one = origin.changed(**values)
        yours = tree(one)
        system = catalogue.get(slug)
        published = system.size(size)
        theirs = anatomy.tree(slug, size)
        with answer:
            _said(yours, theirs, f"{system.name} {size}", published.published_as)
            _use(one, meaning(slug, size))
        _bars(yours, theirs, f"{system.name} {size}", state)
        _picture(state, yours)
    told(
        "**Try** sharing the layers, or a quarter of the key-value heads, or a vocabulary ten times as large; or, in "
        "Mistral 7B, 8 experts of which a token uses 2, as in Mixtral.\n\n"
        "**Notice** that doubling the width makes the layers four times as large and the embeddings twice, and that "
        "experts add parameters which a token does not use."
    )
    for key in ("parameters", *(["experts"] if one.experts else []), *(["latent"] if one.latent else [])):
        formula(key)
    _table(state, yours, theirs, f"{system.name} {size}")


def _said(yours: ModuleNode, theirs: ModuleNode, name: str, printed: str) -> None:
    """The two totals in words."""
    times = yours.parameters / theirs.parameters
    against = "the same as" if yours.parameters == theirs.parameters else f"{times:.3g} times"
    shown = f" (published: {plain(printed)})" if printed else ""
    st.markdown(
        f"### {in_words(yours.parameters)} parameters\n"
        f"{yours.parameters:,} in all: {against} {plain(name)}, which counts {theirs.parameters:,}{shown}."
    )


def _use(one: Configuration, note: str) -> None:
    """What a token uses where there are experts, what it leaves where there is a latent, and what boxes stand for."""
    if one.experts:
        count = used(one)
        st.markdown(
            plain_terms(
                f"A token goes through {in_words(count)} of them ({count:,}): it uses {one.active:,} of "
                f"{one.experts:,} experts in a layer."
            )
        )
    if one.latent:
        heads = one.heads * (one.dim + one.turned + one.value_dim)
        st.markdown(
            plain_terms(
                f"It leaves {one.kept:,} numbers a layer in the KV cache; keys and values of all "
                f"{one.heads:,} heads would be {heads:,}."
            )
        )
    if note:
        st.caption(plain_terms(note))


def _bars(yours: ModuleNode, theirs: ModuleNode, name: str, state: PageState) -> None:
    networks = {"yours": yours, name: theirs}
    figure = figures.sizes_bars(networks, theme=theme())
    figure.layout.height = 250
    chart(
        figure,
        key=state.key("bars"),
        alt=f"Parameters by what they are for: yours {in_words(yours.total)}, {name} {in_words(theirs.total)}. "
        "The table at the foot has every number.",
    )


def _picture(state: PageState, yours: ModuleNode) -> None:
    drawing = st.segmented_control(
        "Drawing",
        list(_DRAWINGS),
        format_func=_DRAWINGS.__getitem__,
        key=state.key("drawing"),
        required=True,
        default=state.text("drawing", "treemap"),
        label_visibility="collapsed",
    )
    state.set(drawing=drawing)
    if drawing == "tree":
        walkable_tree(yours, key=state.key("tree"), selected="", label="Your network, module tree")
        return
    figure = figures.treemap(yours, theme=theme())
    figure.layout.height = 400
    largest = max(figures.legend_rows(yours), key=lambda row: row[2])
    chart(
        figure,
        key=state.key("treemap"),
        alt=f"Treemap of your network by parameters. The largest part is {largest[0]}, {percent(largest[3])}.",
    )


def _table(state: PageState, yours: ModuleNode, theirs: ModuleNode, name: str) -> None:
    mine, published = by_role(yours), by_role(theirs)
    shown = [role for role in ROLES if mine[role] or published[role]]
    rows: list[Row] = [
        (role, f"{mine[role]:,}", percent(mine[role] / yours.total), f"{published[role]:,}") for role in shown
    ]
    rows.append(("in all", f"{yours.total:,}", "100.0 %", f"{theirs.total:,}"))
    headings = ("Part", "Yours", "Share", name)
    text_table(TextTable(headings, rows, caption="Parameters by part", widths=(28, 26, 18, 28), numeric=(1, 2, 3)))
    download_csv(
        Table.from_records(
            [{"part": role, "yours": mine[role], name: published[role]} for role in shown]
            + [{"part": "in all", "yours": yours.total, name: theirs.total}]
        ),
        "parameters",
        state.key("csv.parameters"),
    )
