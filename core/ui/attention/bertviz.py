"""bertviz's three views of a trace, as its scripts draw them, each within what a browser can draw."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from core.attention import bertviz
from core.attention.bertviz import View, carries
from core.attention.views.packed import Bits
from core.checkpoints.spec import CheckpointSpec
from core.ui.attention.bertviz_chosen import First, chosen
from core.ui.attention.bertviz_numbers import numbers
from core.ui.export import download_html
from core.ui.framed import framed
from core.ui.heads.parts import name
from core.ui.heads.text import text_trace
from core.ui.notices import warned
from core.ui.page import plain, theme

if TYPE_CHECKING:
    from core.ui.links import PageState

VIEWS: dict[View, str] = {"head": "Head view", "model": "Model view", "neuron": "Neuron view"}
_SAYS: dict[View, str] = {
    "head": "**Try** a token with the pointer, then the coloured squares: one for each head of the layer.",
    "model": "**Try** a picture with a click: it opens large. Look down a column and along a row.",
    "neuron": "**Try** the plus sign beside a token: query, key, their product number by number, and what the "
    "softmax leaves of it.",
}
_NOTICE: dict[View, str] = {
    "head": "how many lines end at the first token or at a separator: heads that find nothing often rest there.",
    "model": "which pictures look alike, side by side or layers apart: several heads do one kind of work.",
    "neuron": "that a score is a sum: every number of a query times that of a key, some for it and some against.",
}
_FRAME_LIMIT = 1_100


def bertviz_views(spec: CheckpointSpec, state: PageState) -> None:
    """Draw the whole section; reads and writes text, second, task, map, bertviz, layers, heads, and what is
    chosen in the frame: layer, head, on, open.

    Raises:
        AtlasError: what the text or the model does not allow, as a sentence.
    """
    wanted = state.text("bertviz", "head")
    view: View = st.segmented_control(
        "View of bertviz",
        list(VIEWS),
        format_func=VIEWS.__getitem__,
        default=wanted if wanted in VIEWS else "head",
        required=True,
        key=state.key("bertviz.view"),
        label_visibility="collapsed",
    )
    state.set(bertviz=None if view == "head" else view)
    trace = text_trace(spec, state, pairs=True, vectors=view == "neuron")
    maps = {found.kind: found for found in trace.maps}
    kind = state.text("map") if state.text("map") in maps else next(iter(maps))
    if len(maps) > 1:
        kind = st.segmented_control(
            "Attention",
            list(maps),
            format_func={kind: name(one) for kind, one in maps.items()}.__getitem__,
            default=kind,
            required=True,
            key=state.key(f"bertviz.kind.{spec.slug}"),
        )
        state.set(map=kind)
    found = maps[kind]  # type: ignore[index]
    with st.container(horizontal=True):
        layers = _some("Layers", "layers", found.layers, f"{spec.slug}.{kind}", state)
        heads = _some("Heads", "heads", found.heads, f"{spec.slug}.{kind}", state)
    some = {"layers": len(layers) if layers else None, "heads": len(heads) if heads else None}
    able = carries(found, view, **some)
    look = theme().name
    longest = max(len(found.query_tokens), len(found.key_tokens))
    first, now = chosen(view, found, layers, heads, (spec.slug, look), state)

    def drawn(first: First, bits: Bits = 8) -> str:
        return bertviz.render(
            trace,
            view,
            kind=found.kind,
            theme=look,
            title=f"{spec.name}: {VIEWS[view]}",
            count=longest,
            include_layers=layers,
            include_heads=heads,
            layer=first.layer,
            heads=first.heads,
            bits=bits,
        )

    page = drawn(first)
    framed(
        page,
        height=min(bertviz.height(found, view, able.tokens, **some), _FRAME_LIMIT),
        alt=f"bertviz's {VIEWS[view].lower()} of {spec.name}. It is drawn for the pointer; the section All heads shows "
        "the same weights and can be walked by keyboard.",
    )
    if not able.whole:
        st.caption(plain(able.sentence))
    st.markdown(_SAYS[view])
    st.markdown(f"**Notice** {_NOTICE[view]}")
    if found.note:
        st.caption(plain(found.note))
    with st.container(horizontal=True):
        download_html(lambda: drawn(now).encode(), f"{spec.slug}-{view}-view", state.key("bertviz.page"))
        download_html(
            lambda: drawn(now, 16).encode(),
            f"{spec.slug}-{view}-view-16",
            state.key("bertviz.page16"),
            of="16 bits",
            tip="Each number in 65,536 steps instead of 256, in a page of twice the size",
        )
        numbers(found, view, f"{spec.slug}-{view}-view", layers, heads, now, state)
        st.caption(
            f"{len(page) / 1e6:.1f} MB in one file that works without a network; its picture leaves as SVG or PNG by "
            "the buttons inside. bertviz is Jesse Vig's (2019)."
        )


def _some(label: str, parameter: str, size: int, slot: str, state: PageState) -> list[int] | None:
    """Which layers or heads are sent, from 0; None for all of them."""
    key = state.key(f"bertviz.{parameter}.{slot}")
    if key not in st.session_state:
        asked = list(dict.fromkeys(state.integers(parameter)))
        lacking = [number for number in asked if not 1 <= number <= size]
        if lacking:
            numbers = ", ".join(map(str, lacking[:8]))
            warned(
                f"There is no {parameter[:-1]} {numbers} here: this model has {size}. The others are shown.",
                icon=":material/link_off:",
            )
        st.session_state[key] = [number for number in asked if number not in lacking]
    chosen = st.multiselect(
        label,
        range(1, size + 1),
        key=key,
        persist_state="page",
        placeholder="all of them",
        help="Fewer of them leave room for more of the text",
    )
    state.set(**{parameter: tuple(int(number) for number in chosen)})
    return sorted(int(number) - 1 for number in chosen) or None
