"""Contextuality: how context-dependent each layer is, for several models, over held-out or own sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from core import checkpoints, session
from core.checkpoints.spec import CheckpointSpec
from core.content import content
from core.errors import AtlasError
from core.figures.lines import Line, line_alt, line_chart
from core.table import Table
from core.theme import mixed
from core.ui.export import download_csv
from core.ui.page import accent, plain, theme
from core.ui.panel import Panel
from core.ui.param import Choice, Toggle, Words, menu_names
from core.ui.section import View
from core.ui.tables import TextTable, text_table
from core.ui.vectors.common import DASHES, MODEL
from core.vectors import precomputed
from core.vectors.contextual import Layer
from core.vectors.precomputed import COUNT

MEASURES = {
    "self": ("Self-similarity", "self_similarity"),
    "intra": ("Intra-sentence similarity", "intra"),
    "explained": ("Maximum explainable variance", "explained"),
    "strangers": ("Anisotropy baseline", "baseline"),
}
"""By the word in the URL: title, and field of a layer's measures."""
OVER = Choice(
    name="over",
    label="Sentences",
    options={"kept": f"{COUNT} held out", "own": "your own"},
    style="row",
)
MEASURE = Choice(
    name="measure", label="Measure", options={slug: title for slug, (title, _) in MEASURES.items()}, width=280
)
LESS = Toggle(name="less", label="Anisotropy correction", default=True)
MODELS = Words(name="models", label="Models", options={}, most=8, style="menu", may_be_empty=True)
OF = Choice(name="of", label="Of", options={}, width=300, hide_label=True)
_SHADES = (0.0, 0.35, 0.6)
OWN_FEWEST = 2
"""The fewest of the visitor's sentences in which a word must occur."""
Measured = dict[str, tuple[CheckpointSpec, tuple[Layer, ...]]]


def contextuality(view: View, text: str) -> None:
    """Draw the measures by layer over held-out sentences, or over those of ``text``."""
    view = replace(view, words=content("vectors", "layers"))
    state = view.state
    state.helps |= view.words.front["help"]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        over = OVER.draw(state)
        measure = MEASURE.draw(state)
        less = measure != "strangers" and LESS.draw(state)
    specs = MODEL.offered()
    offered = [slug for slug in specs if over == "own" or precomputed.layers(slug)]
    usual = [slug for slug in offered if slug in checkpoints.first("vectors-layers")] or offered[: MODELS.most]
    names = menu_names(specs[slug] for slug in offered)
    chosen = MODELS.with_(options=names, default=tuple(usual)).draw(state, tag=over)
    if not chosen:
        view.note("None chosen")
        return
    if over == "kept":
        layers = {slug: (specs[slug], precomputed.layers(slug)) for slug in chosen}
    else:
        layers = _own(view, [specs[slug] for slug in chosen], text)
    if layers:
        _curves(view, layers, measure, less)
    view.try_and_notice(measure)
    if over == "kept" and layers:
        _words(view, layers)
    view.how_it_works()


def _own(view: View, models: Sequence[CheckpointSpec], text: str) -> Measured:
    measured: Measured = {}
    words: tuple[tuple[str, int], ...] = ()
    for spec in models:
        try:
            with st.spinner(session.waiting("running-the-models")):
                result = session.contextual(spec.slug, text, OWN_FEWEST)
        except AtlasError as error:
            if len(models) == 1:
                raise
            st.caption(plain(f"{spec.name} is left out: {error}"))
            continue
        measured[spec.slug] = (spec, result.layers)
        words = result.words
    if measured and words:
        shown = ", ".join(f"{word} ({count})" for word, count in words[:12])
        st.caption(
            plain(
                f"{view.words.part('Own words', count=len(words), least=OWN_FEWEST)} {shown}"
                f"{' and others' if len(words) > 12 else ''}."
            )
        )
    elif measured:
        view.note("No word twice")
    return measured


def _curves(view: View, measured: Measured, measure: str, less: bool) -> None:
    title, field = MEASURES[measure]
    per_branch: Counter[str] = Counter()
    lines = []
    for number, (spec, layers) in enumerate(measured.values()):
        color = mixed(accent(spec.branch), theme().ink, _SHADES[per_branch[spec.branch] % len(_SHADES)])
        per_branch[spec.branch] += 1
        values: list[float | None] = [layer.corrected(field) if less else getattr(layer, field) for layer in layers]
        lines.append(Line(spec.name, list(range(len(values))), values, color, DASHES[number % len(DASHES)]))
    ticks = ["emb.", *(str(i) for i in range(1, max(len(line.values) for line in lines)))]
    records = [
        {"model": slug, "layer": number}
        | {name.lower(): getattr(layer, attribute) for name, attribute in MEASURES.values()}
        | {
            f"{name.lower()}, corrected": layer.corrected(attribute)
            for name, attribute in MEASURES.values()
            if attribute != "baseline"
        }
        for slug, (_, layers) in measured.items()
        for number, layer in enumerate(layers)
    ]
    Panel(
        "contextuality",
        title,
        line_chart(lines, title.lower(), ticks, theme=theme(), height=420),
        line_alt(lines, title, ticks),
        Table.from_records(records),
        note=" ".join(view.words.part(part) for part in (measure, *(["Corrected"] if less else []), "Embeddings")),
    ).draw(view.state)


def _words(view: View, measured: Measured) -> None:
    names = menu_names(spec for slug, (spec, _) in measured.items() if precomputed.word_similarity(slug))
    if not names:
        return
    st.subheader(view.words.label("words"), anchor=False)
    slug = OF.with_(options=names).draw(view.state, tag=".".join(names))
    words = sorted(precomputed.word_similarity(slug), key=lambda word: word[2][-1])
    rows = [
        (title, ", ".join(f"{word} {values[-1]:.2f}" for word, _, values in ends))
        for title, ends in (("lowest", words[:10]), ("highest", words[-10:][::-1]))
    ]
    headings = ("Self-similarity", "Words, with the value after the last layer")
    text_table(TextTable(headings, rows, view.words.label("words"), (22, 78)))
    view.say("Words", count=len(words))
    records = [
        {"model": slug, "word": word, "sentences": count} | {f"layer {i}": v for i, v in enumerate(values)}
        for word, count, values in precomputed.word_similarity(slug)
    ]
    download_csv(Table.from_records(records), f"{slug}-words", view.state.key("csv.words"))


PARAMS = (OVER, MEASURE, LESS, MODELS, OF)
