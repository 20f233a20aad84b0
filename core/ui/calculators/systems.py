"""The costs of every system in one table, and every published figure that its count does not bear out."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core import anatomy, catalogue
from core.catalogue.schema import Size, System
from core.costs import cache_bytes, forward, shape_of, states
from core.costs.cache import kept_by_one_token
from core.costs.differences import LIMIT, differences
from core.costs.recurrent import word_work
from core.costs.towers import towers
from core.figures.numbers import in_bytes, in_operations, short
from core.table import Table
from core.ui.calculators.parts import formula, switch, usual_length
from core.ui.export import download_csv
from core.ui.glossary import noted, plain_terms
from core.ui.links import PageState
from core.ui.text_table import Row, TextTable, text_table

_HEADINGS = ("System", "Parameters", "Weights, 16 bits", "Training, Adam", "Cache a token", "Operations a token")


def all_systems(state: PageState) -> None:
    """Draw both tables."""
    systems = [system for system in catalogue.systems() if system.sizes]
    every = switch(state, "every", "Every size", False, help="Otherwise the size that each system's page opens with")
    shown = [
        (system, size)
        for system in systems
        for size in (system.sizes if every else (system.default_size,))
        if size.name in anatomy.trees(system.slug)
    ]
    raw = [_figures(system, size) for system, size in shown]
    rows = [_row(one) for one in raw]
    st.markdown(f"### What {len(rows)} {'sizes' if every else 'systems'} cost, computed here")
    text_table(
        TextTable(
            _HEADINGS, rows, caption="Costs of all systems", widths=(24, 14, 15, 15, 14, 18), numeric=(1, 2, 3, 4, 5)
        )
    )
    noted(
        "Training: weights, gradients and Adam in mixed precision, without activations. Cache: 16 bits a number, one "
        "token more; encoders keep none. Operations: a forward pass for a token of a text of the length given below, "
        "for CLIP the tokens of a text and of an image together."
    )
    download_csv(Table.from_records(raw), "costs", state.key("csv.costs"))
    _differences(state)
    for key in ("states", "cache", "work", "towers", "recurrent"):
        formula(key)


def _figures(system: System, size: Size) -> dict[str, Any]:
    """The figures of one size; None where a network has no such thing."""
    root, shape = anatomy.tree(system.slug, size.name), shape_of(system.slug, size.name)
    count = root.parameters
    found: dict[str, Any] = {
        "system": system.name,
        "size": size.name,
        "parameters": count,
        "weights in 16 bits, bytes": 2 * count,
        "training states, bytes": states(count).total,
        "cache of a token, bytes": None,
        "length of the text": None,
        "cache of the text, bytes": None,
        "operations of a token": None,
    }
    if shape is None:
        return found | _otherwise(system.slug, size.name)
    length = usual_length(shape)
    source = length if shape.kind == "encoder-decoder" else 0
    found["length of the text"] = length
    found["operations of a token"] = forward(shape, root, length, source).total / (length + source)
    if shape.stack("decoder") is not None:
        found["cache of a token, bytes"] = kept_by_one_token(shape)
        found["cache of the text, bytes"] = cache_bytes(shape, length, source=source)
    return found


def _otherwise(slug: str, size: str) -> dict[str, Any]:
    """Operations of what is no single stack: two towers, by what both read together, or LSTMs, by the word."""
    if both := towers(slug, size):
        tokens = sum(tower.tokens for tower in both)
        work = sum(tower.forward.total for tower in both)
        return {"length of the text": tokens, "operations of a token": work / tokens}
    word = word_work(slug, size)
    return {} if word is None else {"length of the text": 1, "operations of a token": word.total}


def _row(one: dict[str, Any]) -> Row:
    kept, work = one["cache of a token, bytes"], one["operations of a token"]
    return (
        (one["system"], one["size"]),
        short(one["parameters"]),
        in_bytes(one["weights in 16 bits, bytes"]),
        in_bytes(one["training states, bytes"]),
        "none" if kept is None else in_bytes(kept),
        ("not computed" if work is None else in_operations(work), _text(one["length of the text"])),
    )


def _text(length: int | None) -> str:
    return "" if length is None else f"{length:,} tokens" if length > 1 else "a word, at any length"


def _differences(state: PageState) -> None:
    found = differences(catalogue.systems())
    st.markdown(f"### Published figures that differ from the count by more than {LIMIT:.0%}")
    rows: list[Row] = [
        (
            (one.system.name, one.size.name),
            (one.size.published_as, one.system.citation(one.size.source).evidence if one.size.source else ""),
            f"{one.counted:,}",
            f"{one.share:+.1%}",
            one.why,
        )
        for one in found
    ]
    headings = ("System", "Published", "Counted", "Difference", "Why")
    text_table(TextTable(headings, rows, caption="Differences", widths=(18, 15, 17, 11, 39), numeric=(2, 3)))
    st.caption(
        plain_terms(
            "Counted: the skeleton built from the published configuration, shared tensors once. A rounded figure may "
            "be off by 2 % or more without being wrong."
        )
    )
    raw = [
        {
            "system": one.system.name,
            "size": one.size.name,
            "published": one.published,
            "counted": one.counted,
            "share": one.share,
            "why": one.why,
        }
        for one in found
    ]
    download_csv(Table.from_records(raw), "differences", state.key("csv.differences"))
