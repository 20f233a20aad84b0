"""The calculator of the key-value cache: what models that write keep of a text, side by side."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core import anatomy, catalogue
from core.costs import Shape, cache_bytes, shape_of
from core.costs.cache import kept_by_one_token
from core.costs.shape import Stack
from core.errors import OutOfRange
from core.figures.costs import Growth, cache_lines
from core.figures.numbers import in_bytes
from core.table import Table
from core.ui.calculators.parts import formula, number, pick
from core.ui.chart import chart
from core.ui.export import download_csv
from core.ui.links import PageState
from core.ui.notices import warned
from core.ui.page import theme
from core.ui.text_table import Row, TextTable, text_table

FIRST = ("gpt-2 xl", "gpt-neo 2.7B", "llama 7B", "llama 3-8B", "gpt-3 175B")
_WIDTHS = {"32": 4.0, "16": 2.0, "8": 1.0, "4": 0.5}
_POINTS = tuple(2**power for power in range(7, 21))


def cache(state: PageState) -> None:
    """Draw the calculator."""
    known = _writers()
    wide, *rest = st.columns([2.2, 1, 1, 1], vertical_alignment="bottom")
    with wide:
        names = _names(state, known)
    with rest[0]:
        length = number(state, "length", "Tokens of a text", 2048, 1, 10**7, tag="cache")
    with rest[1]:
        batch = number(state, "batch", "Texts at a time", 1, 1, 10**5)
    with rest[2]:
        bits = pick(state, "bits", "Bits of a number", {key: key for key in _WIDTHS}, "16")
    if not names:
        raise OutOfRange("No model is chosen. Choose some above.")
    width = _WIDTHS[bits]
    lengths = tuple(sorted({*_POINTS, length}))
    lines = [
        Growth(
            _label(name),
            lengths,
            tuple(cache_bytes(known[name], n, batch=batch, width=width, source=n) for n in lengths),
        )
        for name in names
    ]
    amounts = [cache_bytes(known[name], length, batch=batch, width=width, source=length) for name in names]
    said = "; ".join(f"{line.name} {in_bytes(amount)}" for line, amount in zip(lines, amounts, strict=True))
    chart(
        cache_lines(lines, length, theme=theme()),
        key=state.key("cache"),
        alt=f"Key-value cache over the length of a text. At {length:,} tokens: {said}.",
    )
    st.markdown(
        "**Try** a text of 131,072 tokens, or 64 texts at a time.\n\n"
        "**Notice** how groups of heads that share keys and values make the line start lower, and how windows bend it "
        "where the text outgrows them. Beyond a model's positions the line says what it would keep, not that it works."
    )
    _rows(state, names, known, amounts, (length, batch, width))
    formula("cache")


def _writers() -> dict[str, Shape]:
    """Every size that writes token by token, by “slug size”."""
    found = {}
    for system in catalogue.systems():
        for name in anatomy.trees(system.slug):
            shape = shape_of(system.slug, name)
            if shape is not None and shape.stack("decoder") is not None:
                found[f"{system.slug} {name}"] = shape
    return found


def _label(name: str) -> str:
    slug, _, size = name.partition(" ")
    return f"{catalogue.get(slug).name} {size}"


def _names(state: PageState, known: dict[str, Shape]) -> list[str]:
    asked = state.words("beside")
    if asked is not None and (strange := [name for name in asked if name not in known]):
        warned(f"{', '.join(map(_label, strange))}: an encoder keeps no cache, so it is left out.")
    first = [name for name in FIRST if name in known]
    chosen = st.multiselect(
        "Models",
        list(known),
        default=first if asked is None else [name for name in asked if name in known],
        key=state.key("beside"),
        format_func=_label,
        max_selections=12,
        placeholder="Choose models",
    )
    state.set(beside=None if chosen == first else tuple(chosen))
    return chosen


def _rows(
    state: PageState,
    names: Sequence[str],
    known: dict[str, Shape],
    amounts: Sequence[float],
    asked: tuple[int, int, float],
) -> None:
    length, batch, width = asked
    rows: list[Row] = []
    raw = []
    for name, amount in zip(names, amounts, strict=True):
        stack = known[name].main
        each = kept_by_one_token(known[name], width)
        rows.append((_label(name), _layout(stack), in_bytes(each), in_bytes(amount)))
        raw.append(
            {
                "model": _label(name),
                "layers": stack.layers,
                "numbers kept in a layer": stack.kept,
                "bytes a token": each,
                "tokens": length,
                "texts": batch,
                "bytes": amount,
            }
        )
    texts = "one text" if batch == 1 else f"{batch:,} texts"
    headings = ("Model", "Keeps", "A further token", f"{texts} of {length:,} tokens")
    text_table(TextTable(headings, rows, caption="Key-value cache", widths=(24, 38, 18, 20), numeric=(2, 3)))
    download_csv(Table.from_records(raw), "cache", state.key("csv.cache"))


def _layout(stack: Stack) -> str:
    """What a layer keeps, in words."""
    if stack.constant:
        return f"{stack.layers} layers × {stack.constant:,} numbers, however long the text"
    if stack.kept != 2 * stack.kv_heads * stack.head_dim:
        said = f"{stack.layers} layers × a latent of {stack.kept} numbers"
    else:
        heads = f"{stack.kv_heads} of {stack.heads} heads" if stack.kv_heads < stack.heads else f"{stack.heads} heads"
        said = f"{stack.layers} layers × {heads} × 2 × {stack.head_dim}"
    windows = sorted({span for span in stack.spans if span})
    if windows:
        count = sum(1 for span in stack.spans if span)
        said += f"; {count} layers see {', '.join(f'{span:,}' for span in windows)} tokens at most"
    return said + ("; and as much for the text that it reads" if stack.cross else "")
