"""What stands below the picture of one word: nearest words, distances, how senses part layer by layer, the formulas."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from core import session
from core.checkpoints.spec import CheckpointSpec
from core.figures import depth
from core.figures import vectors as pictures
from core.table import Table
from core.ui.export import download_csv
from core.ui.glossary import told
from core.ui.heads.pictures import saved_as
from core.ui.notices import informed
from core.ui.page import accent
from core.ui.text_table import TextTable, text_table
from core.vectors.contextual import strangers
from core.vectors.nearest import between, in_sentences, in_vocabulary
from core.vectors.occurrences import Occurrence, WordVectors
from core.vectors.senses import Apart, apart

if TYPE_CHECKING:
    from core.ui.links import PageState
    from core.ui.vectors.sentences import Asked
    from core.vectors.plane import Plane

SHOWN = {"near": "Nearest words", "distances": "Distances", "depth": "Senses by layer", "how": "How it is made"}
_BEFORE, _AFTER = 26, 22
"""Characters of a sentence on both sides of its word in a table."""


def below(
    state: PageState, spec: CheckpointSpec, made: WordVectors, typed: Asked, stop: int, planes: tuple[Plane, ...]
) -> None:
    """Draw the choice and what was chosen; reads and writes ``show``."""
    show = st.segmented_control(
        "Look at",
        list(SHOWN),
        format_func=SHOWN.__getitem__,
        default=state.text("show", "near"),
        required=True,
        key=state.key("show"),
        label_visibility="collapsed",
    )
    state.set(show=show)
    if show == "near":
        _near(state, spec, made, stop)
    elif show == "distances":
        _distances(state, spec, made, stop)
    elif show == "depth":
        _depth(state, spec, made)
    else:
        _how(state, made, planes)


def _near(state: PageState, spec: CheckpointSpec, made: WordVectors, stop: int) -> None:
    own, around = made.at(stop)
    # the table's own mean is that of its rows; a layer's is that of the words that were read
    known = session.vocabulary(spec.slug)
    mean = known.mean if stop < 0 else around.mean(axis=0)
    vocabulary = in_vocabulary(session.checkpoint(spec.slug), known, own, mean, k=5)
    sentences = in_sentences(own, around.mean(axis=0), around, made.itself, k=3)
    rows = []
    for one, near, beside in zip(made.own.found, vocabulary, sentences, strict=True):
        there = (f"{made.around.texts[i]} ({made.around.lines[i]}) {value:.2f}" for i, value in beside)
        rows.append(
            (
                (f"{one.name} {one.line.sense}".strip(), snippet(one)),
                ", ".join(f"{word} {value:.2f}" for word, value in near),
                ", ".join(there),
            )
        )
    text_table(
        TextTable(
            ("Occurrence", "Nearest in the vocabulary", "Nearest words of these sentences"),
            rows,
            "The nearest words of each occurrence, with their cosines",
            (34, 36, 30),
        )
    )
    told(
        "Cosines of centred vectors: the mean of all words of these sentences is taken off first, as it is what they "
        "have in common. In brackets stands a word's line. A vector of an upper layer was not made to lie near a row "
        "of the table, so this is a reading of it, and small models leave much noise in it."
    )
    download_csv(
        Table.from_records(_near_rows(made, vocabulary, stop)),
        f"{spec.slug}-nearest-words",
        state.key(f"csv.{spec.slug}-nearest-words"),
    )


def _near_rows(
    made: WordVectors, vocabulary: tuple[tuple[tuple[str, float], ...], ...], stop: int
) -> list[dict[str, object]]:
    return [
        {"stop": stop, "line": one.name, "sense": one.line.sense, "rank": rank, "word": word, "cosine": f"{value:.4f}"}
        for one, near in zip(made.own.found, vocabulary, strict=True)
        for rank, (word, value) in enumerate(near, 1)
    ]


def _distances(state: PageState, spec: CheckpointSpec, made: WordVectors, stop: int) -> None:
    own, _ = made.at(stop)
    matrix = between(own, own)
    names = [f"{one.name} {one.line.sense}".strip() for one in made.own.found]
    if len(names) < 2:
        informed("Two occurrences have a distance. Add a sentence with the word.")
        return
    left, right = st.columns([1.55, 1], gap="large")
    with left:
        st.plotly_chart(
            pictures.cosines(matrix, names, dark=st.context.theme.type == "dark"),
            key=state.key("cosines"),
            config=saved_as(f"atlas-{spec.slug}-cosines"),
            alt="Cosines between the vectors of all occurrences; the pairs beside it are the nearest and the farthest.",
        )
    with right:
        pairs = sorted(
            ((float(matrix[i, j]), i, j) for i in range(len(names)) for j in range(i + 1, len(names))), reverse=True
        )
        shown = [*pairs[:4], *pairs[4:][-4:]]
        rows = [(f"{names[i]} and {names[j]}", f"{value:.2f}", f"{1 - value:.2f}") for value, i, j in shown]
        text_table(
            TextTable(
                ("Pair", "Cosine", "Distance"), rows, "The nearest pairs, then the farthest", (46, 26, 28), (1, 2)
            )
        )
        told(
            "The four nearest pairs, then the four farthest. The cosine is 1 for one direction and 0 for a right "
            "angle; the distance is 1 less the cosine."
        )
        download_csv(
            Table.from_records(_cosine_rows(made)), f"{spec.slug}-cosines", state.key(f"csv.{spec.slug}-cosines")
        )


def _cosine_rows(made: WordVectors) -> list[dict[str, object]]:
    """All pairs at all stops."""
    found: list[dict[str, object]] = []
    for number, vectors in enumerate(made.stops):
        matrix = between(vectors, vectors)
        for i, one in enumerate(made.own.found):
            for j, other in enumerate(made.own.found[i + 1 :], i + 1):
                found.append(
                    {
                        "stop": number - 1,
                        "line": one.name,
                        "sense": one.line.sense,
                        "other line": other.name,
                        "other sense": other.line.sense,
                        "cosine": f"{matrix[i, j]:.5f}",
                    }
                )
    return found


def _depth(state: PageState, spec: CheckpointSpec, made: WordVectors) -> None:
    senses = [one.line.sense for one in made.own.found]
    found = [
        apart(vectors, senses, strangers(made.at(number - 1)[1], made.around.lines))
        for number, vectors in enumerate(made.stops)
    ]
    names = ["static", "emb.", *(str(layer) for layer in range(1, made.own.layers + 1))]
    lines = [
        depth.Line(name, list(range(len(found))), [getattr(one, key) for one in found], colour, dash)
        for key, name, colour, dash in (
            ("same", "same sense", accent(spec.branch), "solid"),
            ("other", "another sense", pictures.COLOURS[4], "dash"),
            ("strangers", "any two words", pictures.COLOURS[6], "dot"),
        )
        if any(getattr(one, key) is not None for one in found)
    ]
    left, right = st.columns([1.55, 1], gap="large")
    with left:
        st.plotly_chart(
            depth.curves(lines, "mean cosine", names, dark=st.context.theme.type == "dark"),
            key=state.key("depth"),
            config=saved_as(f"atlas-{spec.slug}-senses"),
            alt=depth.alt(lines, "Mean cosine", names),
        )
    with right:
        rows = [
            (name, *(_two(getattr(one, key)) for key in ("same", "other", "strangers", "nearest")))
            for name, one in zip(names, found, strict=True)
        ]
        text_table(
            TextTable(
                ("Layer", "same", "other", "any", "nearest"),
                rows,
                "Mean cosines by layer",
                (20, 20, 20, 20, 20),
                (1, 2, 3, 4),
            )
        )
        told(
            _verdict(found, senses)
            + " *any* are two words of different sentences; *nearest* is the share of occurrences "
            "whose nearest has their own sense."
        )
        download_csv(
            Table.from_records(
                [
                    {
                        "stop": number - 1,
                        "same sense": one.same,
                        "another sense": one.other,
                        "strangers": one.strangers,
                        "nearest is of the sense": one.nearest,
                    }
                    for number, one in enumerate(found)
                ]
            ),
            f"{spec.slug}-senses",
            state.key(f"csv.{spec.slug}-senses"),
        )


def _verdict(found: list[Apart], senses: list[str]) -> str:
    gaps = [(one.same - one.other, i) for i, one in enumerate(found) if one.same is not None and one.other is not None]
    if not gaps:
        return "Write the same sense before the bar in two lines or more, and those of other senses, to compare them."
    gap, at = max(gaps)
    where = "in the table" if at == 0 else "in the embeddings" if at == 1 else f"after layer {at - 1}"
    said = f"Senses part most {where}: two of one sense are {gap:.2f} nearer than two of different ones."
    alone = sum(1 for sense in senses if senses.count(sense) == 1 or not sense)
    return said + (f" {alone} occurrences are alone with their sense." if alone else "")


def _how(state: PageState, made: WordVectors, planes: tuple[Plane, ...]) -> None:
    st.latex(r"h^{(l)}_w = \frac{1}{|w|} \sum_{t \in w} h^{(l)}_t \qquad \cos(a, b) = \frac{a \cdot b}{\|a\|\,\|b\|}")
    told(
        "$h^{(l)}_t$ is the vector of token $t$ after layer $l$, and $w$ the tokens of the word: a word of several "
        "pieces has their mean. *static* is the row of the table that the model begins with, and *embeddings* what "
        "comes into the first layer, positions added. After the last layer the norm that follows it has been applied. "
        "$a$ and $b$ are any two vectors: their cosine is 1 where they point the same way, 0 where they have nothing "
        "in common."
    )
    st.latex(r"X - \bar X = U \Sigma V^\top, \qquad y_i = (U \Sigma)_{i,1..2}")
    told(
        "Principal components: $X$ has a row for each occurrence, $\\bar X$ is their mean; $U$ and $V$ have columns "
        "of length 1 at right angles to each other, $\\Sigma$ holds how far the points spread along each, the most "
        "first (singular value decomposition); $y_i$, the first two numbers of row $i$, is the point on the plane "
        "(Pearson 1901). Each layer has axes of its own, mirrored so that points move as little as they can."
    )
    st.latex(
        r"p_{ij} = \frac{p_{j|i} + p_{i|j}}{2n}, \quad q_{ij} = \frac{(1 + \|y_i - y_j\|^2)^{-1}}"
        r"{\sum_{k \ne l} (1 + \|y_k - y_l\|^2)^{-1}}, \quad \min_y \sum_{i \ne j} p_{ij} \ln \frac{p_{ij}}{q_{ij}}"
    )
    told(
        "t-SNE (van der Maaten and Hinton 2008): $p_{j|i}$ is the chance that $i$ picks $j$ as its neighbour by "
        "distance in the full space, $p_{ij}$ the chance of the pair, $q_{ij}$ that of the pair on the plane with $k$ "
        "and $l$ for all pairs, $n$ the number of occurrences. The points "
        "$y$ are moved from a random start until both agree."
    )
    st.caption(
        "The two methods are named after their authors from memory; what stands here is what is computed, and tested."
    )
    rows: list[dict[str, object]] = [
        {
            "stop": number - 1,
            "line": one.name,
            "sense": one.line.sense,
            "sentence": one.text,
            "x": f"{x:.5f}",
            "y": f"{y:.5f}",
        }
        for number, plane in enumerate(planes)
        for one, (x, y) in zip(made.own.found, plane.points, strict=True)
    ]
    with st.container(horizontal=True):
        download_csv(Table.from_records(rows), "points", state.key("csv.points"))
        download_csv(partial(vectors_table, made), "vectors", state.key("csv.vectors"), of="all vectors")


def vectors_table(made: WordVectors) -> Table:
    """Every vector of the word."""
    return Table(
        ("stop", "line", *(f"n{i + 1}" for i in range(made.own.vectors.shape[-1]))),
        tuple(
            (number - 1, one.name, *row.tolist())
            for number, vectors in enumerate(made.stops)
            for one, row in zip(made.own.found, vectors, strict=True)
        ),
    )


def snippet(one: Occurrence) -> str:
    """A part of the sentence around its word, which stands in brackets."""
    before, word, after = one.text[: one.start], one.text[one.start : one.end], one.text[one.end :]
    start = before if len(before) <= _BEFORE else "…" + before[-_BEFORE:].partition(" ")[2]
    end = after if len(after) <= _AFTER else after[:_AFTER].rpartition(" ")[0] + "…"
    return f"{start}[{word}]{end}"


def _two(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
