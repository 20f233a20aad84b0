"""The KV cache: what is stored of a text, how many tokens a model computes with it and without, and published sizes."""

from __future__ import annotations

import streamlit as st

from core import anatomy, catalogue, session
from core.content import content
from core.costs import Shape, cache_bytes, shape_of
from core.costs.memory import cache_bytes_per_token
from core.costs.shape import LayerShape
from core.efficiency.growth import bytes_a_token, check, computed
from core.figures.decoding import SHOWN, cache_map
from core.figures.labels import in_bytes
from core.figures.lines import Line, line_alt, line_chart
from core.language.tokens import describe
from core.language.types import labels
from core.table import Table
from core.ui.formulas import formula
from core.ui.generation.setup import SHARED, Setup, setup
from core.ui.grid import Column, Grid
from core.ui.page import accent, theme
from core.ui.panel import Panel
from core.ui.param import Integer, Words
from core.ui.section import Section, View
from core.words import counted

AT = Integer(name="at", label="Token that is computed", low=1, high=SHOWN, style="slider", width=420)
GROW = Integer(name="grow", label="Maximum length, tokens", default=200, low=16, high=1_000, step=8, width=200)

_FIRST = ("gpt-2 xl", "gpt-neo 2.7B", "llama 7B", "llama 3-8B", "gpt-3 175B")
SIZES = Words(name="beside", label="Published sizes", options={}, most=12, style="menu", may_be_empty=True)
TOKENS = Integer(name="tokens", label="Tokens", default=2_048, low=1, high=10**7, width=150)


def kv_cache(view: View) -> None:
    """Draw what is stored, then what is computed."""
    state, chosen = view.state, setup(view, length=False, settings=False)
    checkpoint, start = session.checkpoint(chosen.spec.slug), chosen.start()
    check(checkpoint)
    size = bytes_a_token(checkpoint.model, start.ids * 4, start.source_ids)
    if size is not None:
        _stored(
            chosen,
            labels(describe(checkpoint.tokenizer, (start.source_ids or start.ids)[:SHOWN])),
            size,
        )
    view.try_and_notice()
    most = GROW.draw(state)
    lengths = list(range(1, most + 1))
    looks = {"without": (theme().ink, "dash"), "with": (accent(chosen.spec.branch), "solid")}
    counts = {name: [computed(n, cached=name == "with") for n in lengths] for name in looks}
    lines = [Line(view.words.label(name), lengths, counts[name], *look) for name, look in looks.items()]
    Panel(
        "kv-cache-tokens",
        view.words.label("computed"),
        line_chart(
            lines,
            view.words.label("tokens"),
            across=view.words.label("length"),
            hover="%{x} tokens: %{y:,} computed",
            markers=False,
            height=300,
            theme=theme(),
        ),
        line_alt(lines, view.words.label("computed"), [], view.words.label("length")),
        Table.from_columns({"length": lengths, **{view.words.label(name): counts[name] for name in counts}}),
        view.words.part("Computed", most=most, without=f"{computed(most, cached=False):,}"),
    ).draw(state)
    _published(view)
    memory = "No keys and values" if size is None else "Memory"
    view.how_it_works("How it works", memory, notes=["Sources"], size=in_bytes(size or 0))


def _stored(chosen: Setup, tokens: tuple[str, ...], size: int) -> None:
    """Draw the rows of queries, keys and values at one token; the last one unless another is chosen."""
    view, count = chosen.view, len(tokens)
    at = count
    if count > 1:
        at = AT.with_(high=count, default=count).draw(view.state, tag=f"{chosen.spec.slug}.{count}")
    stored = in_bytes(size * at)
    Panel(
        "kv-cache",
        view.words.label("stored"),
        cache_map(tokens, at, theme=theme()),
        view.words.part("Alt", at=at, before=at - 1),
        Table.from_columns(
            {
                "token": tokens,
                "query": ["used, dropped"] * (at - 1) + ["computed"] + [""] * (count - at),
                "key": ["stored"] * (at - 1) + ["computed"] + [""] * (count - at),
                "value": ["stored"] * (at - 1) + ["computed"] + [""] * (count - at),
            }
        ),
        view.words.part("Stored", at=at, before=at - 1, stored=stored),
    ).draw(view.state)


def _published(view: View) -> None:
    """Draw a table of the bytes that published sizes store, in 16 bits."""
    shapes, words = _decoders(), view.words
    st.subheader(words.label("published"), anchor=False)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        names = {name: _label(name) for name in shapes}
        first = tuple(name for name in _FIRST if name in shapes)
        chosen = SIZES.with_(options=names, default=first).draw(view.state)
        length = TOKENS.draw(view.state)
    if not chosen:
        view.note("None chosen")
        return

    def stored(name: str) -> float:
        return cache_bytes(shapes[name], length, source=length)

    columns: tuple[Column[str], ...] = (
        Column("Model", lambda name: name, names.__getitem__, 24),
        Column("Cached per token", lambda name: None, width=38, name="", cell=lambda name: _layout(shapes[name].main)),
        Column("Bytes per token", lambda name: cache_bytes_per_token(shapes[name]), in_bytes, 18),
        Column("tokens", lambda name: length),
        Column(counted(length, "token"), stored, in_bytes, 20, "bytes"),
    )
    Grid(words.label("published"), columns, chosen).draw("kv-cache-sizes", view.state.key("cache.csv"))
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


def _layout(stack: LayerShape) -> str:
    """A description of what the layers cache per token."""
    words = content("generation", "cache")
    if stack.constant:
        return words.part("Layout: constant", layers=stack.layers, values=f"{stack.constant:,}")
    if stack.cached != 2 * stack.kv_heads * stack.head_dim:
        layout = words.part("Layout: latent", layers=stack.layers, values=stack.cached)
    else:
        heads = (
            f"{stack.kv_heads} of {stack.heads} heads" if stack.kv_heads < stack.heads else counted(stack.heads, "head")
        )
        layout = f"{counted(stack.layers, 'layer')} × {heads} × 2 × {stack.head_dim}"
    windows = sorted({span for span in stack.spans if span})
    if windows:
        count = sum(1 for span in stack.spans if span)
        spans = ", ".join(f"{span:,}" for span in windows)
        layout += "; " + words.part("Layout: windows", count=count, spans=spans)
    return layout + ("; " + words.part("Layout: cross") if stack.cross else "")


CACHE = Section("cache", kv_cache, (*SHARED, AT, GROW, SIZES, TOKENS))
