"""Unigram on one word: the lattice of its pieces, the best cuts with their probabilities, and cuts drawn by chance."""

from __future__ import annotations

from collections import Counter
from math import exp
from random import Random
from typing import TYPE_CHECKING, Any

import streamlit as st

from core.figures import segmentation as figures
from core.figures.predictions import bars_alt, guess_bars, percent
from core.language.types import Token
from core.table import Table
from core.tokenizers import unigram
from core.tokenizers.known import Known, scores
from core.tokenizers.unigram import Lattice, Path
from core.ui.calculators.parts import dark
from core.ui.export import download_csv
from core.ui.glossary import told
from core.ui.text_table import Row, TextTable, text_table
from core.ui.tokenizers.parts import formula_of
from core.ui.tokenizers.runs import draw, run

if TYPE_CHECKING:
    from core.ui.links import PageState
    from core.ui.tokenizers.frame import TokenizersView

_BEST = 8
_DRAWN = 200


def lattice_of(view: TokenizersView, one: Known, word: str) -> None:
    """Draw the lattice of ``word``, ``▁`` standing for the blank before it."""
    state = view.state
    chances = scores(one)
    found = unigram.lattice(word, chances, _longest(one, len(chances)))
    paths = unigram.nbest(found, _BEST)
    whole = unigram.total(found)
    best = paths[0]
    draw([run(_tokens(best), "The best cut", unknown=_unknown(best))])
    st.plotly_chart(
        figures.lattice(_seen(word), found.edges, unigram.weights(found), best.edges, dark=dark()),
        key=state.key("lattice"),
        config={"displaylogo": False},
        alt=f"Lattice of {len(found.edges)} pieces for {word}; the best of {unigram.ways(found):,} cuts is "
        + _name(best),
    )
    told(
        f"**Try** a longer word, or a misspelling. **Notice** that there are {unigram.ways(found):,} ways to cut this "
        "one, and that a long piece wins because every further piece costs another factor below one."
    )
    likely = [exp(path.score - whole) for path in paths]
    names = [_name(path) for path in paths]
    st.markdown(f"**The {len(paths)} best cuts, as shares of all**")
    st.plotly_chart(
        guess_bars(names, likely, figures.ACCENT[dark()], dark=dark()),
        key=state.key("best"),
        config={"displayModeBar": False},
        alt=bars_alt(names, likely, "The best cuts"),
    )
    raw: list[dict[str, Any]] = [
        {"cut": name, "log P": round(path.score, 4), "share of all": share, "pieces": len(path.edges)}
        for name, path, share in zip(names, paths, likely, strict=True)
    ]
    with st.expander("The best cuts as a table"):
        st.dataframe(raw, hide_index=True, alt="The best cuts with their probabilities")
        download_csv(Table.from_records(raw), "cuts", state.key("csv.cuts"))
    formula_of("unigram")
    with st.expander("Draw cuts by chance", expanded=state.values.get("alpha") not in (None, 1.0)):
        _draws(state, found)
    with st.expander("Every piece that fits"):
        weights = unigram.weights(found)
        st.dataframe(
            [
                {
                    "piece": edge.piece,
                    "from": edge.start,
                    "to": edge.end,
                    "log p": round(edge.score, 3),
                    "on the best cut": edge in best.edges,
                    "share of the cuts": round(weight, 4),
                    "known": edge.known,
                }
                for edge, weight in zip(found.edges, weights, strict=True)
            ],
            hide_index=True,
            alt="Every piece that fits between two gaps of the word",
        )


def _draws(state: PageState, found: Lattice) -> None:
    """Cuts drawn from P(x)^alpha, beside what is expected."""
    told(
        "Kudo trained translators on cuts drawn anew each time, so that they do not lean on one spelling of a word: "
        "subword regularisation. α below 1 evens the cuts out, above 1 the best one wins more often."
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        alpha = st.slider("α", 0.0, 5.0, state.real("alpha", 1.0), 0.05, key=state.key("alpha"), width=300)
        seed = int(st.number_input("Seed", 0, 2**31 - 1, state.number("seed"), key=state.key("seed"), width=160) or 0)
    state.set(alpha=float(alpha), seed=seed)
    random = Random(seed)
    drawn = Counter(unigram.sample(found, random, alpha) for _ in range(_DRAWN))
    whole = unigram.total(found, alpha)
    rows: list[Row] = [
        (
            _name(path),
            str(count),
            f"{_DRAWN * exp(alpha * path.score - whole):.1f}",
            percent(exp(alpha * path.score - whole)),
        )
        for path, count in drawn.most_common(10)
    ]
    headings = ("Cut", f"Of {_DRAWN} drawn", "Expected", "Probability")
    text_table(TextTable(headings, rows, "Cuts drawn by chance", (52, 16, 16, 16), numeric=(1, 2, 3)))
    if len(drawn) > 10:
        st.caption(f"{len(drawn) - 10} more cuts were drawn, each at most {drawn.most_common(11)[-1][1]} times.")
    raw = [
        {"cut": _name(path), "drawn": count, "of": _DRAWN, "probability": exp(alpha * path.score - whole)}
        for path, count in drawn.most_common()
    ]
    download_csv(Table.from_records(raw), "cuts-drawn", state.key("csv.cuts-drawn"))


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
    """A cut on one line, short enough for a label."""
    return "·".join(map(_seen, path.pieces))


def _seen(text: str) -> str:
    """``▁`` as the blank that it is."""
    return text.replace("▁", "␣")


def _unknown(path: Path) -> frozenset[int]:
    return frozenset(i for i, edge in enumerate(path.edges) if not edge.known)


@st.cache_data(max_entries=16, show_spinner=False)
def _longest(one: Known, size: int) -> int:
    return max(map(len, scores(one)))
