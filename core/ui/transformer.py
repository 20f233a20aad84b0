"""The Transformer as one picture: a live model's run from tokens to the output distribution, stepped or played.

The run is computed once for each model and text; steps, depth, layers, heads and tokens are chosen in the browser,
which sends only where it stopped, for the link.

The component gets one bounded JSON of a run, with tensors as 16-bit integers in base64. A tensor is
``{"shape": [...], "scale": s, "data": base64}``: value = integer · s, little-endian, row by
row. Of a mask, the cells are written as a text of 0 and 1.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

import numpy as np
import streamlit as st
from pydantic import Field

from core import checkpoints, session
from core.arrays import Floats
from core.attention.inside.overview import MAX_TOKENS, OVERVIEWS, Lane, Overview, Tensors, overview
from core.attention.inside.steps import slug
from core.checkpoints.spec import CheckpointSpec
from core.links import parameters as link
from core.ui.component import Component, Message, Position
from core.ui.glossary import Linker, href, tip
from core.ui.heads.text import TASK, WINDOW, task_names, text_part
from core.ui.links import instead, within
from core.ui.page import BRANCH_TITLES, accent, base_path, theme
from core.ui.panel import offer_drawing
from core.ui.param import Carried, Choice, Text
from core.ui.section import Section, View

WEIGHT = 1e-4
"""The step of attention weights."""
_LARGEST = 32_000


def packed(values: Floats, scale: float | None = None) -> dict[str, Any]:
    """``values`` as integers: each is exact to half a step; without ``scale``, steps suit the largest value."""
    finite = np.where(np.isfinite(values), values, 0)
    step = scale or max(float(np.abs(finite).max(initial=0)) / _LARGEST, 1e-6)
    integers = np.round(finite / step).astype("<i2")
    return {
        "shape": list(values.shape),
        "scale": step,
        "data": base64.b64encode(integers.tobytes()).decode("ascii"),
    }


def run_data(run: Overview) -> dict[str, Any]:
    """The run itself, without words."""
    return {
        "lanes": [_lane(lane) for lane in run.lanes],
        "answers": [
            {
                "position": prediction.position,
                "tokens": prediction.tokens,
                "probabilities": _rounded(prediction.probabilities),
            }
            for prediction in run.answers
        ],
        "lens": [
            {"tokens": prediction.tokens, "probabilities": _rounded(prediction.probabilities)}
            for prediction in run.by_layer
        ],
        "vocabulary": run.vocabulary,
    }


def first_position(run: Overview) -> int:
    """The predicting position (from 0) that the picture opens with; of an output one that has tokens before it."""
    if not run.answers:
        return len(run.lanes[-1].tokens) - 1
    return run.answers[0 if len(run.lanes) == 1 else min(2, len(run.answers) - 1)].position


def first_head(run: Overview) -> int:
    """The head (from 0) that the picture opens with: of the first block, the one whose predicting position attends most
    to a token that is neither itself, nor its neighbor, nor at an end: there is something to see."""
    lane, row = run.lanes[-1], first_position(run)
    weights = lane.block[slug("attention", "weights")].values[0, :, row].copy()  # (H, n)
    weights[:, max(row - 1, 0) : row + 2] = 0
    weights[:, [0, -1]] = 0
    return int(weights.max(-1).argmax())


def _lane(lane: Lane) -> dict[str, Any]:
    return {
        "side": lane.side,
        "tokens": lane.tokens,
        "ids": lane.ids,
        "layers": lane.layers,
        "heads": lane.heads,
        "prenorm": lane.pre_norm,
        "embedding": _entries(lane.embedding),
        "block": _entries(lane.block),
        "end": _entries(lane.end),
    }


def _entries(steps: Mapping[str, Tensors]) -> dict[str, Any]:
    return {name: _entry(name, tensors) for name, tensors in steps.items()}


def _entry(name: str, tensors: Tensors) -> dict[str, Any]:
    shape = {"shape": list(tensors.shape)}
    if name.endswith("-mask"):
        allowed = np.isfinite(tensors.values[0, 0])
        return shape | {"allowed": "".join("1" if cell else "0" for cell in allowed.ravel())}
    entry = shape | {"values": packed(tensors.values, WEIGHT if name.endswith("-weights") else None)}
    return entry if tensors.norms is None else entry | {"norms": packed(tensors.norms)}


def _rounded(probabilities: tuple[float, ...]) -> list[float]:
    return [float(f"{probability:.4g}") for probability in probabilities]


Slug = Annotated[str, Field(pattern=r"^[a-z-]+$", max_length=40)]
Depth = Literal["idea", "tensors", "numbers"]
Number = Annotated[int, Field(ge=1, le=1_000)]


class Moved(Message):
    """Where the visitor stopped; all numbers but positions from 1."""

    step: Slug
    depth: Depth
    layer: Number
    head: Number
    position: Position
    source: Position


PICTURE = Component("transformer", Moved, uses=("dom", "saved"))
SIDES = {side: BRANCH_TITLES[side] for side in ("encoder", "decoder", "encoder-decoder")}
ARCHITECTURE = Choice(
    name="architecture",
    label="Architecture",
    options=SIDES,
    style="row",
    hide_label=True,
    resets=("task", "window", "layer", "head", "position", "source"),
)
TEXT = Text(name="text", label="Text", hide_label=True, resets=("window", "head", "position", "source"))
DEPTHS: tuple[Depth, ...] = ("idea", "tensors", "numbers")
DEPTH = Carried(name="depth", label="Depth", as_=link.Choice(None, DEPTHS))
STEP = Carried(name="step", label="Step", as_=link.Choice())
LAYER = Carried(name="layer", label="Layer", as_=link.Integer(None, 1, 1_000))
HEAD = Carried(name="head", label="Head", as_=link.Integer(None, 1, 1_000))
POSITION = Carried(name="position", label="Position", as_=link.Integer(None, 1, MAX_TOKENS))
SOURCE = Carried(name="source", label="Position in the source", as_=link.Integer(None, 1, MAX_TOKENS))

_INPUT = ("overview", "tokens", "embeddings", "positions")
_BLOCK = ("stream", "qkv", "scores", "mask", "weights", "mix", "add", "feed-forward", "blocks")
_OUTPUT = ("output", "objective")
STEPS = {
    "encoder": ((*_INPUT, *_BLOCK, *_OUTPUT),),
    "decoder": ((*_INPUT, *_BLOCK, *_OUTPUT),),
    "encoder-decoder": ((*_INPUT, *_BLOCK), ("target", "causal", "cross", "decoder", *_OUTPUT)),
}
"""The steps of each lane of a picture, in order."""


def models() -> dict[str, CheckpointSpec]:
    """For each architecture the live model that the picture runs, as ``first.toml`` orders them."""
    order = {slug: number for number, slug in enumerate(checkpoints.first("transformer"))}
    fitting = [spec for spec in checkpoints.available() if spec.ready and _fits(spec)]
    fitting.sort(key=lambda spec: order.get(spec.slug, len(order)), reverse=True)
    chosen = {spec.family.side: spec for spec in fitting}
    return {side: chosen[side] for side in SIDES if side in chosen}  # type: ignore[index]


def _fits(spec: CheckpointSpec) -> bool:
    """Dense attention and one stream."""
    return bool(spec.entries(OVERVIEWS)) and not spec.sparse and not spec.offers("two streams")


def transformer(view: View) -> None:
    state, here = view.state, models()
    with view.controls():
        side = ARCHITECTURE.with_(options={side: SIDES[side] for side in here}).draw(state)
        spec = here[side]
        with st.spinner(session.waiting("loading-the-model")):
            session.checkpoint(spec.slug)
        task = None
        if names := task_names(spec):
            with st.popover(TASK.label):
                task = TASK.with_(options=names).draw(state, tag=spec.slug)
        kept_sentence = "plain" if names else "any"
        text = TEXT.with_(default=view.words.front["samples"][side], sentence=kept_sentence).draw(state, tag=side)
    shown = text.partition("[MASK]")[0].rstrip() if spec.offers("continues") else text
    if not shown.strip():
        shown = text
    part = text_part(spec, state, shown, task=task or "", answered=True, most=MAX_TOKENS)
    run = session.computed("running-the-model", overview, spec.slug, part, task)
    _draw_diagram(view, spec, side, run, part)
    if shown != text:
        view.note("Cut at the mask")
    if run.masked_here:
        view.note("Word masked")
    lane = run.lanes[-1]
    view.note("Model", model=spec.name, layers=lane.layers, heads=lane.heads, width=f"{_width(lane):,}")


def _draw_diagram(view: View, spec: CheckpointSpec, side: str, run: Overview, text: str) -> None:
    state, key = view.state, view.state.key(f"picture.{side}")
    steps = [slug for lane in STEPS[side] for slug in lane]
    if moved := PICTURE.sent(key):
        state.set(step=moved.step, depth=moved.depth, layer=moved.layer, head=moved.head)
        state.set(position=moved.position + 1, source=moved.source + 1)
    step, lane = state.text(STEP.name, steps[0]), run.lanes[-1]
    if step not in steps:
        if not any(step in slugs for lanes in STEPS.values() for slugs in lanes):
            instead(state, view.words.part("Unknown step"))
        step = steps[0]
    usual = {"layer": 1, "head": first_head(run) + 1, "position": first_position(run) + 1}
    usual["source"] = len(run.lanes[0].tokens) // 2 + 1 if len(run.lanes) > 1 else 1
    highest = {
        "layer": max(lane.layers for lane in run.lanes),
        "head": max(lane.heads for lane in run.lanes),
        "position": len(lane.tokens),
        "source": len(run.lanes[0].tokens),
    }
    now = {
        name: within(state, name, state.number(name, usual[name]), 1, high, usual[name])
        for name, high in highest.items()
    }
    depth = state.text(DEPTH.name, DEPTHS[0])
    state.set(
        step=None if step == steps[0] else step,
        depth=None if depth == DEPTHS[0] else depth,
        **{name: None if number == usual[name] else number for name, number in now.items()},
    )
    with st.container(key="atlas-tall"):
        PICTURE.draw(key, component_data(view, spec, side, run, text) | {"now": now | {"step": step, "depth": depth}})
    offer_drawing(state, key, view.words.title, "svg", table=True)


def component_data(view: View, spec: CheckpointSpec, side: str, run: Overview, text: str) -> dict[str, Any]:
    """What the browser is given of a run, except what is chosen in it."""
    colors = theme(spec.branch)
    names = {"model": spec.slug, "text": text, "system": spec.system or "", "branch": spec.branch, "side": side}
    return {
        **run_data(run),
        "architecture": side,
        "steps": [
            _step(view, slug, number, run, side, names) for number, slugs in enumerate(STEPS[side]) for slug in slugs
        ],
        "depths": view.words.front["depths"],
        "label": view.words.part("Picture", model=spec.name),
        "accent": accent(spec.branch),
        "colors": {"differences": colors.differences, "amounts": colors.amounts},
        "sign": f"{spec.slug} {side} {text} {colors.name} {[answer.ids for answer in run.answers]}",
    }


def _step(view: View, slug: str, number: int, run: Overview, side: str, names: Mapping[str, str]) -> dict[str, Any]:
    words, lane = view.words, run.lanes[number]
    sizes = _sizes(run, lane)
    norm = "norm first" if lane.pre_norm else "norm last"
    positions = any(name.endswith("position") for name in lane.embedding)
    variants = [side, norm, *([] if positions else ["relative"])]
    part = next((part_name for variant in variants if words.has(part_name := f"{slug}: {variant}")), slug)
    shapes = f"{slug}: shapes relative" if part.endswith("relative") else f"{slug}: shapes"
    return {
        "slug": slug,
        "lane": number,
        "title": words.front["titles"][slug],
        "text": _linked(words.part(part, **sizes)),
        "shapes": words.part(shapes, **sizes),
        "doors": [
            {"label": door["label"], "href": _href(door, names)}
            for door in words.front["doors"].get(slug, ())
            if names["system"] or "{system}" not in str(door)
        ],
    }


def _linked(text: str) -> list[dict[str, str]]:
    """A step's text in pieces; those that name a term, each once a step, lead to the glossary."""
    return [
        {"text": piece} if term is None else {"text": piece, "href": href(term), "tip": tip(term)}
        for piece, term in Linker("transformer.steps").pieces(text)
    ]


def _href(door: Mapping[str, Any], names: Mapping[str, str]) -> str:
    """The link of a door; ``names`` replace what stands in braces."""
    query = {name: value.format_map(names) for name, value in door["query"].items()}
    path = f"{base_path()}/{door['page'].format_map(names)}"
    return f"{path}?{urlencode(query)}" if query else path


def _sizes(run: Overview, lane: Lane) -> dict[str, str]:
    heads, inner = lane.block["attention-queries"].shape, lane.block["feed-forward-inner"].shape
    numbers = {
        "n": len(lane.tokens),
        "source": len(run.lanes[0].tokens),
        "width": _width(lane),
        "heads": lane.heads,
        "size": heads[-1],
        "inner": inner[-1],
        "layers": lane.layers,
        "vocabulary": run.vocabulary,
    }
    return {name: f"{number:,}" for name, number in numbers.items()}


def _width(lane: Lane) -> int:
    return lane.block["attention-projected"].shape[-1]


SECTION = Section(
    "picture", transformer, (ARCHITECTURE, TEXT, TASK, WINDOW, DEPTH, STEP, LAYER, HEAD, POSITION, SOURCE)
)
