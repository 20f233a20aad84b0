"""The parameter calculator: a configuration to edit, its tree and its parameters beside those of the published size."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core import anatomy, catalogue
from core.anatomy.node import ModuleNode
from core.anatomy.roles import ROLES, by_role
from core.anatomy.store import size_of
from core.costs.blueprint import tree, used
from core.costs.configuration import STYLES, Configuration, meaning
from core.costs.start import start
from core.figures import parameters as figures
from core.figures.labels import in_words, percent
from core.table import Table
from core.ui.calculators.setup import BOXES, SIZE, SYSTEM, choose_system
from core.ui.formulas import formula
from core.ui.glossary import plain_terms
from core.ui.page import theme
from core.ui.panel import Panel
from core.ui.param import Choice
from core.ui.section import Section, View
from core.ui.tree.panel import walkable_tree

DRAWING = Choice(
    name="drawing", label="Drawing", options={"treemap": "Treemap", "tree": "Tree"}, style="row", hide_label=True
)


def parameters(view: View) -> None:
    """Draw the calculator. Raises :class:`core.errors.OutOfRange` for an invalid configuration."""
    state = view.state
    answer = st.container()  # first also where the columns lie below each other
    left, right = st.columns([1, 1.7], gap="large")
    with left:
        slug, size = choose_system(state)
        origin = start(slug, size)
        values = _boxes(view, origin, f"{slug}.{size}")
    with right:
        config = origin.changed(**values)
        yours, theirs = tree(config), anatomy.tree(slug, size)
        name = f"{catalogue.get(slug).name} {size}"
        with answer:
            _answer(view, config, yours, theirs, name, catalogue.get(slug).size(size).published_as)
            if note := meaning(size_of(slug, size).architecture):
                st.caption(plain_terms(note))
        _bars(view, yours, theirs, name)
        _picture(view, yours)
    view.try_and_notice()
    for key in ("parameters", *(["experts"] if config.experts else []), *(["latent"] if config.latent else [])):
        formula(key)


def _boxes(view: View, origin: Configuration, tag: str) -> dict[str, Any]:
    """Draw all boxes, rarely needed ones in popovers; the values by the configuration's fields."""
    values: dict[str, Any] = {}

    def draw(*fields: str, **changes: Any) -> None:
        for field in fields:
            default = {"default": getattr(origin, field)}
            values[field] = BOXES[field].with_(**default | changes).draw(view.state, tag=tag)

    draw("kind")
    left, right = st.columns(2)
    with left:
        draw("layers", "width", "ffn", "vocabulary")
    with right:
        draw("heads", "kv_heads", "positions")
        if values["kind"] == "encoder-decoder":
            draw("decoder_layers", default=origin.decoder_layers or origin.layers)
    draw("gated", "tied", "shared")  # half a column would clip their labels
    with st.popover("More", icon=":material/tune:", width="stretch"):
        draw("embedding", "head_dim", "segments", "adapter", "scheme", "head", "style")
        if values["scheme"] == "axial":
            draw("axial")
        if STYLES[values["style"]].two_streams:
            draw("hashed")
    left, right = st.columns(2)
    with left, st.popover("Experts", width="stretch"):
        draw("experts")
        if values["experts"]:
            draw("active", "common")
            draw("inner", label=f"Expert size (0: {values['ffn']:,})")
            draw("dense")
        else:
            view.note("No experts")
    with right, st.popover("Latent", width="stretch"):
        draw("latent")
        if values["latent"]:
            draw("query_latent", "rope_dim", "value")
        else:
            view.note("No latent")
    return values


def _answer(
    view: View, config: Configuration, yours: ModuleNode, theirs: ModuleNode, name: str, published: str
) -> None:
    """The two totals in words; active parameters with experts, cached values per token with a KV latent."""
    same = yours.parameters == theirs.parameters
    view.say(
        "Answer",
        total=in_words(yours.parameters),
        count=f"{yours.parameters:,}",
        against="as many as" if same else f"{yours.parameters / theirs.parameters:.3g} times as many as",
        name=name,
        theirs=f"{theirs.parameters:,}",
        published=f" (published: {published})" if published else "",
    )
    if config.experts:
        count = used(config)
        view.say(
            "Experts",
            words=in_words(count),
            count=f"{count:,}",
            active=f"{config.active:,}",
            experts=f"{config.experts:,}",
        )
    if config.latent:
        numbers = config.heads * (config.dim + config.rope_dim + config.value_dim)
        view.say("Latent", kept=f"{config.cached:,}", heads=f"{config.heads:,}", numbers=f"{numbers:,}")


def _bars(view: View, yours: ModuleNode, theirs: ModuleNode, name: str) -> None:
    figure = figures.sizes_bars({"yours": yours, name: theirs}, theme=theme())
    figure.layout.height = 250
    mine, published = by_role(yours), by_role(theirs)
    rows = [
        (role, mine[role], round(100 * mine[role] / yours.total, 1), published[role])
        for role in ROLES
        if mine[role] or published[role]
    ]
    Panel(
        "parameters",
        "Parameters by component",
        figure,
        view.words.part("Alt: parts", yours=in_words(yours.total), name=name, theirs=in_words(theirs.total)),
        Table(("part", "yours", "share of yours, %", name), (*rows, ("total", yours.total, 100.0, theirs.total))),
    ).draw(view.state)


def _picture(view: View, yours: ModuleNode) -> None:
    if DRAWING.draw(view.state) == "tree":
        walkable_tree(yours, key=view.state.key("tree"), selected="", label="Your network, module tree")
        return
    figure = figures.treemap(yours, theme=theme())
    figure.layout.height = 400
    largest = max(figures.legend_rows(yours), key=lambda row: row[2])
    Panel(
        "treemap",
        "Your network by parameters",
        figure,
        view.words.part("Alt: treemap", part=largest[0], share=percent(largest[3])),
        Table.from_records(figures.share_table(yours)),
    ).draw(view.state)


PARAMETERS = Section("parameters", parameters, (SYSTEM, SIZE, *BOXES.values(), DRAWING))
