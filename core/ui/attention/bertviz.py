"""bertviz's three views of a trace, drawn by its own scripts, each bounded to what a browser can draw.

The link stores the selection inside a view. The numbers of a message from its frame, from 1, mean

    head view     layer, then the heads that are on, none for all of them      in the link: layer, on
    model view    layer and head of the picture that is enlarged, or nothing   in the link: open
    neuron view   layer and head                                               in the link: layer, head

All three share the selected token with the other sections; the model view shows it in its enlarged picture.
"""

from __future__ import annotations

from functools import partial
from typing import cast

import streamlit as st

from core.attention import bertviz
from core.attention.bertviz import View as Drawing
from core.attention.trace import AttentionMap, AttentionTrace
from core.attention.views.export import Bits, scores_table, vectors_table
from core.checkpoints.spec import CheckpointSpec
from core.links import parameters as link
from core.ui.attention.maps import OPEN, Numbers, chosen_inside
from core.ui.attention.setup import download_pages, download_weights, draw_model
from core.ui.component import FRAMED, framed
from core.ui.export import download_csv
from core.ui.heads.panel import HEAD, LAYER, MAP, chosen_map
from core.ui.heads.text import TEXT_PARAMS, chosen_text
from core.ui.links import instead
from core.ui.page import plain, presenting, theme
from core.ui.panel import offer_drawing
from core.ui.param import Carried, Choice
from core.ui.section import Section, View
from core.ui.selection import TOKEN, Selection

DRAWING = Choice(
    name="bertviz",
    label="View of bertviz",
    options={"head": "Head view", "model": "Model view", "neuron": "Neuron view"},
    style="row",
    hide_label=True,
)
LAYERS = Carried(name="layers", label="Layers", as_=link.Integers(high=200, most=64))
HEADS = Carried(name="heads", label="Heads", as_=link.Integers(high=256, most=64))
ON = Carried(name="on", label="Heads that are on", as_=link.Integers(high=256, most=256))
_INSIDE = (LAYER, HEAD, ON, OPEN, TOKEN)
"""The selection inside the frame, by parameter."""
_FRAME_LIMIT = 1_100


def bertviz_views(view: View) -> None:
    state = view.state
    spec = draw_model(view)
    fewer = sum(bool(state.integers(param.name)) for param in (LAYERS, HEADS))
    chosen = chosen_text(spec, state, also=fewer)
    with chosen.row or st.container():
        drawing = cast(Drawing, DRAWING.draw(state))
    trace = chosen.trace(vectors=drawing == "neuron")
    with chosen.row or st.container():
        attention_map = chosen_map(trace, state)
    with chosen.menu or st.container():
        layers = _shown(LAYERS, attention_map.layers, f"{spec.slug}.{attention_map.kind}", view)
        heads = _shown(HEADS, attention_map.heads, f"{spec.slug}.{attention_map.kind}", view)
    about = (spec.slug, theme().name, layers, heads)
    others = [state.values.get(param.name) for param in BERTVIZ.params if param not in _INSIDE]
    first, now = _chosen(drawing, f"bertviz.{drawing}.{attention_map.kind}", layers, heads, (about, others), view)
    page = partial(_page, trace, attention_map, drawing, spec, layers, heads)
    drawn = page(first)
    tag = f"{spec.slug}.{attention_map.kind}"
    selection = Selection(state, attention_map.query_tokens, special=attention_map.special_queries, tag=tag)
    height = partial(bertviz.height, attention_map, drawing, layers=len(layers), heads=len(heads))
    framed(
        drawn,
        height=min(height(), _FRAME_LIMIT),
        alt=view.words.part("Alt", view=DRAWING.options[drawing].lower(), model=spec.name),
        whole=(bertviz.WIDTHS[drawing], height(bare=True)),
    )
    selection.chips(view.words.label("queries"), accent=spec.branch)
    selection.frame()
    _limit(attention_map, drawing, view, layers=len(layers), heads=len(heads))
    view.try_and_notice(drawing)
    if attention_map.note:
        st.caption(plain(attention_map.note))
    stem = f"{spec.slug}-{drawing}-view"
    offer_drawing(state, FRAMED, view.words.title, "svg", "png")
    download_pages(partial(page, now), stem, state)
    _numbers(attention_map, drawing, stem, now or (layers[0],), layers, heads, view)
    view.note("Source", size=f"{len(drawn) / 1e6:.1f}")


def _page(
    trace: AttentionTrace,
    attention_map: AttentionMap,
    drawing: Drawing,
    spec: CheckpointSpec,
    layers: list[int],
    heads: list[int],
    numbers: Numbers,
    bits: Bits = 8,
) -> str:
    """bertviz's page with the selection ``numbers``."""
    return bertviz.render(
        trace,
        drawing,
        kind=attention_map.kind,
        theme=theme().name,
        branch=spec.branch,
        title=f"{spec.name}: {DRAWING.options[drawing]}",
        include_layers=[layer - 1 for layer in layers],
        include_heads=[head - 1 for head in heads],
        layer=numbers[0] - 1 if numbers else None,
        heads=[head - 1 for head in numbers[1:]] or None,
        bits=bits,
        strong=presenting(),
    )


def _shown(param: Carried, size: int, owner: str, view: View) -> list[int]:
    """The layers or heads shown, from 1; by default all."""
    state, options, linked = view.state, range(1, size + 1), dict.fromkeys(view.state.integers(param.name))
    if missing := [str(number) for number in linked if number not in options]:
        instead(state, view.words.part("Missing", what=param.name[:-1], numbers=", ".join(missing[:8]), size=size))
    existing = [number for number in linked if number in options]
    help, key = view.words.label("fewer"), state.key(f"bertviz.{param.name}.{owner}")
    chosen = st.multiselect(param.label, options, existing, key=key, placeholder="all", help=help)
    state.set(**{param.name: tuple(chosen) or None})
    return sorted(chosen) or list(options)


def _chosen(
    drawing: Drawing, name: str, layers: list[int], heads: list[int], about: object, view: View
) -> tuple[Numbers, Numbers]:
    """The frame's initial selection and its current one; empty without a selection."""
    state = view.state
    layer, head, on = state.number("layer"), state.number("head"), state.integers(ON.name)
    if drawing == "model":
        linked = state.integers(OPEN.name)
    elif drawing == "neuron":
        linked = (layer or layers[0], head or heads[0]) if layer or head else ()
    else:
        linked = (layer or layers[0], *dict.fromkeys(on)) if layer or on else ()

    def fits(numbers: Numbers) -> bool:
        exist = not numbers or (numbers[0] in layers and set(numbers[1:]) <= set(heads))
        return exist and (drawing == "head" or len(numbers) in (0, 2))

    first, now = chosen_inside(
        "bertviz",
        name,
        state,
        linked=linked,
        about=about,
        fits=fits,
        missing=view.words.part("Not shown", numbers=", ".join(map(str, linked))),
    )
    if drawing == "model":
        state.set(open=now or None)
    else:
        state.set(layer=now[0] if now else None)
        state.set(**({"on": now[1:] or None} if drawing == "head" else {"head": now[1] if now else None}))
    return first, now


def _limit(attention_map: AttentionMap, drawing: Drawing, view: View, *, layers: int, heads: int) -> None:
    """Note how much of the text is shown if it is truncated."""
    longest = max(len(attention_map.query_tokens), len(attention_map.key_tokens))
    tokens = bertviz.tokens_at_once(attention_map, drawing, layers=layers, heads=heads)
    if tokens == longest:
        return
    pairs = {"head": heads, "model": layers * heads, "neuron": 1}[drawing] * longest**2
    view.note("Limit", tokens=tokens, longest=longest, pairs=f"{pairs:,}")
    if drawing != "neuron":
        view.note("Limit: fewer heads", fewer=max(1, bertviz.MAX_LINES[drawing] // longest**2))


def _numbers(
    attention_map: AttentionMap,
    drawing: Drawing,
    stem: str,
    now: Numbers,
    layers: list[int],
    heads: list[int],
    view: View,
) -> None:
    """Downloads for the whole text, created on request.

    The head view exports the selected heads of its layer, the model view every head shown, the neuron view
    one head with its queries and keys.
    """
    state, words, (layer, *on) = view.state, view.words, now
    if drawing == "neuron":
        head = on[0] if on else heads[0]
        stem = f"{stem}-layer{layer}-head{head}"
        key, tip = state.key("bertviz.scores"), words.part("Scores", layer=layer, head=head)
        download_csv(
            partial(scores_table, attention_map, layer - 1, head - 1), stem, key, of="weights and q·k", tip=tip
        )
        key, tip = state.key("bertviz.vectors"), words.part("Vectors", layer=layer, head=head)
        table = partial(vectors_table, attention_map, layer - 1, head - 1)
        download_csv(table, f"{stem}-vectors", key, of="queries and keys", tip=tip)
        return
    if drawing == "head":
        layers, heads, stem = [layer], on or heads, f"{stem}-layer{layer}"
    download_weights(
        attention_map,
        stem,
        state,
        tip=words.part("Weights"),
        layers=[number - 1 for number in layers],
        heads=[number - 1 for number in heads],
    )


BERTVIZ = Section("bertviz", bertviz_views, (*TEXT_PARAMS, MAP, DRAWING, LAYERS, HEADS, *_INSIDE))
