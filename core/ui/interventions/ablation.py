"""Head ablation: the prediction before and after, and the effect of each head alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import streamlit as st

from core import session
from core.attention.ablation.ablate import Ablation, Head, HeadEffect, rank_heads
from core.attention.ablation.ablate import ablate_heads as ablate
from core.attention.views.export import grids_table
from core.checkpoints.spec import CheckpointSpec
from core.figures.attention import effect_grid
from core.figures.heads import sharp_and_idle
from core.figures.labels import percent
from core.figures.predictions import bars_alt, prediction_bars
from core.table import Table
from core.ui.heads.panel import KINDS, MAP
from core.ui.heads.text import TASK, draw_task
from core.ui.interventions.setup import INPUT, INPUT_SPAN, draw_input, draw_model, input_span, question_of
from core.ui.links import page_link
from core.ui.page import accent, plain, theme
from core.ui.panel import Panel, offer_table
from core.ui.param import Words
from core.ui.section import Section, View
from core.ui.selection import clicks

Effects = dict[str, HeadEffect]
"""By the code of their head, the largest effect first."""
Put = Callable[[list[str]], None]
"""Ablates the heads of these codes alone; a callback."""

OFF = Words(
    name="off",
    label="Ablated heads",
    options={},
    most=2_000,
    style="menu",
    may_be_empty=True,
    as_chosen=True,
    placeholder="none",
)
STREAMS = {"encoder": "Both streams", "decoder": "Content stream", "query": "Query stream"}
"""The streams of an XLNet in which a head is ablated."""


def head_ablation(view: View) -> None:
    state = view.state
    spec = draw_model(view)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        task = draw_task(spec, state)
        text = draw_input(spec, state)
    text = input_span(spec, state, text, task)
    ranked = session.computed("ablating-each-head", rank_heads, spec.slug, text, task=task)
    effects = {_code(effect.head): effect for effect in ranked}
    present, streams = {effect.head.kind for effect in effects.values()}, "query" in spec.family.streams
    kinds: dict[str, str] = {kind: title for kind, title in (STREAMS if streams else KINDS).items() if kind in present}
    names = {
        code: (f"{kinds[effect.head.kind]}, " if len(kinds) > 1 else "") + _name(effect.head)
        for code, effect in sorted(effects.items(), key=lambda item: item[1].head)
    }
    # without codes in the link, the head of the largest effect is ablated as an example
    off = OFF.with_(options=names, default=(next(iter(effects)),))
    ablated = tuple(effects[code].head for code in off.standing(state, off.slot(spec.slug)))
    put = partial(off.put, state.key(off.slot(spec.slug)))
    ablation = session.computed("running-the-model-without-them", ablate, spec.slug, text, ablated, task=task)
    left, right = st.columns([1.15, 1], gap="large")
    with left:
        kind = "cross" if "cross" in kinds else next(iter(kinds))
        if len(kinds) > 1:
            help = view.words.part("Streams") if streams else None
            kind = MAP.with_(options=kinds, default=kind, help=help).draw(state, tag=f"off.{spec.slug}")
        shown_effects = {code: effect for code, effect in effects.items() if effect.head.kind == kind}
        _grid(shown_effects, kinds[kind], ablated, put, spec, view)
        _buttons(shown_effects, ablated, put, view)
    with right:
        _answers(ablation, spec, view, task, text)
    off.draw(state, tag=spec.slug)
    view.try_and_notice()
    _sharp(shown_effects, spec, view)
    rows = []
    for effect in effects.values():
        row: dict[str, str | int | float | None] = {"attention": kinds[effect.head.kind]} if len(kinds) > 1 else {}
        row |= {
            "layer": effect.head.layer + 1,
            "head": effect.head.head + 1,
            "change, bits": round(effect.bits, 4),
            "probability before": round(effect.before, 4),
            "probability after": round(effect.after, 4),
            "top prediction after": effect.answer,
            "sharpness": None if effect.sharpness is None else round(effect.sharpness, 3),
        }
        rows.append(row)
    offer_table(state, Table.from_records(rows), view.words.label("table"), "bits-lost")


def _answers(ablation: Ablation, spec: CheckpointSpec, view: View, task: str | None, text: str) -> None:
    """Draw the predictions with all heads and without the ablated ones."""
    st.subheader(plain(question_of(spec, task)), anchor=False)
    changes = ablation.changes[:8]
    tokens, before, after = ([getattr(change, name) for change in changes] for name in ("token", "before", "after"))
    Panel(
        f"{spec.slug}-answers",
        f"{spec.name}: {view.words.label('predictions')}",
        prediction_bars(tokens, before, accent(spec.branch), processed=after, theme=theme()),
        bars_alt(tokens, before, "With all heads") + " " + bars_alt(tokens, after, "Without the ablated heads"),
        Table(("prediction", "with all heads", "without"), tuple(zip(tokens, before, after, strict=True))),
        note=view.words.part("Bars"),
    ).draw(view.state)
    count = len(ablation.heads)
    if not count:
        view.note("None ablated")
        return
    if count == 1:
        (head,) = ablation.heads
        query = {"model": spec.slug, "text": text, "layer": str(head.layer + 1), "head": str(head.head + 1)}
        query |= {"map": head.kind} | ({} if task is None else {"task": task})
        page_link("attention", view.words.label("open"), query, icon=":material/grid_on:")
    sentence = view.words.part("Lost", count=count, bits=f"{ablation.bits:.2f}")
    if changes:
        top, best = changes[0], ablation.after.tokens[0]
        sentence += f": “{plain(top.token)}” goes from {percent(top.before)} to {percent(top.after)}"
        sentence += f", and “{plain(best)}” becomes the most probable" if best != top.token else ""
    st.markdown(f"{sentence}.")


def _grid(effects: Effects, title: str, ablated: tuple[Head, ...], put: Put, spec: CheckpointSpec, view: View) -> None:
    """Draw the change in bits (KL) without each head of one kind; a click ablates a head, or restores it."""
    heads = [effect.head for effect in effects.values()]
    bits = np.zeros((1 + max(head.layer for head in heads), 1 + max(head.head for head in heads)), dtype=np.float32)
    for effect in effects.values():
        bits[effect.head.layer, effect.head.head] = effect.bits
    most, kind = heads[0], heads[0].kind
    panel = Panel(
        f"{spec.slug}-effects-{kind}",
        "Change without each head, in bits (KL)",
        effect_grid(bits, [(h.layer, h.head) for h in ablated if h.kind == kind], accent(spec.branch), theme=theme()),
        view.words.part(
            "Alt: grid",
            title=title,
            count=bits.size,
            layer=most.layer + 1,
            head=most.head + 1,
            bits=f"{bits.max():.2f}",
            off=", ".join(map(_code, ablated)) or "none",
        ),
        partial(grids_table, {"change, bits": bits}),
        heading=True,
    )
    columns = bits.shape[1]

    def switch(at: int) -> None:
        layer, head = divmod(at, columns)
        code, now = f"{kind[0]}{layer + 1}-{head + 1}", list(map(_code, ablated))
        put([other for other in now if other != code] if code in now else [*now, code])

    panel.draw(view.state, **clicks(panel.key(view.state), bits.size, switch))


def _buttons(effects: Effects, ablated: tuple[Head, ...], put: Put, view: View) -> None:
    """Draw buttons that ablate exactly the heads they name."""
    heads = sorted(effect.head for effect in effects.values())
    most = next(iter(effects.values())).head
    idle = min(effects.values(), key=lambda effect: effect.bits * 20 - (effect.sharpness or 0.0))
    others = [head for head in heads if head not in ablated]

    def button(label: str, name: str, to_ablate: list[Head], disabled: bool = False, help: str | None = None) -> None:
        key, codes = view.state.key(f"off.{name}"), list(map(_code, to_ablate))
        st.button(label, key=key, on_click=put, args=(codes,), disabled=disabled, help=help)

    with st.container(horizontal=True):
        button(f"Largest effect: {_code(most)[1:]}", "most", [most])
        if idle.sharpness is not None:
            button(f"Sharp, little effect: {_code(idle.head)[1:]}", "idle", [idle.head])
        with st.popover("Many heads"):
            help = view.words.part("All others")
            button("Ablate all others", "keep", others, disabled=len(others) == len(heads), help=help)
            for layer in sorted({head.layer for head in heads}):
                button(f"Layer {layer + 1}", f"layer.{layer}", [head for head in heads if head.layer == layer])
            button("Ablate none", "none", [], disabled=not ablated)


def _sharp(effects: Effects, spec: CheckpointSpec, view: View) -> None:
    """Draw sharpness against effect, if sharpness is known."""
    measured = [effect for effect in effects.values() if effect.sharpness is not None]
    if not measured:
        return
    sharpness, bits = [effect.sharpness or 0.0 for effect in measured], [effect.bits for effect in measured]
    names = [_name(effect.head) for effect in measured]
    with st.expander(view.words.label("sharp"), expanded=True):
        Panel(
            f"{spec.slug}-sharpness",
            f"{spec.name}: {view.words.label('sharpness')}",
            sharp_and_idle(names, sharpness, bits, accent(spec.branch), theme=theme()),
            view.words.part("Alt: sharpness"),
            Table.from_columns(
                {"head": [_code(e.head) for e in measured], "sharpness": sharpness, "change, bits": bits}
            ),
            note=view.words.part("Sharp"),
        ).draw(view.state)


def _name(head: Head) -> str:
    return f"layer {head.layer + 1}, head {head.head + 1}"


def _code(head: Head) -> str:
    """A head in a link: ``e3-1`` is the first head of the third layer of the encoder."""
    return f"{head.kind[0]}{head.layer + 1}-{head.head + 1}"


HEAD_ABLATION = Section("off", head_ablation, (INPUT, INPUT_SPAN, TASK, OFF, MAP))
