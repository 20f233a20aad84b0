"""The parameter calculator: a configuration to edit, its tree and its parameters beside those of the published size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from core import anatomy, catalogue
from core.anatomy.node import ModuleNode
from core.anatomy.roles import ROLES, by_role
from core.anatomy.store import size_of
from core.costs.blueprint import tree, used
from core.costs.configuration import STYLES, Configuration, meaning, start
from core.figures import parameters as figures
from core.figures.labels import in_words, percent
from core.table import Table
from core.ui.catalogue.calculator import BOXES, SIZE, SYSTEM, choose_system
from core.ui.formulas import formula
from core.ui.glossary import plain_terms
from core.ui.links import PageState
from core.ui.page import theme
from core.ui.panel import Panel
from core.ui.param import Choice, settings_menu
from core.ui.section import Section, View
from core.ui.tree import walkable_tree

DRAWING = Choice(
    name="drawing", label="Drawing", options={"treemap": "Treemap", "tree": "Tree"}, style="row", hide_label=True
)

_FIRST = ("layers", "width")
"""Fields whose boxes stand in the column; those of all others are settings."""
_NEEDS: dict[str, Callable[[Callable[[str], Any]], bool]] = {
    "decoder_layers": lambda standing: standing("kind") == "encoder-decoder",
    "axial": lambda standing: standing("scheme") == "axial",
    "hashed": lambda standing: STYLES[standing("style")].two_streams,
    **dict.fromkeys(("active", "common", "inner", "dense"), lambda standing: standing("experts") > 0),
    **dict.fromkeys(("query_latent", "rope_dim", "value"), lambda standing: standing("latent") > 0),
}
"""Fields without meaning unless other boxes have certain values."""


def parameters(view: View) -> None:
    """Draw the calculator. Raises :class:`core.errors.OutOfRange` for an invalid configuration."""
    state = view.state
    answer = st.container(key="atlas-answer")  # first also where the columns lie below each other
    with st.container(key="atlas-calculator"):
        left, right = st.columns([1, 1.7], gap="large")
    with left:
        slug, size = choose_system(state)
        origin = start(slug, size)
        values = _boxes(state, origin, f"{slug}.{size}")
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


def _boxes(state: PageState, origin: Configuration, tag: str) -> dict[str, Any]:
    """Draw all boxes, most of them as settings; the values by the configuration's fields."""
    boxes = {field: box.with_(default=getattr(origin, field)) for field, box in BOXES.items()}
    boxes["decoder_layers"] = boxes["decoder_layers"].with_(default=origin.decoder_layers or origin.layers)
    boxes["inner"] = boxes["inner"].with_(
        label=f"Expert size (0: {boxes['ffn'].standing(state, boxes['ffn'].slot(tag)):,})"
    )

    def standing(field: str) -> Any:
        return boxes[field].standing(state, boxes[field].slot(tag))

    left_out = {field for field, shows in _NEEDS.items() if not shows(standing)}
    settings = {field: box for field, box in boxes.items() if field not in {*_FIRST, *left_out}}
    values = settings_menu(state, *settings.values(), tag=tag)  # high on the page, so that it opens below the answer
    drawn = {field: boxes[field].draw(state, tag=tag) for field in _FIRST}
    return drawn | {field: values[box.name] for field, box in settings.items()}


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
