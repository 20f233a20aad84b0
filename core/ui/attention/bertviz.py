"""bertviz's three views of a trace, as its scripts draw them, each within what a browser can draw.

What is chosen inside a view is kept in the link and the recipe. The numbers of a message from its frame, from 1, mean

    head view     layer, then the heads that are on, none for all of them      in the link: layer, on
    model view    layer and head of the picture that is enlarged, or nothing   in the link: open
    neuron view   layer and head                                               in the link: layer, head
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, cast

import streamlit as st

from core.attention import bertviz
from core.attention.bertviz import View as Drawing
from core.attention.trace import AttentionMap
from core.attention.views.export import scores_table, vectors_table
from core.attention.views.packed import Bits
from core.links import parameters as link
from core.ui.attention.inside_frame import Numbers, chosen_inside
from core.ui.attention.maps import OPEN
from core.ui.attention.setup import download_pages, download_weights, draw_model
from core.ui.export import download_csv
from core.ui.framed import framed
from core.ui.heads.panel import HEAD, LAYER, MAP, chosen_map
from core.ui.heads.text import TEXT_PARAMS, chosen_text
from core.ui.notices import warning
from core.ui.page import plain, theme
from core.ui.param import Carried, Choice
from core.ui.section import Section, View

if TYPE_CHECKING:
    from core.ui.links import PageState

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
_INSIDE = (LAYER, HEAD, ON, OPEN)
"""What is chosen inside the frame."""
_FRAME_LIMIT = 1_100


class First(NamedTuple):
    """What a view begins with, from 0; None for what nobody has chosen."""

    layer: int | None
    heads: tuple[int, ...] | None


class _Sent(NamedTuple):
    """The layers and heads that a view is sent, from 0; None for all of them."""

    layers: list[int] | None
    heads: list[int] | None


def bertviz_views(view: View) -> None:
    """Draw the section.

    Raises:
        AtlasError: what the text or the model does not allow, as a sentence.
    """
    state = view.state
    spec = draw_model(state)
    drawing = cast(Drawing, DRAWING.draw(state))
    trace = chosen_text(spec, state, pairs=True).trace(vectors=drawing == "neuron")
    found = chosen_map(trace, state)
    with st.container(horizontal=True):
        sent = _Sent(
            *(
                _some(param, size, f"{spec.slug}.{found.kind}", state)
                for param, size in ((LAYERS, found.layers), (HEADS, found.heads))
            )
        )
    some = {name: len(numbers) if numbers else None for name, numbers in sent._asdict().items()}
    able = bertviz.carries(found, drawing, **some)
    look, title = theme().name, f"{spec.name}: {DRAWING.options[drawing]}"
    first, now = _chosen(drawing, found, sent, (spec.slug, look), state)

    def page(first: First, bits: Bits = 8) -> str:
        return bertviz.render(
            trace,
            drawing,
            kind=found.kind,
            theme=look,
            title=title,
            count=max(len(found.query_tokens), len(found.key_tokens)),
            include_layers=sent.layers,
            include_heads=sent.heads,
            layer=first.layer,
            heads=first.heads,
            bits=bits,
        )

    drawn = page(first)
    framed(
        drawn,
        height=min(bertviz.height(found, drawing, able.tokens, **some), _FRAME_LIMIT),
        alt=f"bertviz's {DRAWING.options[drawing].lower()} of {spec.name}. It is drawn for the pointer; the section "
        "All heads shows the same weights and can be walked by keyboard.",
    )
    if not able.whole:
        st.caption(plain(able.sentence))
    view.try_and_notice(drawing)
    if found.note:
        st.caption(plain(found.note))
    stem = f"{spec.slug}-{drawing}-view"
    with st.container(horizontal=True):
        download_pages(partial(page, now), stem, state)
        _numbers(found, drawing, stem, sent, now, state)
        view.note("Source", size=f"{len(drawn) / 1e6:.1f}")


def _some(param: Carried, size: int, slot: str, state: PageState) -> list[int] | None:
    """Which layers or heads are sent, from 0; None for all of them."""
    key = state.key(f"bertviz.{param.name}.{slot}")
    if key not in st.session_state:
        asked = list(dict.fromkeys(state.integers(param.name)))
        lacking = [number for number in asked if not 1 <= number <= size]
        if lacking:
            numbers = ", ".join(map(str, lacking[:8]))
            warning(
                f"There is no {param.name[:-1]} {numbers} here: this model has {size}. The others are shown.",
                icon=":material/link_off:",
            )
        st.session_state[key] = [number for number in asked if number not in lacking]
    chosen = st.multiselect(
        param.label,
        range(1, size + 1),
        key=key,
        persist_state="page",
        placeholder="all of them",
        help="Fewer of them leave room for more of the text",
    )
    state.set(**{param.name: tuple(int(number) for number in chosen)})
    return sorted(int(number) - 1 for number in chosen) or None


def _chosen(
    drawing: Drawing, found: AttentionMap, sent: _Sent, about: tuple[object, ...], state: PageState
) -> tuple[First, First]:
    """What the frame begins with, and what is chosen in it now.

    Args:
        about: what beside the page's parameters the view depends on.
    """
    layers = [number + 1 for number in (range(found.layers) if sent.layers is None else sent.layers)]
    heads = [number + 1 for number in (range(found.heads) if sent.heads is None else sent.heads)]
    size = f"{found.layers} layers of {found.heads} heads"

    def fits(numbers: Numbers) -> bool:
        if drawing != "head" and len(numbers) not in (0, 2):
            return False
        return not numbers or (numbers[0] in layers and set(numbers[1:]) <= set(heads))

    def lacking(asked: Numbers) -> None:
        numbers = ", ".join(map(str, asked[1:]))
        named = f"layer {asked[0]}" + (f", head {numbers}" if numbers else "") if asked else "such head"
        warning(f"There is no {named} here: {size} are. The view begins with its default.", icon=":material/link_off:")

    begun, now = chosen_inside(
        "bertviz",
        f"bertviz.{drawing}.{found.kind}",
        state,
        asked=_asked(drawing, found, layers, heads, state),
        about=(about, sent, [state.values.get(param.name) for param in BERTVIZ.params if param not in _INSIDE]),
        fits=fits,
        lacking=lacking,
    )
    if drawing == "model":
        state.set(open=now)
    elif drawing == "head":
        state.set(layer=now[0] if now else None, on=now[1:])
    else:
        state.set(layer=now[0] if now else None, head=now[1] if now else None)
    return _first(begun), _first(now)


def _asked(drawing: Drawing, found: AttentionMap, layers: list[int], heads: list[int], state: PageState) -> Numbers:
    """The numbers that the page's parameters come to. What the model has and the view was not sent is passed over."""
    if drawing == "model":
        opened = state.integers(OPEN.name)
        there = len(opened) == 2 and opened[0] <= found.layers and opened[1] <= found.heads
        return () if there and (opened[0] not in layers or opened[1] not in heads) else opened
    layer, head, on = state.number("layer"), state.number("head"), tuple(dict.fromkeys(state.integers(ON.name)))
    if layer <= found.layers and layer not in layers:
        layer = 0
    if drawing == "neuron":
        head = 0 if head <= found.heads and head not in heads else head
        return (layer or layers[0], head or heads[0]) if layer or head else ()
    on = tuple(number for number in on if number in heads or not 1 <= number <= found.heads)
    on = () if set(on) == set(heads) else on
    return (layer or layers[0], *on) if layer or on else ()


def _first(numbers: Numbers) -> First:
    if not numbers:
        return First(None, None)
    return First(numbers[0] - 1, tuple(number - 1 for number in numbers[1:]) or None)


def _numbers(found: AttentionMap, drawing: Drawing, stem: str, sent: _Sent, now: First, state: PageState) -> None:
    """Files over the whole text, made when somebody asks for them.

    The head view gives the heads that are on in its layer, the model view every head that it was sent, the neuron view
    one head with its queries and keys.
    """
    layers: Sequence[int] = sent.layers or range(found.layers)
    heads: Sequence[int] = sent.heads or range(found.heads)
    layer = layers[0] if now.layer is None else now.layer
    if drawing == "neuron":
        head = now.heads[0] if now.heads else heads[0]
        where, stem = f"Of layer {layer + 1}, head {head + 1}", f"{stem}-layer{layer + 1}-head{head + 1}"
        download_csv(
            partial(scores_table, found, layer, head),
            stem,
            state.key("bertviz.scores"),
            of="weights and q·k",
            tip=f"{where}: for each pair of tokens the query times the key, divided by the root of its dimension, and "
            "the weight",
        )
        download_csv(
            partial(vectors_table, found, layer, head),
            f"{stem}-vectors",
            state.key("bertviz.vectors"),
            of="queries and keys",
            tip=f"{where}: the query and the key of every token",
        )
        return
    if drawing == "head":
        layers, heads, stem = [layer], now.heads or heads, f"{stem}-layer{layer + 1}"
    tip = "The weights of the heads that are shown, over the whole text"
    download_weights(found, stem, state, tip=tip, layers=layers, heads=heads)


BERTVIZ = Section("bertviz", bertviz_views, (*TEXT_PARAMS, MAP, DRAWING, LAYERS, HEADS, *_INSIDE))
