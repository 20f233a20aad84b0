"""Unigram on one word: the lattice of its tokens, the best segmentations with their probabilities, and samples."""

from __future__ import annotations

from collections import Counter
from math import exp
from random import Random

import streamlit as st

from core import session
from core.figures import tree as figures
from core.figures.predictions import bars_alt, percent, prediction_bars
from core.language.types import Token
from core.table import Table
from core.tokenizers import unigram
from core.tokenizers.known import TokenizerInfo, scores
from core.tokenizers.unigram import Lattice, Path
from core.ui.export import download_csv
from core.ui.page import theme
from core.ui.panel import Panel
from core.ui.param import Real, Seed
from core.ui.section import View
from core.ui.text_table import Row, TextTable, text_table
from core.ui.tokenizers.common import formula_of
from core.ui.tokenizers.token_rows import draw_rows, token_row

ALPHA = Real(name="alpha", label="α", default=1.0, low=0.0, high=5.0, step=0.05, width=300)
SEED = Seed()
_BEST = 8
_SAMPLES = 200


def segmentations(view: View, info: TokenizerInfo, word: str) -> None:
    """Draw the lattice of ``word``, ``▁`` standing for the space before it."""
    state = view.state
    probabilities = scores(info)
    lattice = unigram.lattice(word, probabilities, _longest(info, len(probabilities)))
    paths = unigram.nbest(lattice, _BEST)
    total = unigram.total(lattice)
    best = paths[0]
    weights = unigram.weights(lattice)
    unknown = frozenset(i for i, edge in enumerate(best.edges) if not edge.known)
    draw_rows([token_row(_tokens(best), "The best segmentation", unknown=unknown)])
    edges = [
        {
            "token": edge.piece,
            "start": edge.start,
            "end": edge.end,
            "log p": round(edge.score, 3),
            "on the best path": edge in best.edges,
            "share of the segmentations": round(weight, 4),
            "in the vocabulary": edge.known,
        }
        for edge, weight in zip(lattice.edges, weights, strict=True)
    ]
    ways = f"{unigram.ways(lattice):,}"
    Panel(
        "lattice",
        "Lattice of matching tokens",
        figures.lattice(_spaced(word), lattice.edges, weights, best.edges, theme=theme()),
        f"{view.words.part('Alt: lattice', tokens=len(lattice.edges), ways=ways)} {_name(best)}",
        Table.from_records(edges),
    ).draw(state)
    view.try_and_notice("unigram", ways=ways)
    shares = [exp(path.score - total) for path in paths]
    names = [_name(path) for path in paths]
    records = [
        {"segmentation": name, "log P": path.score, "share of all": share, "tokens": len(path.edges)}
        for name, path, share in zip(names, paths, shares, strict=True)
    ]
    Panel(
        "segmentations",
        f"The {len(paths)} best segmentations, as shares of all",
        prediction_bars(names, shares, theme().primary, theme=theme()),
        bars_alt(names, shares, "The best segmentations"),
        Table.from_records(records),
        heading=True,
    ).draw(state)
    formula_of("unigram")
    with st.expander("Sample segmentations", expanded=state.values.get("alpha") not in (None, 1.0)):
        _samples(view, lattice)


def _samples(view: View, lattice: Lattice) -> None:
    """Segmentations sampled from P(x)^alpha, beside their expected counts."""
    view.say("Sampling")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        alpha = ALPHA.draw(view.state)
        seed = SEED.draw(view.state)
    random = Random(seed)
    counts = Counter(unigram.sample(lattice, random, alpha) for _ in range(_SAMPLES)).most_common()
    total = unigram.total(lattice, alpha)
    samples = [(path, count, exp(alpha * path.score - total)) for path, count in counts]
    rows: list[Row] = [
        (_name(path), str(count), f"{_SAMPLES * probability:.1f}", percent(probability))
        for path, count, probability in samples[:10]
    ]
    headings = ("Segmentation", f"Of {_SAMPLES} samples", "Expected", "Probability")
    text_table(TextTable(headings, rows, "Sampled segmentations", (52, 16, 16, 16), numeric=(1, 2, 3)))
    if len(counts) > 10:
        view.note("More samples", count=len(counts) - 10, most=counts[10][1])
    table = Table(
        ("segmentation", "sampled", "of", "probability"),
        tuple((_name(path), count, _SAMPLES, probability) for path, count, probability in samples),
    )
    download_csv(table, "segmentations-sampled", view.state.key("sampled.csv"))


def _tokens(path: Path) -> list[Token]:
    return [
        Token(
            -1,
            edge.piece,
            edge.piece.removeprefix("▁"),
            edge.start,
            edge.end,
            False,
            bool(i),
            edge.piece.startswith("▁"),
        )
        for i, edge in enumerate(path.edges)
    ]


def _name(path: Path) -> str:
    """A segmentation on one line, short enough for a label."""
    return "·".join(map(_spaced, path.pieces))


def _spaced(text: str) -> str:
    """``▁`` as the space that it represents."""
    return text.replace("▁", "␣")


@session.cached()
def _longest(info: TokenizerInfo, size: int) -> int:
    return max(map(len, scores(info)))
