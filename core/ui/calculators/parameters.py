"""The calculator of parameters: a network's numbers in boxes, its tree and its parts beside the system's own."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core import anatomy, catalogue
from core.anatomy.node import ModuleNode
from core.anatomy.roles import ROLES, by_role
from core.costs.blueprint import tree
from core.costs.configuration import HEADS, POSITIONS, STYLES, Configuration
from core.costs.start import start
from core.figures import parameters as figures
from core.figures.numbers import in_words, percent
from core.ui.calculators.parts import choose_system, dark, formula, number, pick, switch, take_away
from core.ui.links import PageState
from core.ui.page import plain
from core.ui.tables import Row, Table, table
from core.ui.tree.view import walkable_tree

_KINDS = {"encoder": "encoder", "decoder": "decoder", "encoder-decoder": "encoder and decoder"}
_DRAWINGS = {"treemap": "Treemap", "tree": "Tree"}


def parameters(state: PageState) -> None:
    """Draw the calculator. Raises :class:`core.errors.OutOfRange` for numbers that make no network."""
    answer = st.container()  # first also where the columns lie below each other
    left, right = st.columns([1, 1.7], gap="large")
    with left:
        slug, size = choose_system(state)
        origin = start(slug, size)
        values = _boxes(state, origin, f"{slug}.{size}")
    with right:
        yours = tree(origin.changed(**values))
        system = catalogue.get(slug)
        published = system.size(size)
        theirs = anatomy.tree(slug, size)
        with answer:
            _said(yours, theirs, tree(origin).parameters, f"{system.name} {size}", published.published_as)
        _bars(yours, theirs, f"{system.name} {size}", state)
        _picture(state, yours)
    st.markdown(
        "**Try** sharing the layers, or a quarter of the key-value heads, or a vocabulary ten times as large.\n\n"
        "**Notice** that doubling the width makes the layers four times as large and the embeddings twice."
    )
    formula("parameters")
    _table(state, yours, theirs, f"{system.name} {size}")


def _boxes(state: PageState, origin: Configuration, tag: str) -> dict[str, Any]:
    """All boxes; returns what they hold, under the configuration's names."""
    got: dict[str, Any] = {"kind": pick(state, "kind", "Architecture", _KINDS, origin.kind, tag=tag)}
    two = got["kind"] == "encoder-decoder"
    one, other = st.columns(2)
    with one:
        got["layers"] = number(state, "layers", "Layers", origin.layers, 1, 1000, tag=tag)
        got["width"] = number(state, "width", "Width", origin.width, 1, 200_000, tag=tag)
        got["ffn"] = number(state, "ffn", "Feed-forward width", origin.ffn, 1, 2_000_000, tag=tag)
        got["vocabulary"] = number(state, "vocabulary", "Vocabulary", origin.vocabulary, 1, 10**7, tag=tag)
    with other:
        got["heads"] = number(state, "heads", "Heads", origin.heads, 1, 2000, tag=tag)
        got["kv_heads"] = number(
            state, "kv", "Key-value heads", origin.kv_heads, 1, 2000, tag=tag,
            help="Heads that have keys and values of their own; fewer than heads means that several share them.",
        )  # fmt: skip
        got["positions"] = number(
            state, "positions", "Positions", origin.positions, 0, 10**8, tag=tag,
            help="Rows of the learned table. Other schemes have none to count.",
        )  # fmt: skip
        if two:
            got["decoder_layers"] = number(
                state, "below", "Decoder layers", origin.decoder_layers or origin.layers, 1, 1000, tag=tag
            )
    one, other = st.columns(2)
    with one:
        got["gated"] = switch(
            state, "gated", "Gated", origin.gated, tag=tag, help="A third matrix that opens and shuts"
        )
        got["tied"] = switch(
            state,
            "tied",
            "Tied",
            origin.tied,
            tag=tag,
            help="The matrix that writes words is the one that reads",
        )
    with other:
        got["shared"] = switch(
            state, "shared", "Shared", origin.shared, tag=tag, help="One layer, used at every depth, as in ALBERT"
        )
        with st.popover("More", icon=":material/tune:"):
            got |= _more(state, origin, tag)
    return got


def _more(state: PageState, origin: Configuration, tag: str) -> dict[str, Any]:
    """What few need to set."""
    words = number(
        state, "words", "Word vector (0: the width)", origin.embedding, 0, 200_000, tag=tag,
        help="Factorised embeddings: V × E and E × d numbers instead of V × d",
    )  # fmt: skip
    return {
        "embedding": words,
        "head_dim": number(state, "dim", "Width of a head (0: width / heads)", origin.head_dim, 0, 10**5, tag=tag),
        "segments": number(state, "segments", "Segments", origin.segments, 0, 1000, tag=tag),
        "scheme": pick(state, "scheme", "Where positions enter", POSITIONS, origin.scheme, tag=tag),
        "head": pick(state, "head", "On top", HEADS, origin.head, tag=tag),
        "style": pick(
            state, "style", "Biases and norms", {key: style.name for key, style in STYLES.items()}, origin.style,
            tag=tag,
        ),
    }  # fmt: skip


def _said(yours: ModuleNode, theirs: ModuleNode, template: int, name: str, printed: str) -> None:
    """The two totals in words, and what the editor cannot hold."""
    times = yours.parameters / theirs.parameters
    against = "the same as" if yours.parameters == theirs.parameters else f"{times:.3g} times"
    shown = f" (published: {plain(printed)})" if printed else ""
    st.markdown(
        f"### {in_words(yours.parameters)} parameters\n"
        f"{yours.parameters:,} in all: {against} {plain(name)}, which counts {theirs.parameters:,}{shown}."
    )
    if template != theirs.parameters:
        st.caption(
            f"Unchanged, these boxes give {template:,}, {abs(template / theirs.parameters - 1):.2%} "
            f"{'more' if template > theirs.parameters else 'fewer'} than {plain(name)} counts: it has parts that no "
            "box stands for, or lacks some. Its module tree shows them."
        )


def _bars(yours: ModuleNode, theirs: ModuleNode, name: str, state: PageState) -> None:
    networks = {"yours": yours, name: theirs}
    figure = figures.sizes_bars(networks)
    figure.update_layout(height=250)
    st.plotly_chart(
        figure, key=state.key("bars"), config={"displayModeBar": False},
        alt=f"Parameters by what they are for: yours {in_words(yours.total)}, {name} {in_words(theirs.total)}. "
        "The table at the foot has every number.",
    )  # fmt: skip


def _picture(state: PageState, yours: ModuleNode) -> None:
    drawing = st.segmented_control(
        "Drawing", list(_DRAWINGS), format_func=_DRAWINGS.__getitem__, key=state.key("drawing"), required=True,
        default=state.text("drawing", "treemap"), label_visibility="collapsed",
    )  # fmt: skip
    state.set(drawing=drawing)
    if drawing == "tree":
        walkable_tree(yours, key=state.key("tree"), selected="", label="Your network, module tree")
        return
    figure = figures.treemap(yours, dark=dark())
    figure.update_layout(height=400)
    largest = max(figures.legend_rows(yours), key=lambda row: row[2])
    st.plotly_chart(
        figure, key=state.key("treemap"), config={"displayModeBar": False},
        alt=f"Treemap of your network by parameters. The largest part is {largest[0]}, {percent(largest[3])}.",
    )  # fmt: skip


def _table(state: PageState, yours: ModuleNode, theirs: ModuleNode, name: str) -> None:
    mine, published = by_role(yours), by_role(theirs)
    shown = [role for role in ROLES if mine[role] or published[role]]
    rows: list[Row] = [
        (role, f"{mine[role]:,}", percent(mine[role] / yours.total), f"{published[role]:,}") for role in shown
    ]
    rows.append(("in all", f"{yours.total:,}", "100.0 %", f"{theirs.total:,}"))
    headings = ("Part", "Yours", "Share", name)
    table(Table(headings, rows, caption="Parameters by part", widths=(28, 26, 18, 28), numeric=(1, 2, 3)))
    take_away(
        state,
        [{"part": role, "yours": mine[role], name: published[role]} for role in shown]
        + [{"part": "in all", "yours": yours.total, name: theirs.total}],
        "parameters",
    )
