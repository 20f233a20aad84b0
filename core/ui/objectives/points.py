"""Contrastive losses on draggable points: image and text (CLIP), and supervised."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
import streamlit as st
from pydantic import Field

from core.content import content
from core.figures.vectors import pair_matrix, pair_table, pair_words
from core.links import parameters as link
from core.objectives import contrastive
from core.objectives.contrastive import Loss
from core.table import Table
from core.theme import BLUE, GREEN, VERMILION
from core.ui.chips import text_color_on
from core.ui.component import MOST, Component, Message
from core.ui.links import PageState
from core.ui.objectives.entry import SEED
from core.ui.page import theme
from core.ui.panel import Panel, offer_drawing
from core.ui.param import Carried, Choice, Integer, Real, settings_menu
from core.ui.section import Section, View
from core.ui.slot import Slot

_STARTS = {
    "clip": ((20, 95, 200, 290, 340, 150), (60, 140, 170, 330, 15, 120)),
    "supervised": ((10, 50, 130, 170, 250, 300), (85, 200, 330, 25, 150, 275)),
}
"""The angles of either set with seed 0, of medium loss."""


class MovedPoints(Message):
    """The angles of all points, in whole degrees."""

    angles: Annotated[list[Annotated[int, Field(ge=0, lt=360)]], Field(max_length=MOST)]


CIRCLE = Component("points", MovedPoints, uses=("saved",))
"""Points on a circle, moved by pointer or keyboard, each with an arrow along the negative gradient."""
_SHAPES = (("circle", BLUE), ("square", VERMILION), ("triangle", GREEN))
_STEP = 12.0
_APART = 15
"""The least angle between drawn points in degrees, so that none hides another."""
_ARROW = 45.0
"""The length of the longest arrow in degrees."""
LOSS = Choice(name="loss", label="Loss", options={"clip": "Image and text", "supervised": "By class"}, style="row")
TAU = Real(
    name="tau",
    label="Temperature τ",
    default=contrastive.TEMPERATURE,
    low=contrastive.SHARPEST,
    high=1.0,
    step=0.01,
    width=220,
)
COUNT = Integer(name="count", label="Points", default=8, low=2, high=12, width=130)
MATRIX = Choice(
    name="matrix",
    label="Matrix",
    options={"cosines": "Cosines", "chances": "Probabilities by row"},
    style="row",
)
ANGLES = Carried(name="angles", label="Angles", as_=link.Integers(high=359, most=12))


def points(view: View) -> None:
    state = view.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        kind = LOSS.draw(state)
        tau = TAU.draw(state)
        box = COUNT.with_(label="Pairs", default=4, high=6) if kind == "clip" else COUNT.with_(low=4, step=2)
        values = settings_menu(state, box, SEED, MATRIX, tag=kind)
        count = values[COUNT.name] // (1 if kind == "clip" else 2)
        seed = values[SEED.name]
    begun = start(kind, count, seed)
    slot = _angles(begun, (kind, count, seed), state)
    angles = slot.get()

    def loss_of(where: Sequence[float]) -> Loss:
        if kind == "clip":
            return contrastive.image_text(where[:count], where[count:], tau)
        return contrastive.supervised(where, classes(count), tau)

    def put(where: Sequence[float]) -> None:
        slot.set(tuple(round(angle) % 360 for angle in where))

    def down(steps: int) -> None:
        where: list[float] = [float(angle) for angle in angles]
        for _ in range(steps):
            where = contrastive.descend(where, np.concatenate(loss_of(where).gradients), _STEP)
        put(where)

    loss, n = loss_of(angles), 2 * count
    equal = math.log(count) if kind == "clip" else n * math.log(n - 1)
    amounts = {"loss": f"{loss.value:.3f}", "equal": f"{equal:.3f}"}
    st.markdown(view.words.part(f"Loss: {kind}", **amounts, count=count, n=n, others=n - 1))
    left, right = st.columns([1, 1], gap="large")
    with left:
        CIRCLE.draw(f"{slot.key}.circle", circle_data(kind, angles, loss, view.words.label("circle")))
        offer_drawing(state, f"{slot.key}.circle", view.words.label("circle"), "svg")
        with st.container(horizontal=True):
            st.button("One gradient step", key=state.key("points.step"), on_click=down, args=(1,))
            st.button("Twenty gradient steps", key=state.key("points.steps"), on_click=down, args=(20,))
            if angles != begun:
                st.button("Reset the points", key=state.key("points.start"), on_click=put, args=(begun,))
    with right:
        _maps(view, kind, loss, count, values[MATRIX.name])
    view.try_and_notice(kind)
    view.note("Arrows")
    view.how_it_works(f"How it works: {kind}", notes=[f"Paper: {kind}"])


def classes(count: int) -> list[int]:
    """The class of each of 2 · count points: three classes in turn, or two for four points."""
    return [i % (3 if 2 * count >= 6 else 2) for i in range(2 * count)]


def start(kind: str, count: int, seed: int) -> tuple[int, ...]:
    """Initial angles in whole degrees: chosen by hand for seed 0, otherwise sampled from the whole circle."""
    if seed:
        angles = np.random.default_rng(seed).permutation(360 // _APART)[: 2 * count]
        return tuple(int(angle) * _APART for angle in angles)
    first, second = _STARTS[kind]
    return (*first[:count], *second[:count])


def _angles(begun: tuple[int, ...], owner: object, state: PageState) -> Slot[tuple[int, ...]]:
    """Whole degrees of all points: those of the first set, then those of the second."""

    def other_count(linked: tuple[int, ...]) -> str:
        numbers = {"linked": len(linked), "points": len(begun)}
        return "" if len(linked) == len(begun) else content("objectives", "points").part("Other count", **numbers)

    slot = Slot(state, ANGLES, begun, owner=owner, refusal=other_count)
    sent = CIRCLE.sent(f"{slot.key}.circle")
    if sent is not None and len(sent.angles) == len(begun):
        slot.set(tuple(sent.angles))
    return slot


def circle_data(kind: str, angles: Sequence[int], loss: Loss, label: str) -> dict[str, Any]:
    """The props of the component: points with the lengths of their arrows, dashed lines between pairs, a legend."""
    count, gradients = len(angles) // 2, np.concatenate(loss.gradients)
    most = float(np.abs(gradients).max(initial=0.0))
    pulls = -gradients / most * _ARROW if most > 1e-6 else np.zeros_like(gradients)
    clip = kind == "clip"
    of = [0] * count + [1] * count if clip else classes(count)
    groups = ("image", "text") if clip else tuple(f"class {'ABC'[i]}" for i in range(max(of) + 1))
    return {
        "points": [
            {
                "name": name,
                "text": str(i % count + 1) if clip else str(i + 1),
                "angle": int(angles[i]),
                "pull": float(pulls[i]),
                "shape": _SHAPES[of[i]][0],
                "color": _SHAPES[of[i]][1],
                "ink": text_color_on(_SHAPES[of[i]][1]),
                "lane": i // count if clip else i % 2,  # arrows of neighbors do not hide each other
            }
            for i, name in enumerate(_names(kind, count))
        ],
        "ties": [[i, count + i] for i in range(count)] if clip else [],
        "keys": [{"name": name, "shape": _SHAPES[i][0], "color": _SHAPES[i][1]} for i, name in enumerate(groups)],
        "label": label,
        "title": f"{LOSS.options[kind]}: points on a circle at {', '.join(f'{angle}°' for angle in angles)}; "
        f"loss {loss.value:.3f}",
    }


def _names(kind: str, count: int) -> list[str]:
    if kind == "clip":
        return [f"image {i + 1}" for i in range(count)] + [f"text {i + 1}" for i in range(count)]
    return [f"point {i + 1}, class {'ABC'[of]}" for i, of in enumerate(classes(count))]


def _maps(view: View, kind: str, loss: Loss, count: int, shown: str) -> None:
    """Cosines or probabilities of all pairs."""
    names = _names(kind, count)
    rows, columns = (names[:count], names[count:]) if kind == "clip" else (names, names)
    short = [name.split(",")[0] for name in rows], [name.split(",")[0].replace("point ", "") for name in columns]
    if kind == "clip":
        wanted = np.eye(count, dtype=np.bool_)
    else:
        of = np.asarray(classes(count))
        wanted = (of[:, None] == of[None, :]) & ~np.eye(2 * count, dtype=np.bool_)
    values = loss.similarity if shown == "cosines" else loss.probability
    Panel(
        "contrastive",
        f"{MATRIX.options[shown]} of every pair",
        pair_matrix(values, *short, wanted, cosines=shown == "cosines", theme=theme()),
        pair_words(values, wanted, MATRIX.options[shown]),
        Table.from_records(pair_table(loss.similarity, loss.probability, rows, columns, wanted)),
        view.words.part("Frames"),
    ).draw(view.state)


POINTS = Section("points", points, (LOSS, TAU, COUNT, MATRIX, ANGLES))
