"""Deduplication: the repeats and near-duplicates of a corpus that would go."""

from __future__ import annotations

import streamlit as st

from core import session
from core.errors import AtlasError
from core.figures.labels import label, percent
from core.figures.plot import SYMBOLS, cut, figure, level, scatter, title
from core.settings import settings
from core.table import Table
from core.tokenizers import dedup
from core.tokenizers.dedup import Exact, Near
from core.ui.glossary import warning
from core.ui.page import theme
from core.ui.panel import Panel
from core.ui.param import Choice, Integer, Real, Text, settings_menu
from core.ui.section import Section, View
from core.ui.tables import TableRow, TextTable, text_table

SAMPLE = """The old lighthouse keeper climbed the stairs every evening at six, wound the clock, and lit the lamp.

Ferry times for the island: seven in the morning, noon, and five in the afternoon. No ferry on Sundays.

The old lighthouse keeper climbed the stairs every evening at seven, wound the clock, and lit the lamp.

A recipe for bread: flour, water, salt, and a spoon of yeast; knead it, let it rest for an hour, and bake it.

In case of fog the keeper rings the bell twice a minute until the last boat has come home to the harbor.

Ferry times for the island: seven in the morning, noon, and five in the afternoon. No ferry on Sundays.

A recipe for soup: carrots, onions, and a leaf of bay; boil it, let it rest for an hour, and serve it with bread."""
CORPUS = Text(name="corpus", label="Corpus", default=SAMPLE, height=170)
UNIT = Choice(name="unit", label="Documents", options=dedup.UNITS, style="row")
LENGTH = Integer(name="repeat", label="Exact repeat, tokens", default=10, low=3, high=500, width=190)
NGRAM = Integer(name="ngram", label="n-grams", default=dedup.NGRAM, low=1, high=20, width=150)
JACCARD = Real(name="jaccard", label="Jaccard threshold", default=dedup.JACCARD, low=0.1, high=1.0, step=0.05)
EDIT = Real(name="edit", label="Edit similarity threshold", default=dedup.EDIT, low=0.0, high=1.0, step=0.05)
_SHOWN = 12
_PASSAGE = 160


@session.cached("finding-repeats")
def _exact(text: str, length: int) -> Exact:
    return dedup.exact(text, length)


@session.cached("finding-near-duplicates")
def _near(text: str, unit: str, ngram: int, jaccard: float, edit: float) -> Near:
    return dedup.near(text, unit, ngram, jaccard, edit)


def deduplication(view: View) -> None:
    """Draw the section. A file takes the place of the text."""
    state = view.state
    with view.controls():
        unit, length = UNIT.draw(state), LENGTH.draw(state)
        values = settings_menu(state, NGRAM, JACCARD, EDIT)
    left, right = st.columns(2, gap="large")
    with right:
        typed = CORPUS.draw(state)
    with right, st.expander(view.words.label("upload")):
        file = st.file_uploader(
            view.words.label("file"),
            "txt",
            key=state.key("corpus.file"),
            max_upload_size=-(-settings().max_corpus_kb // 1000),
            help=view.words.part("File", most=f"{settings().max_corpus_kb:,}"),
        )
    text = typed if file is None else dedup.decoded(file.getvalue())
    exact = _exact(text, length)
    try:
        near: Near | None = _near(text, unit, values[NGRAM.name], values[JACCARD.name], values[EDIT.name])
    except AtlasError as error:  # the exact repeats stand
        near = None
        warning(str(error), icon=":material/info:")
    removed = () if near is None else near.removed
    view.say(
        "Answer",
        clusters=0 if near is None else len(near.clusters),
        documents=0 if near is None else len(near.documents),
        removed=len(removed),
        repeated=f"{exact.removed:,}",
        tokens=f"{exact.tokens:,}",
        share=percent(exact.removed / exact.tokens),
    )
    if near is not None:
        with left:
            _clusters(view, near)
        with right:
            _estimates(view, near, values[JACCARD.name])
    _repeats(view, exact)
    view.try_and_notice()
    view.how_it_works(bands=dedup.BANDS, minima=dedup.MINIMA, found=percent(dedup.found_with(0.8)))


def _clusters(view: View, near: Near) -> None:
    st.subheader(view.words.label("clusters"), anchor=False)
    if not near.clusters:
        view.note("None")
        return
    rows: list[TableRow] = []
    for number, cluster in enumerate(near.clusters[:_SHOWN], 1):
        for document in cluster[:_SHOWN]:
            kept = "stays" if document == cluster[0] else "would go"
            rows.append((str(number), str(document + 1), kept, cut(near.documents[document], _PASSAGE)))
    headings = ("Cluster", "Document", "", "Text")
    text_table(TextTable(headings, rows, view.words.label("clusters"), (17, 23, 19, 41), (0, 1)))


def _estimates(view: View, near: Near, threshold: float) -> None:
    """The estimate of each candidate against its true Jaccard similarity."""
    st.subheader(view.words.label("estimates"), anchor=False)
    if not near.pairs:
        view.note("No candidate")
        return
    going = {document for cluster in near.clusters for document in cluster}
    traces = [
        scatter(
            [pair.jaccard for pair in pairs],
            [pair.estimate for pair in pairs],
            "markers",
            name=name,
            marker={"symbol": SYMBOLS[number], "size": 9, "color": theme().categorical[number], "opacity": 0.8},
            customdata=[
                label(f"documents {p.first + 1} and {p.second + 1}, edit similarity {p.edit:.2f}") for p in pairs
            ],
            hovertemplate="%{customdata}<br>Jaccard %{x:.2f}, estimate %{y:.2f}<extra></extra>",
        )
        for number, (name, pairs) in enumerate(
            (
                ("near-duplicates", [p for p in near.pairs if p.first in going and p.second in going]),
                ("candidates only", [p for p in near.pairs if not (p.first in going and p.second in going)]),
            )
        )
    ]
    diagonal = scatter([0, 1], [0, 1], "lines", line={"color": theme().muted, "dash": "dot"}, showlegend=False)
    shown = figure(
        theme(),
        [*traces, diagonal | {"hoverinfo": "skip"}],
        height=320,
        margin={"t": 30},
        xaxis=title("Jaccard similarity") | {"range": [-0.03, 1.03], "showgrid": True},
        yaxis=title("MinHash estimate") | {"range": [-0.03, 1.03]},
        shapes=[level(threshold, color=theme().ink, width=1, dash="dash")],
    )
    error = sum(abs(pair.estimate - pair.jaccard) for pair in near.pairs) / len(near.pairs)
    Panel(
        "minhash",
        view.words.label("estimates"),
        shown,
        view.words.part("Alt", pairs=len(near.pairs), error=f"{error:.3f}"),
        Table(
            ("first document", "second document", "estimate", "Jaccard", "edit similarity"),
            tuple((p.first + 1, p.second + 1, p.estimate, p.jaccard, p.edit) for p in near.pairs),
        ),
        note=view.words.part("Error", error=f"{error:.3f}", pairs=f"{len(near.pairs):,}"),
    ).draw(view.state)


def _repeats(view: View, exact: Exact) -> None:
    st.subheader(view.words.label("repeats"), anchor=False)
    if not exact.repeats:
        view.note("No repeat")
        return
    rows: list[TableRow] = [
        (f"{repeat.tokens:,}", f"{repeat.start:,}", cut(repeat.text, _PASSAGE)) for repeat in exact.repeats[:_SHOWN]
    ]
    text_table(TextTable(("Tokens", "From character", "Text"), rows, view.words.label("repeats"), (14, 20, 66), (0, 1)))


DEDUP = Section("dedup", deduplication, (CORPUS, UNIT, LENGTH, NGRAM, JACCARD, EDIT))
