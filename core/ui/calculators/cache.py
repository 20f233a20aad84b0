"""The KV-cache calculator: bytes that decoders cache for a sequence, side by side."""

from __future__ import annotations

import streamlit as st

from core import anatomy, catalogue
from core.content import content
from core.costs import Shape, cache_bytes, shape_of
from core.costs.memory import cache_bytes_per_token
from core.costs.shape import Stack
from core.efficiency.fit import WIDTHS
from core.errors import OutOfRange
from core.figures.costs import Growth, cache_lines
from core.figures.labels import in_bytes
from core.table import Table
from core.ui.calculators.memory import BITS
from core.ui.calculators.setup import BATCH, LENGTH
from core.ui.formulas import formula
from core.ui.notices import unbuilt
from core.ui.page import theme
from core.ui.panel import Panel
from core.ui.param import Words
from core.ui.section import Section, View
from core.ui.text_table import Row, TextTable, text_table

_FIRST = ("gpt-2 xl", "gpt-neo 2.7B", "llama 7B", "llama 3-8B", "gpt-3 175B")
_POINTS = tuple(2**power for power in range(7, 21))
MODELS = Words(name="beside", label="Models", options={}, most=12, style="menu", may_be_empty=True)


def cache(view: View) -> None:
    """Draw the calculator. Raises :class:`core.errors.OutOfRange` without a selected model."""
    state = view.state
    unbuilt()
    known = _decoders()
    wide, *rest = st.columns([2.2, 1, 1, 1], vertical_alignment="bottom")
    with wide:
        names = {name: _label(name) for name in known}
        first = tuple(name for name in _FIRST if name in known)
        chosen = MODELS.with_(options=names, default=first).draw(state)
    with rest[0]:
        length = LENGTH.with_(default=2048).draw(state, tag="cache")
    with rest[1]:
        batch = BATCH.draw(state)
    with rest[2]:
        width = WIDTHS[BITS.draw(state)]
    if not chosen:
        raise OutOfRange(view.words.part("None chosen"))

    def size(name: str, tokens: int) -> float:
        return cache_bytes(known[name], tokens, batch=batch, width=width, source=tokens)

    lengths = tuple(sorted({*_POINTS, length}))
    lines = [Growth(names[name], lengths, tuple(size(name, tokens) for tokens in lengths)) for name in chosen]
    sizes = "; ".join(f"{names[name]} {in_bytes(size(name, length))}" for name in chosen)
    columns = ("model", "layers", "values per token and layer", "bytes per token", "tokens", "sequences", "bytes")
    raw = Table(
        columns,
        tuple(
            (
                names[name],
                known[name].main.layers,
                known[name].main.cached,
                cache_bytes_per_token(known[name], width),
                length,
                batch,
                size(name, length),
            )
            for name in chosen
        ),
    )
    Panel(
        "cache",
        "Key-value cache by sequence length",
        cache_lines(lines, length, theme=theme()),
        view.words.part("Alt", length=f"{length:,}", sizes=sizes),
        raw,
    ).draw(state)
    view.try_and_notice()
    rows: list[Row] = [
        (
            names[name],
            _layout(known[name].main),
            in_bytes(cache_bytes_per_token(known[name], width)),
            in_bytes(size(name, length)),
        )
        for name in chosen
    ]
    texts = "one sequence" if batch == 1 else f"{batch:,} sequences"
    headings = ("Model", "Cached per token", "Bytes per token", f"{texts} of {length:,} tokens")
    text_table(TextTable(headings, rows, caption="Key-value cache", widths=(24, 38, 18, 20), numeric=(2, 3)))
    formula("cache")


def _decoders() -> dict[str, Shape]:
    """Every autoregressive size, by “slug size”."""
    decoders = {}
    for system in catalogue.systems():
        for name in anatomy.trees(system.slug):
            shape = shape_of(system.slug, name)
            if shape is not None and shape.generates:
                decoders[f"{system.slug} {name}"] = shape
    return decoders


def _label(name: str) -> str:
    slug, _, size = name.partition(" ")
    return f"{catalogue.get(slug).name} {size}"


def _layout(stack: Stack) -> str:
    """A description of what the layers cache per token."""
    words = content("calculators", "cache")
    if stack.constant:
        return words.part("Layout: constant", layers=stack.layers, values=f"{stack.constant:,}")
    if stack.cached != 2 * stack.kv_heads * stack.head_dim:
        layout = words.part("Layout: latent", layers=stack.layers, values=stack.cached)
    else:
        heads = f"{stack.kv_heads} of {stack.heads} heads" if stack.kv_heads < stack.heads else f"{stack.heads} heads"
        layout = f"{stack.layers} layers × {heads} × 2 × {stack.head_dim}"
    windows = sorted({span for span in stack.spans if span})
    if windows:
        count = sum(1 for span in stack.spans if span)
        spans = ", ".join(f"{span:,}" for span in windows)
        layout += "; " + words.part("Layout: windows", count=count, spans=spans)
    return layout + ("; " + words.part("Layout: cross") if stack.cross else "")


CACHE = Section("cache", cache, (MODELS, LENGTH, BATCH, BITS))
