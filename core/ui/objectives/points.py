"""Contrastive losses on points that one drags: image and text (CLIP), and supervised."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from core.figures.vectors import pair_matrix, pair_table, pair_words
from core.objectives import contrastive
from core.objectives.contrastive import Loss
from core.theme import BLUE, GREEN, VERMILION
from core.ui.chart import chart
from core.ui.data_table import data_table
from core.ui.export import download_svg
from core.ui.glossary import told
from core.ui.links import PageState, instead, within
from core.ui.objectives.circle import Key, Point, Shape, circle, moved
from core.ui.objectives.circle_svg import circle_svg
from core.ui.objectives.controls import choose_seed
from core.ui.page import theme

LOSSES = {"clip": "Image and text", "supervised": "By class"}
MOST = {"clip": 6, "supervised": 12}
TEMPERATURES = (contrastive.SHARPEST, 1.0)
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
TEXTS = {
    "clip": (
        r"\begin{gathered} L = -\frac{1}{2n} \sum_{i=1}^{n} \Big( \log \frac{e^{u_i \cdot v_i / \tau}}{\sum_j e^{u_i "
        r"\cdot v_j / \tau}} \\[4pt] + \log \frac{e^{u_i \cdot v_i / \tau}}{\sum_j e^{u_j \cdot v_i / \tau}} \Big) "
        r"\end{gathered}",
        "- $L$: the loss; $j$: every pair of the batch in turn\n- $u_i$, $v_i$: the vectors of image $i$ and of its "
        "text, both of length 1\n- $n$: pairs in the batch, 32,768 "
        "in the paper\n- $\\tau$: the temperature; learned, from 0.07 on, and kept at 0.01 or above",
        "Radford et al. 2021, arXiv:2103.00020, section 2.3.",
        "**Try** a text dragged onto another pair's image, then a lower temperature; or “Again” and twenty steps, "
        "again and again: with seed 10 a pair stays caught behind another one.\n\n"
        "**Notice** that no point is pulled towards a place, only towards a partner and away from all others: a pair "
        "far from the rest costs nothing, wherever it is. The sharper the temperature, the more the nearest wrong "
        "partner counts alone.",
    ),
    "supervised": (
        r"L = \sum_{i} \frac{-1}{N_{y_i} - 1} \sum_{j \ne i,\; y_j = y_i} "
        r"\log \frac{e^{x_i \cdot x_j / \tau}}{\sum_{k \ne i} e^{x_i \cdot x_k / \tau}}",
        "- $L$: the loss; $j$: the others of its class; $k$: all other points\n- $x_i$: the vector of point $i$, of "
        "length 1; on sentences that of [CLS]\n- $y_i$: its class, which "
        "$N_{y_i}$ points have\n- $\\tau$: the temperature",
        "Khosla et al. 2020, arXiv:2004.11362 (from memory, unverified); for sentences Gunel et al. 2021, "
        "arXiv:2011.01403, read in readers' notes. In fine-tuning it is added to the usual cross-entropy.",
        "**Try** a point dragged into another class, then many steps downhill.\n\n"
        "**Notice** that a class draws together to one place and the classes move apart: a classifier on top has then "
        "little to do. The loss does not reach 0, since a class of three cannot give each of its pairs all of the "
        "probability.",
    ),
}


def points(state: PageState) -> None:
    """Draw the section; reads and writes ``loss``, ``tau``, ``count``, ``seed`` and ``angles``."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        kind = str(
            st.segmented_control(
                "Loss",
                list(LOSSES),
                format_func=LOSSES.__getitem__,
                default=state.text("loss", "clip"),
                key=state.key("points.loss"),
                required=True,
            )
        )
        tau = float(
            st.slider(
                "Temperature τ",
                *TEMPERATURES,
                state.real("tau", contrastive.TEMPERATURE),
                0.01,
                key=state.key("points.tau"),
                width=220,
            )
        )
        least, most, usual = (2, MOST[kind], 4) if kind == "clip" else (4, MOST[kind], 8)
        wanted, named = state.number("count", usual), "Pairs" if kind == "clip" else "Points"
        count = int(
            st.number_input(
                named,
                least,
                most,
                within(state, named, wanted, least, most, usual),
                1 if kind == "clip" else 2,
                key=state.key(f"points.count.{kind}"),
                width=130,
            )
        )
        count = count if kind == "clip" else count // 2
        seed = choose_seed(state)
    state.set(loss=None if kind == "clip" else kind, count=None if count == 4 else count * (1 if kind == "clip" else 2))
    state.set(tau=None if abs(tau - contrastive.TEMPERATURE) < 1e-9 else tau)
    angles = _angles(kind, count, seed, state)
    loss = _loss(kind, angles, count, tau)
    _number(kind, loss, count, len(angles))
    left, right = st.columns([1, 1], gap="large")
    with left:
        slot = _slot(kind, count, seed, state)
        picture = _circle(kind, angles, loss, count, slot)
        _buttons(kind, angles, count, seed, slot, state)
        download_svg(picture, "points", state.key("points.svg"))
    with right:
        _maps(kind, loss, count, state)
    formula, symbols, paper, said = TEXTS[kind]
    told(said)
    st.latex(formula)
    told(symbols)
    st.caption(
        "An arrow shows how the loss would turn its point: against the slope ∂L/∂θ, the angle θ being all that can "
        f"change on a circle. The longest arrow has a fixed length. {paper}"
    )


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


def _loss(kind: str, angles: Sequence[int], count: int, tau: float) -> Loss:
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
    label = f"{LOSSES[kind]}: points on a circle at {', '.join(f'{angle}°' for angle in angles)}; loss {loss.value:.3f}"
    return circle_svg(made, ties, keys, label, theme())


def _names(kind: str, count: int) -> list[str]:
    if kind == "clip":
        return [f"image {i + 1}" for i in range(count)] + [f"text {i + 1}" for i in range(count)]
    return [f"point {i + 1}, class {'ABC'[of]}" for i, of in enumerate(classes(count))]


def _buttons(kind: str, angles: Sequence[int], count: int, seed: int, slot: str, state: PageState) -> None:
    def put(where: Sequence[float]) -> None:
        st.session_state[slot] = tuple(round(angle) % 360 for angle in where)

    def down(steps: int) -> None:
        where: list[float] = [float(angle) for angle in angles]
        tau = float(st.session_state[state.key("points.tau")])
        for _ in range(steps):
            now = (
                contrastive.image_text(where[:count], where[count:], tau)
                if kind == "clip"
                else (contrastive.supervised(where, classes(count), tau))
            )
            where = contrastive.descend(where, _slopes(now), _STEP)
        put(where)

    with st.container(horizontal=True):
        st.button("One step downhill", key=state.key("points.step"), on_click=down, args=(1,))
        st.button("Twenty steps", key=state.key("points.steps"), on_click=down, args=(20,))
        st.button("From the start", key=state.key("points.start"), on_click=put, args=(start(kind, count, seed),))


def _maps(kind: str, loss: Loss, count: int, state: PageState) -> None:
    """Cosines and probabilities of all pairs, and the numbers as a file."""
    names = _names(kind, count)
    rows, columns = (names[:count], names[count:]) if kind == "clip" else (names, names)
    short = [name.split(",")[0] for name in rows], [name.split(",")[0].replace("point ", "") for name in columns]
    if kind == "clip":
        wanted = np.eye(count, dtype=np.bool_)
    else:
        of = np.asarray(classes(count))
        wanted = (of[:, None] == of[None, :]) & ~np.eye(2 * count, dtype=np.bool_)
    views = {"cosines": "Cosines", "chances": "Probabilities by row"}
    view = st.segmented_control(
        "Matrix",
        list(views),
        format_func=views.__getitem__,
        default=state.text("matrix", "cosines"),
        key=state.key("points.matrix"),
        required=True,
        label_visibility="collapsed",
    )
    state.set(matrix=None if view == "cosines" else view)
    values = loss.similarity if view == "cosines" else loss.probability
    chart(
        pair_matrix(values, *short, wanted, cosines=view == "cosines", theme=theme()),
        key=state.key(f"points.map.{kind}"),
        alt=pair_words(values, wanted, views[str(view)]),
    )
    st.caption("A frame marks what belongs together: the loss wants it large, and all else of its row small.")
    table = pair_table(loss.similarity, loss.probability, rows, columns, wanted)
    with st.expander("As a table"):
        data_table(table, "contrastive", alt="Every pair with its cosine and its probability", key=state.key("points"))
