"""One word's static vectors, ELMo's scalar mix with adjustable weights, and an encoder; weights learned by tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import streamlit as st

from core import checkpoints
from core.arrays import Floats
from core.figures import vectors as pictures
from core.figures.labels import percent
from core.figures.vectors import strips
from core.links.parameters import Integers
from core.table import Table
from core.ui.demos.demo import Demo, DemoView
from core.ui.export import download_csv
from core.ui.glossary import terms
from core.ui.page import theme
from core.ui.panel import Panel
from core.ui.param import Carried, Real, Toggle, differing, settings_popover
from core.ui.slot import Slot
from core.ui.tables import TextTable, text_table
from core.ui.vectors.common import TEXT, WORD, text_for, word_box, word_vectors
from core.ui.vectors.word import point_records, points_of
from core.vectors import elmo, precomputed
from core.vectors.contextual import anisotropy_baseline, sense_separation
from core.vectors.mix import SPLITS, TOPIC, LearnedMix, mix_layers, normed, weights
from core.vectors.occurrences import WordVectors
from core.vectors.plane import components

LAYERS = 2
"""Beside the embeddings."""
SENTENCES = replace(TEXT, name="sentences")
REACH = 4.0
STEP = 0.1
HEIGHT = 360
"""Of each plane, in pixels."""
WEIGHTS = Carried(name="weights", label="Weights", as_=Integers(high=80, most=64))
"""Ten times each slider's value above its minimum: whole numbers, short in a URL."""
GAMMA = Real(name="gamma", label="scale: $\\gamma$", default=1.0, low=0.1, high=4.0, step=0.1, format="%.1f")
NORM = Toggle(name="norm", label="Normalize each layer first", default=True)


def scalar_mix(view: DemoView) -> None:
    state = view.state
    positions = Slot(state, WEIGHTS, (_position(0.0),) * (LAYERS + 1), refusal=partial(_other_count, view))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        word = word_box(state, SENTENCES)
        _presets(view, positions)
        box = text_for(state, SENTENCES)
        moved = sum(position != _position(0.0) for position in positions.get())
        menu = settings_popover(state, differing(state, GAMMA, NORM, box) + moved)
    with menu:
        sliders = st.container()
        text = box.draw(state)
    vectors = word_vectors(view.spec, word, text)
    encoder = checkpoints.get(checkpoints.first("vectors")[0])
    with_encoder = word_vectors(encoder, word, text)
    with sliders:
        raw = _sliders(positions)
        gamma, norm = GAMMA.draw(state), NORM.draw(state)
    left, middle, right = st.columns(3, gap="medium")
    with left:
        _plane(view, "static", vectors, vectors.static_own, vectors.static_around)
    with middle:
        mixed = (mix_layers(layers, raw, gamma, norm=norm) for layers in (vectors.own.vectors, vectors.around.vectors))
        _plane(view, "mixed", vectors, *mixed, note=_best_layer(view, vectors, norm))
    with right:
        _plane(view, "encoder", with_encoder, *with_encoder.at(with_encoder.own.layers), model=encoder.name)
    view.try_and_notice()
    learned = precomputed.learned_mixes()
    most = {task: f"{max(learned[task].weights):.2f}" for task in ("speech", TOPIC)}
    st.info(terms(view.words.part("Layers", **most)), icon=":material/info:")
    _learned(view)
    view.how_it_works()


def _position(weight: float) -> int:
    """A slider's value as a link has it."""
    return round(10 * (weight + REACH))


def _other_count(view: DemoView, positions: tuple[int, ...]) -> str:
    fits = len(positions) == LAYERS + 1
    return "" if fits else view.words.part("Other count", linked=len(positions), layers=LAYERS + 1)


def _sliders(positions: Slot[tuple[int, ...]]) -> tuple[float, ...]:
    """Draw a slider of w for each layer, labeled with its weight after the softmax."""
    raw = tuple(round(position / 10 - REACH, 1) for position in positions.get())
    for layer, (weight, share) in enumerate(zip(raw, weights(raw), strict=True)):
        label = f"{f'layer {layer}' if layer else 'embeddings'}: $w_{layer}$, share $s_{layer}$ = {share:.2f}"
        key = f"{positions.key}.{layer}"
        moved = partial(_move, positions, layer, key)
        st.slider(label, -REACH, REACH, weight, STEP, "%.1f", key=key, on_change=moved)
    return raw


def _move(positions: Slot[tuple[int, ...]], layer: int, key: str) -> None:
    changed = list(positions.get())
    changed[layer] = _position(st.session_state[key])
    positions.set(tuple(changed))


def _put(positions: Slot[tuple[int, ...]], raw: Sequence[float]) -> None:
    positions.set(tuple(map(_position, raw)))
    st.session_state.update({f"{positions.key}.{layer}": weight for layer, weight in enumerate(raw)})


def _presets(view: DemoView, positions: Slot[tuple[int, ...]]) -> None:
    presets = {
        "All layers alike": [0.0] * (LAYERS + 1),
        "The embeddings alone": [REACH, *[-REACH] * LAYERS],
        "The last layer alone": [*[-REACH] * LAYERS, REACH],
    }
    for task, learned in precomputed.learned_mixes().items():
        presets[f"Learned: {view.words.front['tasks'][task][0]}"] = as_raw(learned.weights)
    with st.popover("Presets"):
        for number, (name, raw) in enumerate(presets.items()):
            key = view.state.key(f"preset.{number}")
            st.button(name, key=key, on_click=_put, width="stretch", args=(positions, raw))


def as_raw(shares: tuple[float, ...]) -> list[float]:
    """Raw weights w whose softmax has these shares, centered at zero and clipped to the sliders' range."""
    logs = np.log(np.maximum(shares, 1e-6))
    return [float(w) for w in np.clip(logs - (logs.max() + logs.min()) / 2, -REACH, REACH).round(1)]


def _plane(
    view: DemoView,
    slug: str,
    vectors: WordVectors,
    own: Floats,
    around: Floats,
    *,
    note: str = "",
    model: str = "",
) -> None:
    """Draw the occurrences of the word by one of their vectors, and how well these separate the senses."""
    plane = components(own)
    first, second = plane.shares or (0.0, 0.0)
    titles = (f"component 1: {percent(first)}", f"component 2: {percent(second)}") if first else ("", "")
    senses = [occurrence.line.sense for occurrence in vectors.own.occurrences]
    now = sense_separation(own, senses, anisotropy_baseline(around, vectors.around.lines))
    measures = [f"mean length {np.linalg.norm(own, axis=1).mean():.1f}"] if slug == "mixed" else []
    if now.same is not None and now.other is not None:
        measures.append(view.words.part("Cosines", same=f"{now.same:.2f}", other=f"{now.other:.2f}"))
    if now.nearest is not None:
        measures.append(view.words.part("Nearest", share=percent(now.nearest)))
    title = view.words.part(f"Picture: {slug}", model=model)
    Panel(
        f"elmo-{slug}",
        title,
        pictures.plane(points_of(vectors, plane), titles, theme=theme()).update_layout(height=HEIGHT),
        f"{title}. {view.words.label('plane_alt')}",
        Table.from_records(point_records(vectors, plane)),
        note=f"**{title}**: {'; '.join([*measures, note] if note else measures)}.",
    ).draw(view.state)


def _best_layer(view: DemoView, vectors: WordVectors, norm: bool) -> str:
    """Which layer alone has the most occurrences nearest to their own sense; empty without senses."""
    senses = [occurrence.line.sense for occurrence in vectors.own.occurrences]
    layers = normed(vectors.own.vectors) if norm else vectors.own.vectors
    nearest = [sense_separation(layer, senses, None).nearest for layer in layers]
    hits = [(share, number) for number, share in enumerate(nearest) if share is not None]
    if not hits:
        return ""
    best, at = max(hits, key=lambda pair: (pair[0], -pair[1]))
    return view.words.part("Best", layer="the embeddings" if at == 0 else f"layer {at}", best=percent(best))


def _learned(view: DemoView) -> None:
    view.say("Weights")
    tasks = precomputed.learned_mixes()
    ticks = ["emb.", *(str(layer) for layer in range(1, LAYERS + 1))]
    names = [view.words.front["tasks"][task][0] for task in tasks]
    for column, slug, title, values in zip(
        st.columns(2, gap="large"),
        ("shares", "alone"),
        (view.words.label("shares"), view.words.label("alone")),
        (np.array([mix.weights for mix in tasks.values()]), 100 * np.array([mix.alone for mix in tasks.values()])),
        strict=True,
    ):
        most = "; ".join(
            f"{name}: most for {ticks[int(row.argmax())]} ({row.max():.2f})"
            for name, row in zip(names, values, strict=True)
        )
        with column:
            st.caption(title)
            Panel(
                f"elmo-{slug}",
                title,
                strips(values, names, ticks, digits=2 if slug == "shares" else 0, what="", theme=theme()),
                f"{title}: {most}",
                Table.from_columns({"task": names} | dict(zip(ticks, values.T, strict=True))),
            ).draw(view.state)
    rows = [_row(mix, *view.words.front["tasks"][mix.task]) for mix in tasks.values()]
    headings = ("Task", "Mix", "Best layer", "Most frequent class")
    text_table(TextTable(headings, rows, "Accuracy of each", (40, 18, 22, 20), (1, 2, 3)))
    view.say("Learned", words=f"{next(iter(tasks.values())).words:,}", splits=SPLITS)
    table = Table(
        ("task", "layer", "share", "alone", "mix", "gamma"),
        tuple(
            (task, layer, share, alone, mix.accuracy, mix.gamma)
            for task, mix in tasks.items()
            for layer, (share, alone) in enumerate(zip(mix.weights, mix.alone, strict=True))
        ),
    )
    download_csv(table, "elmo-mix", view.state.key("csv.mix"))


def _row(learned: LearnedMix, name: str, question: str) -> tuple[tuple[str, str], str, str, str]:
    best = max(range(len(learned.alone)), key=learned.alone.__getitem__)
    where = "emb." if best == 0 else f"layer {best}"
    return (
        (name, question),
        percent(learned.accuracy),
        f"{percent(learned.alone[best])} ({where})",
        percent(learned.commonest),
    )


MIX = Demo("mix", scalar_mix, (), (WORD, SENTENCES, WEIGHTS, GAMMA, NORM), lambda spec: spec.slug == elmo.SLUG)
