"""One word in many sentences: its vectors in a plane by layer, its neighbors, distances, and senses by layer."""

from __future__ import annotations

from functools import partial
from itertools import combinations

import streamlit as st

from core import session
from core.checkpoints.spec import CheckpointSpec
from core.figures import vectors as pictures
from core.figures.labels import percent
from core.figures.lines import Line, line_alt, line_chart
from core.links import parameters as link
from core.table import Table
from core.ui.export import download_csv
from core.ui.grid import Column, Grid
from core.ui.links import within
from core.ui.page import accent, theme
from core.ui.panel import Panel
from core.ui.param import Carried, Choice, Integer, Seed, settings_menu
from core.ui.section import Section, View
from core.ui.slot import Slot
from core.ui.tables import TextTable, text_table
from core.ui.vectors.common import MODEL, TEXT, WORD, model_of, text_for, word_box, word_vectors
from core.ui.vectors.layers import PARAMS, contextuality
from core.vectors.contextual import SenseSeparation, anisotropy_baseline, sense_separation
from core.vectors.nearest import cosines, in_sentences, in_vocabulary, vocabulary
from core.vectors.occurrences import Occurrence, WordVectors
from core.vectors.plane import FEWEST, Plane, perplexity_for

STATIC = -1
MAP = Choice(
    name="map",
    label="Projection",
    options={"components": "Components", "neighbours": "t-SNE"},  # codespell:ignore
    style="row",
)
SEED = Seed(again="New seed")
LAYER = Integer(name="layer", label="Layer", low=STATIC, high=200)
DETAILS = {
    "near": "Nearest words",
    "distances": "Distances",
    "depth": "Senses by layer",
    "context": "Contextuality by layer",
}
SHOW = Carried(name="show", label="Details", default="near", as_=link.Choice("near", (*DETAILS, "how")))
"""The one that is open from the start, then the one that was opened last."""
_BEFORE, _AFTER = 26, 22
"""Characters of a sentence on both sides of its word in a table."""


def one_word(view: View) -> None:
    state = view.state
    with view.controls():
        spec = model_of(state)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        word = word_box(state)
        values = settings_menu(state, MAP, SEED)
        projection = values[MAP.name]
        seed = values[SEED.name] if projection == "neighbours" else None  # codespell:ignore
        slider = st.container(width="stretch")
    left, right = st.columns([1.55, 1], gap="large")
    with right:
        text = text_for(state).draw(state)
    with left:
        vectors = word_vectors(spec, word, text)
        planes = session.planes(spec.slug, word, text, seed)
        with slider:
            stop = _stop(view, vectors)
        if projection == "neighbours" and len(vectors.own.occurrences) < FEWEST:  # codespell:ignore
            view.note("Few points", fewest=FEWEST)
        _points(view, vectors, planes, stop, spec)
    view.try_and_notice()
    show = Slot(state, SHOW, "near")
    first = state.memory.setdefault("details", show.get())
    for slug, title in DETAILS.items():
        opened = partial(show.set, slug)
        box = st.expander(title, expanded=slug == first, key=f"{show.key}.{slug}", on_change=opened)
        if box.open:
            with box:
                if slug == "near":
                    _nearest(view, spec, vectors, stop)
                elif slug == "distances":
                    _distances(view, spec, vectors, stop)
                elif slug == "depth":
                    _senses_by_layer(view, spec, vectors)
                else:
                    contextuality(view, text)
    view.how_it_works("How it works", "Components: how", "t-SNE: how")
    download_csv(partial(_vectors_table, vectors), "vectors", state.key("csv.vectors"), of="all vectors")


def name_of(stop: int, layers: int) -> str:
    if stop == STATIC:
        return "static"
    return "embeddings" if stop == 0 else f"layer {stop}" + (", the last" if stop == layers else "")


def _stop(view: View, vectors: WordVectors) -> int:
    """Draw the slider of layers: -1 is the embedding matrix itself, the default the last layer."""
    state, layers = view.state, vectors.own.layers
    stop = st.select_slider(
        LAYER.label,
        list(range(STATIC, layers + 1)),
        value=within(state, LAYER.label, state.number("layer", layers), STATIC, layers),
        format_func=lambda at: name_of(at, layers),
        key=state.key(f"layer.{layers}"),
    )
    state.set(layer=None if stop == layers else stop)
    return int(stop)


def _points(view: View, vectors: WordVectors, planes: tuple[Plane, ...], stop: int, spec: CheckpointSpec) -> None:
    plane = planes[stop + 1]
    titles = ("", "")
    if plane.shares is not None and sum(plane.shares) > 0:
        first, second = (f"component {i + 1}: {percent(share)} of the variance" for i, share in enumerate(plane.shares))
        titles = (first, second)
    Panel(
        f"{spec.slug}-points",
        view.words.label("plane"),
        pictures.plane(points_of(vectors, plane), titles, theme=theme()),
        view.words.part(
            "Plane: alt", count=len(plane.points), layer=name_of(stop, vectors.own.layers), model=spec.name
        ),
        Table.from_records(
            [{"stop": stop} | row for stop, plane in enumerate(planes, STATIC) for row in point_records(vectors, plane)]
        ),
        note=_points_note(view, vectors, plane, stop),
    ).draw(view.state)


def _points_note(view: View, vectors: WordVectors, plane: Plane, stop: int) -> str:
    count, part = len(vectors.own.occurrences), view.words.part
    if stop == STATIC:
        ways = len({occurrence.ids for occurrence in vectors.own.occurrences})
        return part("Static: several", ways=ways, count=count) if ways > 1 else part("Static", count=count)
    if count == 1:
        return part("One occurrence")
    if plane.shares is not None:
        share = percent(sum(plane.shares))
        return part("Components", count=count, dimension=vectors.own.vectors.shape[-1], share=share)
    return part("t-SNE", count=count, perplexity=f"{perplexity_for(count):.1f}")


def points_of(vectors: WordVectors, plane: Plane) -> list[pictures.PlanePoint]:
    """The occurrences as points of the figure."""
    return [
        pictures.PlanePoint(float(x), float(y), word.name, word.line.sense, around_word(word))
        for word, (x, y) in zip(vectors.own.occurrences, plane.points, strict=True)
    ]


def point_records(vectors: WordVectors, plane: Plane) -> list[dict[str, str | float]]:
    """The points as table rows."""
    return [
        {"line": word.name, "sense": word.line.sense, "sentence": word.text, "x": float(x), "y": float(y)}
        for word, (x, y) in zip(vectors.own.occurrences, plane.points, strict=True)
    ]


def around_word(word: Occurrence) -> tuple[str, str, str]:
    """A sentence in three: before its word, the word, after it."""
    return word.text[: word.start], word.text[word.start : word.end], word.text[word.end :]


def _nearest(view: View, spec: CheckpointSpec, vectors: WordVectors, stop: int) -> None:
    of_word, around = vectors.at(stop)
    # the embedding matrix's own mean is that of its rows; a layer's is that of the words that were read
    entries = session.computed("", vocabulary, spec.slug)
    mean = entries.mean if stop < 0 else around.mean(axis=0)
    listed = in_vocabulary(session.checkpoint(spec.slug), entries, of_word, mean, k=5)
    sentences = in_sentences(of_word, around.mean(axis=0), around, vectors.own_indices, k=3)
    rows = [
        (
            (f"{occurrence.name} {occurrence.line.sense}".strip(), _snippet(occurrence)),
            ", ".join(f"{word} {value:.2f}" for word, value in near),
            ", ".join(f"{vectors.around.texts[i]} ({vectors.around.lines[i]}) {value:.2f}" for i, value in beside),
        )
        for occurrence, near, beside in zip(vectors.own.occurrences, listed, sentences, strict=True)
    ]
    text_table(
        TextTable(
            ("Occurrence", "Nearest in the vocabulary", "Nearest words of these sentences"),
            rows,
            view.words.label("nearest"),
            (34, 36, 30),
        )
    )
    view.say("Nearest")
    table = Table(
        ("stop", "line", "sense", "rank", "word", "cosine"),
        tuple(
            (stop, occurrence.name, occurrence.line.sense, rank, word, value)
            for occurrence, near in zip(vectors.own.occurrences, listed, strict=True)
            for rank, (word, value) in enumerate(near, 1)
        ),
    )
    download_csv(table, f"{spec.slug}-nearest-words", view.state.key("csv.nearest"))


def _distances(view: View, spec: CheckpointSpec, vectors: WordVectors, stop: int) -> None:
    of_word, _ = vectors.at(stop)
    matrix = cosines(of_word, of_word)
    names = [f"{occurrence.name} {occurrence.line.sense}".strip() for occurrence in vectors.own.occurrences]
    if len(names) < 2:
        view.note("Two needed")
        return
    every_pair = list(combinations(range(len(names)), 2))
    left, right = st.columns([1.55, 1], gap="large")
    with left:
        Panel(
            f"{spec.slug}-cosines",
            view.words.label("cosines"),
            pictures.cosines(matrix, names, theme=theme()),
            view.words.label("cosines_alt"),
            partial(_cosine_table, vectors),
        ).draw(view.state)
    with right:
        pairs = sorted(((float(matrix[i, j]), i, j) for i, j in every_pair), reverse=True)
        shown = [*pairs[:4], *pairs[4:][-4:]]
        rows = [(f"{names[i]} and {names[j]}", f"{value:.2f}", f"{1 - value:.2f}") for value, i, j in shown]
        text_table(TextTable(("Pair", "Cosine", "Distance"), rows, view.words.label("pairs"), (46, 26, 28), (1, 2)))
        view.say("Pairs")


def _cosine_table(vectors: WordVectors) -> Table:
    """The cosine of every pair of occurrences at every layer."""
    ends = [(occurrence.name, occurrence.line.sense) for occurrence in vectors.own.occurrences]
    matrices = enumerate((cosines(layer, layer) for layer in vectors.stops), STATIC)
    return Table(
        ("stop", "line", "sense", "other line", "other sense", "cosine"),
        tuple(
            (stop, *ends[i], *ends[j], float(matrix[i, j]))
            for stop, matrix in matrices
            for i, j in combinations(range(len(ends)), 2)
        ),
    )


def _senses_by_layer(view: View, spec: CheckpointSpec, vectors: WordVectors) -> None:
    senses = [occurrence.line.sense for occurrence in vectors.own.occurrences]
    layers = [
        sense_separation(vector, senses, anisotropy_baseline(vectors.at(stop)[1], vectors.around.lines))
        for stop, vector in enumerate(vectors.stops, STATIC)
    ]
    names = ["static", "emb.", *(str(layer) for layer in range(1, vectors.own.layers + 1))]
    lines = [
        Line(name, list(range(len(layers))), [getattr(scores, key) for scores in layers], color, dash)
        for key, name, color, dash in (
            ("same", "same sense", accent(spec.branch), "solid"),
            ("other", "another sense", theme().categorical[4], "dash"),
            ("baseline", "any two words", theme().categorical[6], "dot"),
        )
        if any(getattr(scores, key) is not None for scores in layers)
    ]
    if not lines:  # one sentence
        view.say("Senses: none")
        return
    columns: tuple[Column[tuple[int, SenseSeparation]], ...] = (
        Column("Layer", lambda row: row[0], width=20, name="stop", cell=lambda row: names[row[0] - STATIC]),
        Column("same", lambda row: row[1].same, ".2f", 20, "same sense"),
        Column("other", lambda row: row[1].other, ".2f", 20, "another sense"),
        Column("nearest", lambda row: row[1].nearest, ".2f", 20, "nearest has the sense"),
        Column("any", lambda row: row[1].baseline, ".2f", 20, "any two words"),
    )
    grid = Grid("Mean cosines by layer", columns, list(enumerate(layers, STATIC)))
    left, right = st.columns([1.55, 1], gap="large")
    with left:
        Panel(
            f"{spec.slug}-senses",
            "Mean cosine by layer",
            line_chart(lines, "mean cosine", names, theme=theme()),
            line_alt(lines, "Mean cosine", names),
            grid.table,
        ).draw(view.state)
    with right:
        grid.draw()
        gaps = [(a.same - a.other, i) for i, a in enumerate(layers) if a.same is not None and a.other is not None]
        if gaps:
            gap, at = max(gaps)
            where = ("in the embedding matrix", "in the embeddings")[at] if at < 2 else f"after layer {at - 1}"
            view.say("Separation", where=where, gap=f"{gap:.2f}")
            if alone := sum(1 for sense in senses if senses.count(sense) == 1 or not sense):
                view.say("Alone", count=alone)
        else:
            view.say("Senses: none")
        view.say("Senses")


def _vectors_table(vectors: WordVectors) -> Table:
    return Table(
        ("stop", "line", *(f"n{i + 1}" for i in range(vectors.own.vectors.shape[-1]))),
        tuple(
            (stop, occurrence.name, *row.tolist())
            for stop, layer in enumerate(vectors.stops, STATIC)
            for occurrence, row in zip(vectors.own.occurrences, layer, strict=True)
        ),
    )


def _snippet(occurrence: Occurrence) -> str:
    """The part of a sentence around its word, with the word in brackets."""
    before, word, after = around_word(occurrence)
    start = before if len(before) <= _BEFORE else "…" + before[-_BEFORE:].partition(" ")[2]
    end = after if len(after) <= _AFTER else after[:_AFTER].rpartition(" ")[0] + "…"
    return f"{start}[{word}]{end}"


WORD_SECTION = Section("word", one_word, (MODEL, WORD, TEXT, MAP, SEED, LAYER, SHOW, *PARAMS))
