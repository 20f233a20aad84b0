"""Contrastive losses on points that one drags: image and text (CLIP), and supervised."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from core.figures.vectors import pair_matrix, pair_table, pair_words
from core.links import parameters as link
from core.objectives import contrastive
from core.objectives.contrastive import Loss
from core.table import Table
from core.theme import BLUE, GREEN, VERMILION
from core.ui.export import download_svg
from core.ui.links import PageState, instead
from core.ui.objectives.circle import Key, Point, Shape, circle, circle_svg, moved
from core.ui.objectives.objective import SEED
from core.ui.page import theme
from core.ui.panel import Panel
from core.ui.param import Carried, Choice, Integer, Real
from core.ui.section import Section, View

_STARTS = {
    "clip": ((20, 95, 200, 290, 340, 150), (60, 140, 170, 330, 15, 120)),
    "supervised": ((10, 50, 130, 170, 250, 300), (85, 200, 330, 25, 150, 275)),
}
"""Where the points of either set begin with seed 0: neither right nor hopeless."""
_SHAPES: tuple[tuple[Shape, str], ...] = (("circle", BLUE), ("square", VERMILION), ("triangle", GREEN))
_STEP = 12.0
_APART = 15
"""Degrees between points that are drawn, so that none hides another."""
_ARROW = 45.0
"""Degrees of the longest arrow."""
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
    hide_label=True,
)
ANGLES = Carried(name="angles", label="Angles", as_=link.Integers(high=359, most=12))


def points(view: View) -> None:
    """Draw the section."""
    state = view.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        kind = LOSS.draw(state)
        tau = TAU.draw(state)
        if kind == "clip":
            count = COUNT.with_(label="Pairs", default=4, high=6).draw(state, tag=kind)
        else:
            count = COUNT.with_(low=4, step=2).draw(state, tag=kind) // 2
        seed = SEED.draw(state)
    angles = _angles(kind, count, seed, state)
    loss = _loss(kind, angles, count, tau)
    _number(kind, loss, count, len(angles))
    left, right = st.columns([1, 1], gap="large")
    with left:
        slot = _slot(kind, count, seed, state)
        picture = _circle(kind, angles, loss, count, slot)
        _buttons(kind, angles, count, tau, seed, slot, state)
        download_svg(picture, "points", state.key("points.svg"))
    with right:
        _maps(view, kind, loss, count)
    view.try_and_notice(kind)
    view.say(f"How it works: {kind}")
    view.note("Arrows", paper=view.words.part(f"Paper: {kind}"))


def classes(count: int) -> list[int]:
    """The class of each of 2 · count points: three classes in turn, or two for four points."""
    return [i % (3 if 2 * count >= 6 else 2) for i in range(2 * count)]


def start(kind: str, count: int, seed: int) -> tuple[int, ...]:
    """Whole degrees where the points begin: chosen by hand for seed 0, else drawn from the whole circle."""
    if seed:
        places = np.random.default_rng(seed).permutation(360 // _APART)[: 2 * count]
        return tuple(int(place) * _APART for place in places)
    first, second = _STARTS[kind]
    return (*first[:count], *second[:count])


def _slot(kind: str, count: int, seed: int, state: PageState) -> str:
    return state.key(f"points.angles.{kind}.{count}.{seed}")


def _angles(kind: str, count: int, seed: int, state: PageState) -> tuple[int, ...]:
    """Whole degrees of all points: those of the first set, then those of the second."""
    slot = _slot(kind, count, seed, state)
    linked = state.integers("angles")
    if slot not in st.session_state:
        first = state.key("points.seen") not in st.session_state
        if first and linked and len(linked) != 2 * count:
            instead(
                state, f"The link has {len(linked)} angles for {2 * count} points. They begin where they usually do."
            )
        fresh = first and len(linked) == 2 * count
        st.session_state[slot] = linked if fresh else start(kind, count, seed)
    st.session_state[state.key("points.seen")] = True
    now = moved(st.session_state[slot], key=slot.replace("angles", "circle"))
    st.session_state[slot] = now
    state.set(angles=() if now == start(kind, count, seed) else now)
    return now


def _loss(kind: str, angles: Sequence[float], count: int, tau: float) -> Loss:
    if kind == "clip":
        return contrastive.image_text(angles[:count], angles[count:], tau)
    return contrastive.supervised(angles, classes(count), tau)


def _number(kind: str, loss: Loss, count: int, total: int) -> None:
    """The loss, and what it is when nothing can be told apart."""
    blind = math.log(count) if kind == "clip" else total * math.log(total - 1)
    st.markdown(
        f"**L = {loss.value:.3f} nats.** With all points in one place it would be {blind:.3f}"
        + (f" = ln {count}." if kind == "clip" else f" = {total} · ln {total - 1}, the sum over {total} points.")
    )


def _slopes(loss: Loss) -> NDArray[np.float64]:
    return np.concatenate(loss.slopes)


def _circle(kind: str, angles: Sequence[int], loss: Loss, count: int, slot: str) -> str:
    """Draw the circle; returns it as an SVG file."""
    slopes = _slopes(loss)
    most = float(np.abs(slopes).max(initial=0.0))
    pulls = -slopes / most * _ARROW if most > 1e-6 else np.zeros_like(slopes)
    of = [0] * count + [1] * count if kind == "clip" else classes(count)
    names, texts = _names(kind, count), [str(i % count + 1) if kind == "clip" else str(i + 1) for i in range(2 * count)]
    made = [
        Point(
            names[i],
            texts[i],
            int(angles[i]),
            float(pulls[i]),
            *_SHAPES[of[i]],
            i // count if kind == "clip" else i % 2,
        )
        for i in range(2 * count)
    ]
    ties = [(i, count + i) for i in range(count)] if kind == "clip" else []
    kinds = ("image", "text") if kind == "clip" else tuple(f"class {'ABC'[i]}" for i in range(max(of) + 1))
    keys = [Key(name, *_SHAPES[i]) for i, name in enumerate(kinds)]
    circle(
        made,
        ties,
        keys,
        key=slot.replace("angles", "circle"),
        label="Points on a circle; each can be turned with the arrow keys",
    )
    return _saved(made, ties, keys, kind, angles, loss)


def _saved(
    made: Sequence[Point],
    ties: Sequence[tuple[int, int]],
    keys: Sequence[Key],
    kind: str,
    angles: Sequence[int],
    loss: Loss,
) -> str:
    """The circle as an SVG file."""
    places = ", ".join(f"{angle}°" for angle in angles)
    label = f"{LOSS.options[kind]}: points on a circle at {places}; loss {loss.value:.3f}"
    return circle_svg(made, ties, keys, label, theme())


def _names(kind: str, count: int) -> list[str]:
    if kind == "clip":
        return [f"image {i + 1}" for i in range(count)] + [f"text {i + 1}" for i in range(count)]
    return [f"point {i + 1}, class {'ABC'[of]}" for i, of in enumerate(classes(count))]


def _buttons(kind: str, angles: Sequence[int], count: int, tau: float, seed: int, slot: str, state: PageState) -> None:
    def put(where: Sequence[float]) -> None:
        st.session_state[slot] = tuple(round(angle) % 360 for angle in where)

    def down(steps: int) -> None:
        where: list[float] = [float(angle) for angle in angles]
        for _ in range(steps):
            where = contrastive.descend(where, _slopes(_loss(kind, where, count, tau)), _STEP)
        put(where)

    with st.container(horizontal=True):
        st.button("One step downhill", key=state.key("points.step"), on_click=down, args=(1,))
        st.button("Twenty steps", key=state.key("points.steps"), on_click=down, args=(20,))
        st.button("From the start", key=state.key("points.start"), on_click=put, args=(start(kind, count, seed),))


def _maps(view: View, kind: str, loss: Loss, count: int) -> None:
    """Cosines or probabilities of all pairs."""
    names = _names(kind, count)
    rows, columns = (names[:count], names[count:]) if kind == "clip" else (names, names)
    short = [name.split(",")[0] for name in rows], [name.split(",")[0].replace("point ", "") for name in columns]
    if kind == "clip":
        wanted = np.eye(count, dtype=np.bool_)
    else:
        of = np.asarray(classes(count))
        wanted = (of[:, None] == of[None, :]) & ~np.eye(2 * count, dtype=np.bool_)
    shown = MATRIX.draw(view.state)
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
