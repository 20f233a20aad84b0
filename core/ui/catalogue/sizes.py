"""Sizes and costs: systems as bars of parameters by role, the costs of all, and published figures that differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from core import anatomy, catalogue
from core.anatomy.roles import EMBEDDINGS, by_role
from core.catalogue.schema import Size, System
from core.costs import cache_bytes, forward, shape_of, states
from core.costs.memory import cache_bytes_per_token
from core.costs.operations import towers, word_work
from core.costs.remarks import LIMIT, differences
from core.costs.shape import usual_length
from core.figures import parameters as figures
from core.figures.labels import in_words, percent
from core.table import Table
from core.ui.formulas import formula
from core.ui.glossary import unbuilt
from core.ui.page import theme
from core.ui.panel import Panel, offer_table
from core.ui.param import Toggle, Words
from core.ui.section import Section, View

CHOSEN = Words(
    name="systems",
    label="Systems",
    options={},
    default=("bert", "albert", "distilbert", "t5"),
    most=9,
    style="menu",
    as_chosen=True,
)
SHARES = Toggle(name="shares", label="As shares")
EVERY = Toggle(name="every", label="Every size")


def sizes(view: View) -> None:
    """Draw the bars of the chosen systems, and offer the costs of all and the published figures that differ."""
    state = view.state
    unbuilt()
    systems = {system.slug: system for system in catalogue.systems() if anatomy.counts(system.slug)}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = CHOSEN.with_(options={slug: system.name for slug, system in systems.items()}).draw(state)
        shares, every = SHARES.draw(state), EVERY.draw(state)
    _bars(view, [systems[slug] for slug in chosen], shares, every)
    raw = [
        _figures(system, size)
        for system in catalogue.systems()
        for size in system.sizes
        if (every or size == system.default_size) and size.name in anatomy.trees(system.slug)
    ]
    count = f"{len(raw)} {'sizes' if every else 'systems'}"
    offer_table(state, Table.from_records(raw), view.words.part("Costs", count=count), "costs")
    view.note("Columns")
    _differences(view)
    for key in ("states", "cache", "work", "towers", "recurrent"):
        formula(key)


def _bars(view: View, chosen: Sequence[System], shares: bool, every: bool) -> None:
    """Draw the parameters by role of each chosen system, at its default size or at every one."""
    trees = [(system, anatomy.trees(system.slug)) for system in chosen]
    networks = {
        f"{system.name} {name}": root
        for system, by_size in trees
        for name, root in by_size.items()
        if every or name == (system.default_size.name if system.default_size.name in by_size else next(iter(by_size)))
    }
    most = max(networks, key=lambda label: networks[label].total)
    Panel(
        "sizes",
        view.words.part("Networks", count=len(networks)),
        figures.sizes_bars(networks, relative=shares, theme=theme()),
        view.words.part("Alt", networks=len(networks), largest=most, count=in_words(networks[most].total)),
        Table.from_records(figures.sizes_table(networks)),
    ).draw(view.state)
    low, high = (
        max(networks, key=lambda label: sign * by_role(networks[label])[EMBEDDINGS] / networks[label].total)
        for sign in (-1, 1)
    )
    first, last = (percent(by_role(networks[label])[EMBEDDINGS] / networks[label].total) for label in (low, high))
    view.try_and_notice(low=low, first=first, high=high, last=last)


def _figures(system: System, size: Size) -> dict[str, Any]:
    """The costs of one size; None where a cost does not apply."""
    root, shape = anatomy.tree(system.slug, size.name), shape_of(system.slug, size.name)
    count = root.parameters
    row: dict[str, Any] = {
        "system": system.name,
        "size": size.name,
        "parameters": count,
        "weights in 16 bits, bytes": 2 * count,
        "training states, bytes": states(count).total,
        "KV cache per token, bytes": None,
        "sequence length": None,
        "KV cache of the sequence, bytes": None,
        "operations per token": None,
    }
    if shape is None:
        return row | _otherwise(system.slug, size.name)
    length = usual_length(shape)
    source = shape.source(length)
    row["sequence length"] = length
    row["operations per token"] = forward(shape, root, length, source).total / (length + source)
    if shape.generates:
        row["KV cache per token, bytes"] = cache_bytes_per_token(shape)
        row["KV cache of the sequence, bytes"] = cache_bytes(shape, length, source=source)
    return row


def _otherwise(slug: str, size: str) -> dict[str, Any]:
    """FLOPs of other networks: of two towers per token of either, of LSTMs per word."""
    if both := towers(slug, size):
        tokens = sum(tower.tokens for tower in both)
        work = sum(tower.forward.total for tower in both)
        return {"sequence length": tokens, "operations per token": work / tokens}
    word = word_work(slug, size)
    return {} if word is None else {"sequence length": 1, "operations per token": word.total}


def _differences(view: View) -> None:
    table = Table.from_records(
        [
            {
                "system": row.system.name,
                "size": row.size.name,
                "published": row.published,
                "evidence": row.system.citation(row.size.source).evidence if row.size.source else None,
                "counted": row.counted,
                "share": row.share,
                "why": row.why,
            }
            for row in differences(catalogue.systems())
        ]
    )
    offer_table(view.state, table, view.words.part("Differences", limit=f"{LIMIT:.0%}"), "differences")
    view.note("Counted")


SIZES = Section("sizes", sizes, (CHOSEN, SHARES, EVERY))
