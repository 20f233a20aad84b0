"""ELMo's mix of layers on a live model: weights to move, what they do to the points, and what tasks have learned."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from core.checkpoints.spec import CheckpointSpec
from core.figures import strips
from core.figures import vectors as pictures
from core.table import Table
from core.ui.export import download_csv
from core.ui.glossary import terms, told
from core.ui.heads.pictures import saved_as
from core.ui.links import instead
from core.ui.text_table import TextTable, text_table
from core.ui.vectors.frame import VectorsView, model_menu
from core.ui.vectors.sentences import asked, found, sentences_box, word_box
from core.ui.vectors.word import cut
from core.vectors import kept
from core.vectors.contextual import strangers
from core.vectors.learn import SPLITS, TASKS, Learned
from core.vectors.mix import mixed, normed, weights
from core.vectors.occurrences import WordVectors
from core.vectors.plane import components
from core.vectors.senses import apart

if TYPE_CHECKING:
    from core.ui.links import PageState

REACH = 4.0
STEP = 0.1


def elmo_mix(view: VectorsView) -> None:
    """Draw the whole section; reads and writes word, text, weights, gamma and norm.

    Raises:
        AtlasError: what was typed, or the model, does not allow it.
    """
    state = view.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        spec = model_menu(view)
        word_box(state)
        _ready(spec, state)
        with st.popover("Sentences"):
            place = st.container()
    sentences_box(state, place)
    typed = asked(state)
    made = found(spec, typed)
    left, right = st.columns([1.4, 1], gap="large")
    with right:
        raw = _sliders(spec, made.own.layers, state)
        gamma, norm = _gamma(state)
    with left:
        _picture(spec, made, raw, gamma, norm, state)
    told(
        "**Try** all weight on the embeddings, then on the last layer, then the weights that a task has learned. "
        "**Notice** that $\\gamma$ changes every distance and no angle, and that one bad layer can be weighed away "
        "without touching the model."
    )
    st.info(
        terms(
            "ELMo's own layers cannot run here: it is made of LSTMs, and no model of that kind is bundled. What you "
            "mix are the layers of the model above, by ELMo's equation."
        ),
        icon=":material/info:",
    )
    _formula()
    _wanted(spec, state)


def _slots(spec: CheckpointSpec, layers: int, state: PageState) -> list[str]:
    return [state.key(f"weight.{spec.slug}.{layer}") for layer in range(layers + 1)]


def _sliders(spec: CheckpointSpec, layers: int, state: PageState) -> tuple[float, ...]:
    """w for each layer; the share that each has after the softmax stands in its label."""
    slots = _slots(spec, layers, state)
    given = state.integers("weights")
    if given and len(given) != layers + 1 and slots[0] not in st.session_state:
        instead(
            state, f"The link has {len(given)} weights, and {spec.name} {layers + 1} layers to mix. All begin at 0."
        )
    start = [value / 10 - REACH for value in given] if len(given) == layers + 1 else [0.0] * (layers + 1)
    for slot, value in zip(slots, start, strict=True):
        st.session_state.setdefault(slot, round(min(REACH, max(-REACH, value)), 1))
    raw = tuple(float(st.session_state[slot]) for slot in slots)
    shares = weights(raw)
    for layer, slot in enumerate(slots):
        name = "embeddings" if layer == 0 else f"layer {layer}"
        st.slider(
            f"{name}: $w_{layer}$, share $s_{layer}$ = {shares[layer]:.2f}",
            -REACH,
            REACH,
            key=slot,
            persist_state="page",
            step=STEP,
            format="%.1f",
        )
    even = len(set(raw)) == 1
    state.set(weights=() if even else tuple(round(10 * (value + REACH)) for value in raw))
    return raw


def _gamma(state: PageState) -> tuple[float, bool]:
    gamma = st.slider(
        "length: $\\gamma$", 0.1, 4.0, state.real("gamma", 1.0), 0.1, key=state.key("gamma"), format="%.1f"
    )
    norm = st.toggle(
        "normalise each layer first",
        state.text("norm", "yes") == "yes",
        key=state.key("norm"),
        help="Gives every layer's vectors the same length, so that a share means a share",
    )
    state.set(gamma=None if gamma == 1.0 else gamma, norm=None if norm else "no")
    return float(gamma), bool(norm)


def _ready(spec: CheckpointSpec, state: PageState) -> None:
    """Weights to begin with."""
    layers = len(kept.layers(spec.slug)) - 1
    with st.popover("Ready weights"):
        if layers < 0:
            st.caption("No task was learned with this model.")
            return
        sets = {
            "All layers alike": [0.0] * (layers + 1),
            "The embeddings alone": [REACH, *[-REACH] * layers],
            "The last layer alone": [*[-REACH] * layers, REACH],
        }
        for task, one in kept.learned(spec.slug).items():
            sets[f"Learned: {TASKS[task][0]}"] = as_raw(one.weights)
        for number, (name, values) in enumerate(sets.items()):
            st.button(
                name,
                key=state.key(f"ready.weights.{number}"),
                on_click=_take,
                width="stretch",
                args=(_slots(spec, layers, state), values),
            )


def as_raw(shares: tuple[float, ...]) -> list[float]:
    """Weights w with these shares, the mean of their ends at zero, as far as the sliders reach."""
    logs = [log(max(share, 1e-6)) for share in shares]
    middle = (max(logs) + min(logs)) / 2
    return [round(min(REACH, max(-REACH, value - middle)), 1) for value in logs]


def _take(slots: list[str], values: list[float]) -> None:
    for slot, value in zip(slots, values, strict=True):
        st.session_state[slot] = value


def _picture(
    spec: CheckpointSpec, made: WordVectors, raw: tuple[float, ...], gamma: float, norm: bool, state: PageState
) -> None:
    own = mixed(made.own.vectors, raw, gamma, norm=norm)
    around = mixed(made.around.vectors, raw, gamma, norm=norm)
    plane = components(own)
    points = [
        pictures.Point(float(x), float(y), one.name, one.line.sense, cut(one))
        for one, (x, y) in zip(made.own.found, plane.points, strict=True)
    ]
    shares = plane.shares or (0.0, 0.0)
    st.plotly_chart(
        pictures.plane(
            points,
            (f"component 1: {100 * shares[0]:.0f} %", f"component 2: {100 * shares[1]:.0f} %"),
            dark=st.context.theme.type == "dark",
        ),
        key=state.key("mix"),
        config=saved_as(f"atlas-{spec.slug}-mix"),
        alt="The mixed vectors of one word on a plane; the numbers below say how senses stand apart.",
    )
    senses = [one.line.sense for one in made.own.found]
    now = apart(own, senses, strangers(around, made.around.lines))
    each = [apart(layer, senses, None) for layer in (normed(made.own.vectors) if norm else made.own.vectors)]
    hits = [(one.nearest, number) for number, one in enumerate(each) if one.nearest is not None]
    lengths, gaps = np.linalg.norm(own, axis=1), _mean_distance(own)
    said = [f"mean length {lengths.mean():.1f}", f"mean distance {gaps:.1f}" if gaps else ""]
    if now.same is not None and now.other is not None:
        said.append(f"cosine {now.same:.2f} within a sense, {now.other:.2f} across")
    if now.nearest is not None and hits:
        best, at = max(hits, key=lambda pair: (pair[0], -pair[1]))
        where = "the embeddings" if at == 0 else f"layer {at}"
        said.append(
            f"{100 * now.nearest:.0f} % of occurrences are nearest to their own sense (best single layer, {where}: "
            f"{100 * best:.0f} %)"
        )
    st.caption("; ".join(part for part in said if part) + ".")


def _mean_distance(vectors: np.ndarray) -> float | None:  # type: ignore[type-arg]
    count = len(vectors)
    if count < 2:
        return None
    apart_by = np.linalg.norm(vectors[:, None] - vectors[None], axis=-1)
    return float(apart_by.sum() / (count * (count - 1)))


def _formula() -> None:
    st.latex(r"E = \gamma \sum_{j=0}^{L} s_j\, h_j, \qquad s_j = \frac{e^{w_j}}{\sum_k e^{w_k}}")
    st.latex(r"\mathrm{norm}(h) = \frac{h - \mu}{\sqrt{\sigma^2 + \epsilon}}")
    told(
        "$E$ is the mixed vector, $h_j$ a word's vector after layer $j$ of $L$ (0: what the first layer reads), $w_j$ "
        "the weight of your "
        "slider, $s_j$ its share among all $k$, $\\gamma$ the length that a task wants. ELMo has three such layers, "
        "and each task "
        "learns its own $w$ and $\\gamma$ while the language model stays as it is. $\\mu$ and $\\sigma^2$ are the mean "
        "and the variance of the numbers of one vector, $\\epsilon$ is a small number that keeps the root from nought."
    )
    st.caption(
        "Peters et al., Deep contextualized word representations (2018, "
        "[arXiv 1802.05365](https://arxiv.org/abs/1802.05365)), equation 1. *Read: section 3, in a stored bilingual "
        "copy.*"
    )


def _wanted(spec: CheckpointSpec, state: PageState) -> None:
    st.markdown(f"**What tasks want of {spec.name}**")
    tasks = kept.learned(spec.slug)
    if not tasks:
        st.caption("No task was learned with this model; “python -m core vectors SLUG” does it in a minute.")
        return
    ticks = ["emb.", *(str(i) for i in range(1, len(next(iter(tasks.values())).weights)))]
    names = [TASKS[task][0] for task in tasks]
    dark = st.context.theme.type == "dark"
    left, right = st.columns(2, gap="large")
    for column, title, values in (
        (left, "Share of each layer in the mix", np.array([one.weights for one in tasks.values()])),
        (right, "Right with this layer alone, in %", 100 * np.array([one.alone for one in tasks.values()])),
    ):
        with column:
            st.caption(title)
            st.plotly_chart(
                strips.strips(values, names, ticks, digits=2 if values.max() <= 1 else 0, what="", dark=dark),
                key=state.key(f"wanted.{title}"),
                config=saved_as(f"atlas-{spec.slug}-wanted"),
                alt=f"{title}: {_alt(names, ticks, values)}",
            )
    rows = [_row(one) for one in tasks.values()]
    text_table(
        TextTable(
            ("Task", "Mix", "Best layer", "Commonest answer"),
            rows,
            "How often each is right",
            (40, 18, 22, 20),
            (1, 2, 3),
        )
    )
    one = next(iter(tasks.values()))
    told(
        f"Learned at the desk from {one.words:,} words of the Atlas's treebank: a softmax over the mix, a third of the "
        f"sentences kept for the test, mean of {SPLITS} divisions. This is the equation in earnest and not ELMo's "
        "experiment: other layers, four small tasks, few words. Shares differ between tasks as one would hope; a mix "
        "is seldom much better than its best layer, and so few words can make it worse."
    )
    download_csv(
        Table.from_records(
            [
                {"task": task, "layer": layer, "share": share, "alone": alone, "mix": one.accuracy, "gamma": one.gamma}
                for task, one in tasks.items()
                for layer, (share, alone) in enumerate(zip(one.weights, one.alone, strict=True))
            ]
        ),
        f"{spec.slug}-mix",
        state.key(f"csv.{spec.slug}-mix"),
    )


def _row(one: Learned) -> tuple[tuple[str, str], str, str, str]:
    best = max(range(len(one.alone)), key=one.alone.__getitem__)
    where = "emb." if best == 0 else f"layer {best}"
    name, asks = TASKS[one.task]
    return (
        (name, asks),
        f"{100 * one.accuracy:.0f} %",
        f"{100 * one.alone[best]:.0f} % ({where})",
        f"{100 * one.commonest:.0f} %",
    )


def _alt(names: list[str], ticks: list[str], values: np.ndarray) -> str:  # type: ignore[type-arg]
    return "; ".join(
        f"{name}: most for {ticks[int(row.argmax())]} ({row.max():.2f})"
        for name, row in zip(names, values, strict=True)
    )
