"""Heads switched off: the answer before and after, and what each head alone is worth to it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from core import session
from core.attention.heads import Grid
from core.attention.views.export import grids_table
from core.checkpoints.spec import CheckpointSpec
from core.figures.attention import effect_grid
from core.figures.heads import sharp_and_idle
from core.figures.predictions import bars_alt, guess_bars, percent
from core.links import parameters as link
from core.table import Table
from core.ui.attention.setup import (
    ASKED,
    ASKED_WINDOW,
    asked_part,
    draw_asked,
    draw_model,
    kinds_of,
    question_of,
)
from core.ui.data_table import data_table
from core.ui.heads.panel import MAP
from core.ui.heads.text import TASK, draw_task
from core.ui.notices import warning
from core.ui.page import accent, plain, theme
from core.ui.panel import Panel
from core.ui.param import Carried
from core.ui.section import Section, View

if TYPE_CHECKING:
    from core.attention.ablation.ablate import Ablation, Head, HeadEffect
    from core.ui.links import PageState

    Effects = tuple[HeadEffect, ...]

OFF = Carried(name="off", label="Off", as_=link.Words(most=300))
_LETTERS = {"e": "encoder", "d": "decoder", "c": "cross", "q": "query"}
_SHARED = "Both streams run through the same heads; each stream can be without one of them"


def switch_off(view: View) -> None:
    """Draw the section.

    Raises:
        AtlasError: what the text or the model does not allow, as a sentence.
    """
    state = view.state
    spec = draw_model(state)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        task = draw_task(spec, state)
        text = draw_asked(spec, state)
    text = asked_part(spec, state, text, task)
    with st.spinner("Switching off one head after the other"):
        ranked = session.head_effects(spec.slug, text, task)
    every = sorted(effect.head for effect in ranked)
    present = {head.kind for head in every}
    titles: dict[str, str] = {kind: title for kind, title in kinds_of(spec).items() if kind in present}
    slot = _heads_off(ranked, titles, spec, state)
    several = len(titles) > 1
    off = tuple(head for code in st.session_state[slot] if (head := _head(code)) in every)
    with st.spinner("Running the model without them"):
        found = session.without_heads(spec.slug, text, off, task)
    left, right = st.columns([1.15, 1], gap="large")
    with left:
        usual = "cross" if "cross" in titles else next(iter(titles))
        choice = MAP.with_(options=titles, default=usual, help=_SHARED if spec.offers("two streams") else None)
        kind = choice.draw(state, tag=f"off.{spec.slug}") if len(titles) > 1 else usual
        own = tuple(effect for effect in ranked if effect.head.kind == kind)
        _grid(own, titles[kind], off, slot, spec, state)
        _buttons(own, off, slot, state)
    with right:
        _answers(found, spec, view, task)
    codes = {
        _code(
            head
        ): f"{titles[head.kind] + ', ' if len(titles) > 1 else ''}layer {head.layer + 1}, head {head.head + 1}"
        for head in every
    }
    st.multiselect(
        OFF.label,
        list(codes),
        format_func=codes.__getitem__,
        key=slot,
        persist_state="page",
        placeholder="no head is off",
    )
    now = tuple(st.session_state[slot])
    state.set(off=None if now == (_code(ranked[0].head),) else now)
    view.try_and_notice()
    _sharp(own, spec, view)
    rows: list[dict[str, object]] = [
        ({"attention": titles[effect.head.kind]} if several else {})
        | {
            "layer": effect.head.layer + 1,
            "head": effect.head.head + 1,
            "bits lost": round(effect.bits, 4),
            "best answer before": round(effect.before, 4),
            "the same after": round(effect.after, 4),
            "best answer after": effect.answer,
            "sharpness": None if effect.sharpness is None else round(effect.sharpness, 3),
        }
        for effect in ranked
    ]
    data_table(rows, "bits-lost", alt="Every head, the one that matters most first")


def _heads_off(ranked: Effects, titles: dict[str, str], spec: CheckpointSpec, state: PageState) -> str:
    """Where the session holds the codes of the heads that are off: first what the link says.

    A link without any opens with the head that matters most off, so that one sees what is meant.
    """
    slot = state.key(f"off.heads.{spec.slug}")
    if slot in st.session_state:
        return slot
    example = ranked[0].head
    asked = state.words(OFF.name)
    asked = (_code(example),) if asked is None else asked
    every = {effect.head for effect in ranked}
    st.session_state[slot] = [code for code in asked if _head(code) in every]
    strange = [code for code in asked if _head(code) not in every]
    if strange:
        warning(
            f"The link switches off “{', '.join(strange)[:60]}”, which this model has not. Its heads are written like "
            f"{_code(example)}: {titles[example.kind].lower()}, layer {example.layer + 1}, head {example.head + 1}.",
            icon=":material/link_off:",
        )
    return slot


def _answers(found: Ablation, spec: CheckpointSpec, view: View, task: str | None) -> None:
    st.markdown(f"**{plain(question_of(spec, task))}**")
    changes = found.changes[:8]
    tokens, before, after = ([getattr(one, name) for one in changes] for name in ("token", "before", "after"))
    Panel(
        f"{spec.slug}-answers",
        f"{spec.name}: the answer with all heads, and without those that are off",
        guess_bars(tokens, before, accent(spec.branch), kept=after, theme=theme()),
        bars_alt(tokens, before, "With all heads") + " " + bars_alt(tokens, after, "Without those that are off"),
        Table(("answer", "with all heads", "without"), tuple(zip(tokens, before, after, strict=True))),
        note=view.words.part("Bars"),
    ).draw(view.state)
    if not found.off:
        view.note("All on")
        return
    top, other = found.changes[0] if found.changes else None, found.after.tokens[0]
    count = len(found.off)
    st.markdown(
        f"Without {count} {'head' if count == 1 else 'heads'} the answer loses **{found.bits:.2f} bits**"
        + (f": “{plain(top.token)}” goes from {percent(top.before)} to {percent(top.after)}" if top else "")
        + (f", and “{plain(other)}” comes first." if top and other != top.token else ".")
    )


def _grid(own: Effects, title: str, off: tuple[Head, ...], slot: str, spec: CheckpointSpec, state: PageState) -> None:
    """What the answer loses without each head of one kind; a click switches one off, or on again."""
    bits, strongest = _bits(own), own[0]
    kind = strongest.head.kind
    panel = Panel(
        f"{spec.slug}-effects-{kind}",
        "What the answer loses without each head",
        effect_grid(
            bits, [(head.layer, head.head) for head in off if head.kind == kind], accent(spec.branch), theme=theme()
        ),
        f"{title}, {bits.size} heads, layers down, heads across: bits that the answer loses without each. The most "
        f"without layer {strongest.head.layer + 1}, head {strongest.head.head + 1}: {strongest.bits:.2f}. Off: "
        f"{', '.join(_code(head) for head in off) or 'none'}.",
        partial(grids_table, {"bits lost": bits}),
        heading=True,
    )
    key, (layers, heads) = panel.key(state), bits.shape

    def clicked() -> None:
        points = st.session_state[key]["selection"]["points"]
        hit = [point["point_index"] for point in points if point.get("curve_number") == 1]
        if hit and 0 <= hit[0] < layers * heads:
            layer, head = divmod(int(hit[0]), heads)
            code, there = f"{kind[0]}{layer + 1}-{head + 1}", list(st.session_state[slot])
            _put(slot, [one for one in there if one != code] if code in there else [*there, code])

    panel.draw(state, on_select=clicked, selection_mode="points")


def _buttons(own: Effects, off: tuple[Head, ...], slot: str, state: PageState) -> None:
    heads = sorted(effect.head for effect in own)
    strongest = own[0].head
    idle = min(own, key=_idle)
    with st.container(horizontal=True):
        _button(f"Head {_named(strongest)} matters most", "most", [strongest], slot, state)
        if idle.sharpness is not None:
            _button(f"Head {_named(idle.head)} is sharp and idle", "idle", [idle.head], slot, state)
        with st.popover("A whole layer"):
            for layer in sorted({head.layer for head in heads}):
                there = [head for head in heads if head.layer == layer]
                _button(f"Layer {layer + 1}", f"layer.{layer}", there, slot, state)
        rest = [head for head in heads if head not in off]
        tip = "Switches on what is off, and everything else of this kind off"
        _button("Keep only these", "keep", rest, slot, state, disabled=len(rest) == len(heads), help=tip)
        _button("All on", "none", [], slot, state, disabled=not off)


def _button(
    label: str, name: str, heads: list[Head], slot: str, state: PageState, *, disabled: bool = False, help: str = ""
) -> None:
    """A button that leaves just these heads off."""
    st.button(
        label,
        key=state.key(f"off.{name}"),
        disabled=disabled,
        on_click=_put,
        args=(slot, [_code(head) for head in heads]),
        help=help or None,
    )


def _sharp(own: Effects, spec: CheckpointSpec, view: View) -> None:
    own = tuple(effect for effect in own if effect.sharpness is not None)
    if not own:
        return
    with st.expander("A sharp picture is no proof of use", expanded=True):
        Panel(
            f"{spec.slug}-sharpness",
            f"{spec.name}: sharpness of each head, and what the answer loses without it",
            sharp_and_idle(
                [f"layer {effect.head.layer + 1}, head {effect.head.head + 1}" for effect in own],
                [effect.sharpness or 0.0 for effect in own],
                [effect.bits for effect in own],
                accent(spec.branch),
                theme=theme(),
            ),
            "Sharpness of each head's attention against the bits lost without it.",
            Table(("head", "sharpness", "bits lost"), tuple((_code(one.head), one.sharpness, one.bits) for one in own)),
            note=view.words.part("Sharp"),
        ).draw(view.state)


def _bits(own: Effects) -> Grid:
    """(layers, heads): what is lost without each."""
    shape = (1 + max(effect.head.layer for effect in own), 1 + max(effect.head.head for effect in own))
    bits = np.zeros(shape, dtype=np.float32)
    for effect in own:
        bits[effect.head.layer, effect.head.head] = effect.bits
    return bits


def _idle(effect: HeadEffect) -> float:
    """Small for a head that is sharp and changes nothing."""
    return effect.bits * 20 - (effect.sharpness or 0.0)


def _put(slot: str, codes: list[str]) -> None:
    st.session_state[slot] = codes


def _named(head: Head) -> str:
    return f"{head.layer + 1}-{head.head + 1}"


def _code(head: Head) -> str:
    """A head in a link: ``e3-1`` is the first head of the third layer of the encoder."""
    return f"{head.kind[0]}{_named(head)}"


def _head(code: str) -> Head | None:
    from core.attention.ablation.ablate import Head

    kind, (layer, _, head) = _LETTERS.get(code[:1]), code[1:].partition("-")
    if kind is None or not (layer.isascii() and layer.isdigit() and head.isascii() and head.isdigit()):
        return None
    return Head(kind, int(layer[:4]) - 1, int(head[:4]) - 1)  # type: ignore[arg-type]


SWITCH_OFF = Section("off", switch_off, (ASKED, ASKED_WINDOW, TASK, OFF, MAP))
