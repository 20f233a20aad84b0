"""Ablation: the prediction before and after, and the effect of each head, feed-forward layer and layer alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from core import session
from core.attention.ablation.ablate import Ablation, Effect, Head, HeadEffect, SubLayer, rank_heads, rank_layers
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
from core.ui.param import Choice, Words
from core.ui.section import Section, View
from core.ui.selection import clicks

Part = Head | SubLayer
Effects = dict[str, Effect]
"""By the code of their part: heads first, the largest effect first."""
Put = Callable[[list[str]], None]
"""Ablates the heads of these codes alone; a callback."""

BY = Choice(
    name="by",
    label="In place of its output",
    options={"zero": "Zero", "mean": "Mean", "other": "Another text"},
    style="row",
)
OFF = Words(
    name="off",
    label="Ablated",
    options={},
    most=2_000,
    style="menu",
    may_be_empty=True,
    as_chosen=True,
    placeholder="none",
)
MORE = ("FF", "all")
"""Columns of the grid after its heads: the feed-forward layer, and the layer."""
STREAMS = {"encoder": "Both streams", "decoder": "Content stream", "query": "Query stream"}
"""The streams of an XLNet in which a head is ablated."""


def ablation(view: View) -> None:
    state = view.state
    spec = draw_model(view)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        task = draw_task(spec, state)
        text = draw_input(spec, state)
        by: Any = BY.draw(state)
    text = input_span(spec, state, text, task)
    ranked = session.computed("ablating-each-head", rank_heads, spec.slug, text, task=task, by=by)
    layers = session.computed("ablating-each-head", rank_layers, spec.slug, text, task=task, by=by)
    parts: dict[str, Part] = {_code(effect.head): effect.head for effect in ranked}
    parts |= {_code(effect.layer): effect.layer for effect in layers}
    effects = dict[str, Effect](zip(parts, (*ranked, *layers), strict=True))
    present, streams = {part.kind for part in parts.values()}, "query" in spec.family.streams
    kinds: dict[str, str] = {kind: title for kind, title in (STREAMS if streams else KINDS).items() if kind in present}
    names = {
        code: (f"{kinds[part.kind]}, " if len(kinds) > 1 else "") + _name(part)
        for code, part in sorted(
            parts.items(), key=lambda item: (item[1].kind, item[1].layer, str(item[1][2]).zfill(3))
        )
    }
    # without codes in the link, the head of the largest effect is ablated as an example: of each text its own
    largest = next(iter(effects))
    off, tag = OFF.with_(options=names, default=(largest,)), f"{spec.slug}.{largest}"
    ablated = tuple(parts[code] for code in off.standing(state, off.slot(tag)))
    put = partial(off.put, state.key(off.slot(tag)))
    result = session.computed("running-the-model-without-them", ablate, spec.slug, text, ablated, task=task, by=by)
    left, right = st.columns([1.15, 1], gap="large")
    with left:
        kind = "cross" if "cross" in kinds else next(iter(kinds))
        if len(kinds) > 1:
            help = view.words.part("Streams") if streams else None
            kind = MAP.with_(options=kinds, default=kind, help=help).draw(state, tag=f"off.{spec.slug}")
        shown_effects = {code: effect for code, effect in effects.items() if parts[code].kind == kind}
        shown_heads = [effect for effect in shown_effects.values() if isinstance(effect, HeadEffect)]
        _grid(shown_effects, kinds[kind], ablated, put, spec, view)
        _buttons(shown_heads, ablated, put, view)
    with right:
        _answers(result, spec, view, task, text)
    off.draw(state, tag=tag)
    view.try_and_notice()
    _sharp(shown_heads, spec, view)
    rows = []
    for code, effect in effects.items():
        part, head = parts[code], effect if isinstance(effect, HeadEffect) else None
        row: dict[str, str | int | float | None] = {"attention": kinds[part.kind]} if len(kinds) > 1 else {}
        row |= {
            "layer": part.layer + 1,
            "head": head.head.head + 1 if head else str(part[2]),
            "change, bits": round(effect.bits, 4),
            "probability before": round(effect.before, 4),
            "probability after": round(effect.after, 4),
            "top prediction after": effect.answer,
            "sharpness": round(head.sharpness, 3) if head and head.sharpness is not None else None,
        }
        rows.append(row)
    offer_table(state, Table.from_records(rows), view.words.label("table"), "bits-lost")


def _answers(result: Ablation, spec: CheckpointSpec, view: View, task: str | None, text: str) -> None:
    """Draw the predictions with all heads and without the ablated ones."""
    st.subheader(plain(question_of(spec, task)), anchor=False)
    changes = result.changes[:8]
    tokens, before, after = ([getattr(change, name) for change in changes] for name in ("token", "before", "after"))
    Panel(
        f"{spec.slug}-answers",
        f"{spec.name}: {view.words.label('predictions')}",
        prediction_bars(tokens, before, accent(spec.branch), processed=after, theme=theme()),
        bars_alt(tokens, before, "Whole model") + " " + bars_alt(tokens, after, "With parts ablated"),
        Table(("prediction", "whole model", "ablated"), tuple(zip(tokens, before, after, strict=True))),
        note=view.words.part("Bars"),
    ).draw(view.state)
    count = len(result.heads)
    if not count:
        view.note("None ablated")
        return
    if count == 1 and isinstance(head := result.heads[0], Head):
        query = {"model": spec.slug, "text": text, "layer": str(head.layer + 1), "head": str(head.head + 1)}
        query |= {"map": head.kind} | ({} if task is None else {"task": task})
        page_link("attention", view.words.label("open"), query, icon=":material/grid_on:")
    sentence = view.words.part("Lost", count=count, bits=f"{result.bits:.2f}")
    if changes:
        top, best = changes[0], result.after.tokens[0]
        sentence += f": “{plain(top.token)}” goes from {percent(top.before)} to {percent(top.after)}"
        sentence += f", and “{plain(best)}” becomes the most probable" if best != top.token else ""
    st.markdown(f"{sentence}.")


def _grid(effects: Effects, title: str, ablated: tuple[Part, ...], put: Put, spec: CheckpointSpec, view: View) -> None:
    """Draw the change in bits (KL) without each part of one kind; a click ablates it, or restores it."""
    heads = [effect.head for effect in effects.values() if isinstance(effect, HeadEffect)]
    more = list(MORE) if len(effects) > len(heads) else []
    kind, columns = heads[0].kind, 1 + max(head.head for head in heads) + len(more)
    codes = {code: _column(code, columns) for code in effects}
    bits = np.zeros((1 + max(head.layer for head in heads), columns), dtype=np.float32)
    for code, effect in effects.items():
        bits[codes[code]] = effect.bits
    crosses = [codes[code] for code in map(_code, ablated) if code in codes]
    panel = Panel(
        f"{spec.slug}-effects-{kind}",
        view.words.label("grid"),
        effect_grid(bits, crosses, accent(spec.branch), more, theme=theme()),
        view.words.part(
            "Alt: grid",
            title=title,
            count=len(heads),
            layer=heads[0].layer + 1,
            head=heads[0].head + 1,
            bits=f"{next(iter(effects.values())).bits:.2f}",
            off=", ".join(map(_code, ablated)) or "none",
        ),
        partial(grids_table, {"change, bits": bits}),
        heading=True,
    )
    at = {row * columns + column: code for code, (row, column) in codes.items()}

    def switch(point: int) -> None:
        code, now = at[point], list(map(_code, ablated))
        put([other for other in now if other != code] if code in now else [*now, code])

    panel.draw(view.state, **clicks(panel.key(view.state), bits.size, switch))


def _column(code: str, columns: int) -> tuple[int, int]:
    """The row and the column of a part in the grid."""
    layer, _, part = code[1:].partition("-")
    return int(layer) - 1, columns + {"ff": -2, "all": -1}[part] if part in ("ff", "all") else int(part) - 1


def _buttons(effects: list[HeadEffect], ablated: tuple[Part, ...], put: Put, view: View) -> None:
    """Draw buttons that ablate exactly the heads they name."""
    heads = sorted(effect.head for effect in effects)
    most = effects[0].head
    idle = min(effects, key=lambda effect: effect.bits * 20 - (effect.sharpness or 0.0))
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


def _sharp(effects: list[HeadEffect], spec: CheckpointSpec, view: View) -> None:
    """Draw sharpness against effect, if sharpness is known."""
    measured = [effect for effect in effects if effect.sharpness is not None]
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


def _name(part: Part) -> str:
    if isinstance(part, Head):
        return f"layer {part.layer + 1}, head {part.head + 1}"
    return f"layer {part.layer + 1}, " + ("feed-forward" if part.part == "feed-forward" else "whole")


def _code(part: Part) -> str:
    """A part in a link: ``e3-1`` is the first head of the encoder's third layer, ``e3-ff`` its feed-forward layer,
    ``e3-all`` the layer."""
    name = f"{part.head + 1}" if isinstance(part, Head) else {"feed-forward": "ff", "whole": "all"}[part.part]
    return f"{part.kind[0]}{part.layer + 1}-{name}"


ABLATION = Section("off", ablation, (INPUT, INPUT_SPAN, TASK, BY, OFF, MAP))
