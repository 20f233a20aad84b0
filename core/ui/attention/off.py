"""Heads switched off: the answer before and after, and what each head alone is worth to it."""

from __future__ import annotations

from collections.abc import Callable
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
from core.table import Table
from core.ui.attention.asked import SHARED, kinds_of, question_of
from core.ui.chart import chart
from core.ui.data_table import data_table
from core.ui.export import chart_menu
from core.ui.glossary import told
from core.ui.heads.part import text_part
from core.ui.heads.text import task_menu
from core.ui.notices import warned
from core.ui.page import accent, plain, theme
from core.ui.text_box import text_box

if TYPE_CHECKING:
    from core.attention.ablation.ablate import Ablation, Head, HeadEffect
    from core.ui.links import PageState

_LETTERS = {"e": "encoder", "d": "decoder", "c": "cross", "q": "query"}


def switch_off(spec: CheckpointSpec, state: PageState) -> None:
    """Draw the whole section; reads and writes asked, asked-window, off, map and task.

    Raises:
        AtlasError: what the text or the model does not allow, as a sentence.
    """
    with st.container(horizontal=True, vertical_alignment="bottom"):
        task = task_menu(spec, state) if spec.offers("tasks") else None
        text = text_box(state, "asked", "Text", spec.family.asked, key=f"off.text.{spec.kind}", max_chars=600)
    text = text_part(spec, state, text, task=task or "", segment=True, name="asked-window", answered=True)
    with st.spinner("Switching off one head after the other"):
        ranked = session.head_effects(spec.slug, text, task)
    every = {effect.head: effect for effect in ranked}
    kinds: list[str] = list(
        dict.fromkeys(head.kind for head in sorted(every, key=lambda head: "edcq".index(head.kind[0])))
    )
    titles = kinds_of(spec)
    slot = state.key(f"off.heads.{spec.slug}")
    if slot not in st.session_state:
        asked = state.words(
            "off"
        )  # a link without it opens with the head that matters most off, so that one sees what is meant
        codes_asked = [_code(ranked[0].head)] if asked is None else asked
        st.session_state[slot] = [code for code in codes_asked if _head(code) in every]
        strange = [code for code in codes_asked if _head(code) not in every]
        if strange:
            example = ranked[0].head
            warned(
                f"The link switches off “{', '.join(strange)[:60]}”, which this model has not. Its heads are "
                f"written like {_code(example)}: {titles[example.kind].lower()}, layer {example.layer + 1}, head "
                f"{example.head + 1}.",
                icon=":material/link_off:",
            )
    off = tuple(head for code in st.session_state[slot] if (head := _head(code)) in every)
    with st.spinner("Asking without them"):
        found = session.without_heads(spec.slug, text, off, task)
    left, right = st.columns([1.15, 1], gap="large")
    with left:
        kind = _kind(kinds, state, spec)
        _grid(ranked, kind, off, slot, spec, state)
        _buttons(ranked, kind, off, slot, state)
    with right:
        _answers(found, spec, state, task)
    codes = {
        _code(head): f"{titles[head.kind] + ', ' if len(kinds) > 1 else ''}layer {head.layer + 1}, head {head.head + 1}"
        for head in sorted(every)
    }
    st.multiselect(
        "Off", list(codes), format_func=codes.__getitem__, key=slot, persist_state="page", placeholder="no head is off"
    )
    now = tuple(st.session_state[slot])
    state.set(off=None if now == (_code(ranked[0].head),) else now)
    told("**Try** the head that matters most, then one that looks sharply and does nothing. Then a whole layer.")
    told(
        "**Notice** that most heads can go without a trace, one by one: others do the same work. Together they cannot. "
        "The bits are what the answer loses on this text, and on no other."
    )
    _sharp(ranked, kind, spec, state)
    _table(ranked, titles if len(kinds) > 1 else None)


def _answers(found: Ablation, spec: CheckpointSpec, state: PageState, task: str | None) -> None:
    st.markdown(f"**{plain(question_of(spec, task))}**")
    tokens = [change.token for change in found.changes][:8]
    before, after = ([getattr(change, name) for change in found.changes][:8] for name in ("before", "after"))
    chart(
        guess_bars(tokens, before, accent(spec.branch), kept=after, theme=theme()),
        key=state.key("off.bars"),
        alt=bars_alt(tokens, before, "With all heads") + " " + bars_alt(tokens, after, "Without those that are off"),
    )
    _menu(
        state.key("off.bars"),
        spec,
        "answers",
        "The answer with all heads, and without those that are off",
        "Wide bars: all heads. Narrow bars: without " + (", ".join(_code(head) for head in found.off) or "none") + ".",
        lambda: Table(("answer", "with all heads", "without"), tuple(zip(tokens, before, after, strict=True))),
    )
    if not found.off:
        st.caption("All heads are on. Click one in the picture, or use the menu, to switch it off.")
        return
    top, other = found.changes[0] if found.changes else None, found.after.tokens[0]
    count = len(found.off)
    st.markdown(
        f"Without {count} {'head' if count == 1 else 'heads'} the answer loses **{found.bits:.2f} bits**"
        + (f": “{plain(top.token)}” goes from {percent(top.before)} to {percent(top.after)}" if top else "")
        + (f", and “{plain(other)}” comes first." if top and other != top.token else ".")
    )
    st.caption("Wide bars: all heads. Narrow bars: without those that are off.")


def _grid(
    ranked: tuple[HeadEffect, ...], kind: str, off: tuple[Head, ...], slot: str, spec: CheckpointSpec, state: PageState
) -> None:
    bits = _bits(ranked, kind)
    key = state.key(f"off.grid.{spec.slug}.{kind}")

    def clicked() -> None:
        points = st.session_state[key]["selection"]["points"]
        hit = [point["point_index"] for point in points if point.get("curve_number") == 1]
        if hit and 0 <= hit[0] < bits.size:
            layer, head = divmod(int(hit[0]), bits.shape[1])
            _toggle(slot, f"{kind[0]}{layer + 1}-{head + 1}")

    st.markdown("**What the answer loses without each head**")
    shown = [(head.layer, head.head) for head in off if head.kind == kind]
    strongest = next(effect for effect in ranked if effect.head.kind == kind)
    chart(
        effect_grid(bits, shown, accent(spec.branch), theme=theme()),
        key=key,
        on_select=clicked,
        selection_mode="points",
        alt=f"Bits lost without each of {bits.size} heads; the most without layer {strongest.head.layer + 1}, head "
        f"{strongest.head.head + 1}: {strongest.bits:.2f}. The table below has all of them.",
    )
    _menu(
        key,
        spec,
        f"effects-{kind}",
        f"{kinds_of(spec)[kind]}: bits that the answer loses without each head",
        f"Layers down, heads across. Off: {', '.join(_code(head) for head in off) or 'none'}.",
        partial(grids_table, {"bits lost": bits}),
    )


def _buttons(ranked: tuple[HeadEffect, ...], kind: str, off: tuple[Head, ...], slot: str, state: PageState) -> None:
    own = [effect.head for effect in ranked if effect.head.kind == kind]
    strongest = own[0]
    with st.container(horizontal=True):
        st.button(
            f"Head {strongest.layer + 1}-{strongest.head + 1} matters most",
            key=state.key("off.most"),
            on_click=_put,
            args=(slot, [_code(strongest)]),
        )
        idle = next((effect for effect in sorted(ranked, key=_idle) if effect.head.kind == kind), None)
        if idle is not None and idle.sharpness is not None:
            st.button(
                f"Head {idle.head.layer + 1}-{idle.head.head + 1} is sharp and idle",
                key=state.key("off.idle"),
                on_click=_put,
                args=(slot, [_code(idle.head)]),
            )
        with st.popover("A whole layer"):
            for layer in sorted({head.layer for head in own}):
                heads = [_code(head) for head in sorted(own) if head.layer == layer]
                st.button(f"Layer {layer + 1}", key=state.key(f"off.layer.{layer}"), on_click=_put, args=(slot, heads))
        kept = [head for head in own if head in off]
        st.button(
            "Keep only these",
            key=state.key("off.keep"),
            disabled=not kept,
            on_click=_put,
            args=(slot, [_code(head) for head in sorted(own) if head not in kept]),
            help="Switches on what is off, and everything else of this kind off",
        )
        st.button("All on", key=state.key("off.none"), disabled=not off, on_click=_put, args=(slot, []))


def _sharp(ranked: tuple[HeadEffect, ...], kind: str, spec: CheckpointSpec, state: PageState) -> None:
    own = [effect for effect in ranked if effect.head.kind == kind and effect.sharpness is not None]
    if not own:
        return
    with st.expander("A sharp picture is no proof of use", expanded=True):
        chart(
            sharp_and_idle(
                [f"layer {effect.head.layer + 1}, head {effect.head.head + 1}" for effect in own],
                [effect.sharpness or 0.0 for effect in own],
                [effect.bits for effect in own],
                accent(spec.branch),
                theme=theme(),
            ),
            key=state.key("off.sharp"),
            alt="Sharpness of each head's attention against the bits lost without it; the table below has the numbers.",
        )
        rows = tuple((_code(one.head), one.sharpness, one.bits) for one in own)
        _menu(
            state.key("off.sharp"),
            spec,
            "sharpness",
            "How sharply a head looks, and what the answer loses without it",
            "One dot for each head; the height grows with the root of the bits.",
            lambda: Table(("head", "sharpness", "bits lost"), rows),
        )
        st.caption(
            "To the right: heads whose rows go to one token each. Above: heads that this answer needs. Those in the "
            "lower right look at something clearly, and nothing comes of it here."
        )


def _menu(chart: str, spec: CheckpointSpec, what: str, title: str, alt: str, table: Callable[[], Table]) -> None:
    chart_menu(chart, f"{spec.slug}-{what}", title=f"{spec.name}: {title}", alt=alt, table=table)


def _table(ranked: tuple[HeadEffect, ...], titles: dict[str, str] | None) -> None:
    rows: list[dict[str, object]] = [
        ({"attention": titles[effect.head.kind]} if titles else {})
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


def _bits(ranked: tuple[HeadEffect, ...], kind: str) -> Grid:
    own = [effect for effect in ranked if effect.head.kind == kind]
    shape = (1 + max(effect.head.layer for effect in own), 1 + max(effect.head.head for effect in own))
    bits = np.zeros(shape, dtype=np.float32)
    for effect in own:
        bits[effect.head.layer, effect.head.head] = effect.bits
    return bits


def _idle(effect: HeadEffect) -> float:
    """Small for a head that looks sharply and does nothing."""
    return effect.bits * 20 - (effect.sharpness or 0.0)


def _kind(kinds: list[str], state: PageState, spec: CheckpointSpec) -> str:
    if len(kinds) == 1:
        return kinds[0]
    usual, wanted = "cross" if "cross" in kinds else kinds[0], state.text("map")
    kind = str(
        st.segmented_control(
            "Attention",
            kinds,
            format_func=kinds_of(spec).__getitem__,
            default=wanted if wanted in kinds else usual,
            required=True,
            key=state.key(f"off.kind.{spec.slug}"),
            help=SHARED if spec.offers("two streams") else None,
        )
    )
    state.set(map=None if kind == usual else kind)
    return kind


def _toggle(slot: str, code: str) -> None:
    there = list(st.session_state[slot])
    st.session_state[slot] = [one for one in there if one != code] if code in there else [*there, code]


def _put(slot: str, codes: list[str]) -> None:
    st.session_state[slot] = codes


def _code(head: Head) -> str:
    """A head in a link: ``e3-1`` is the first head of the third layer of the encoder."""
    return f"{head.kind[0]}{head.layer + 1}-{head.head + 1}"


def _head(code: str) -> Head | None:
    from core.attention.ablation.ablate import Head

    kind, (layer, _, head) = _LETTERS.get(code[:1]), code[1:].partition("-")
    if kind is None or not (layer.isascii() and layer.isdigit() and head.isascii() and head.isdigit()):
        return None
    return Head(kind, int(layer[:4]) - 1, int(head[:4]) - 1)  # type: ignore[arg-type]
