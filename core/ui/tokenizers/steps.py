"""Step by step: one word under one kind of tokenizer, with every decision of the algorithm.

WordPiece shows every lookup in the vocabulary, longest first; Unigram the lattice of its tokens, the best segmentations
with their probabilities, and samples.
"""

from __future__ import annotations

from collections import Counter
from math import exp
from random import Random

import streamlit as st

from core import session
from core.errors import InputUnusable
from core.figures import tree as figures
from core.figures.labels import percent
from core.figures.predictions import bars_alt, prediction_bars
from core.language.tokens import DECODERS, read_piece
from core.language.types import Token
from core.table import Table
from core.tokenizers import bpe, unigram, wordpiece
from core.tokenizers.cut import MOST, normalized, unknown_piece, words
from core.tokenizers.known import TokenizerInfo, end_of_word, engine, known, piece_scores, ranks
from core.tokenizers.unigram import Lattice, Path
from core.ui.grid import Column, Grid
from core.ui.links import PageState
from core.ui.page import plain, theme
from core.ui.panel import Panel
from core.ui.param import Choice, Integer, Real, Seed, Text
from core.ui.section import Section, View
from core.ui.tables import data_table
from core.ui.tokenizers.common import choose_one, formula_of
from core.ui.tokenizers.token_rows import draw_rows, token_row
from core.words import code_points, counted, visible

ALPHA = Real(name="alpha", label="α", default=1.0, low=0.0, high=5.0, step=0.05, width=300)
SEED = Seed()
_BEST = 8
_SAMPLES = 200


def segmentations(view: View, info: TokenizerInfo, word: str) -> None:
    """Draw the lattice of ``word``, ``▁`` standing for the space before it."""
    state = view.state
    probabilities = piece_scores(info)
    lattice = unigram.lattice(word, probabilities, _longest(info, len(probabilities)))
    paths = unigram.nbest(lattice, _BEST)
    total = unigram.total(lattice)
    best = paths[0]
    weights = unigram.weights(lattice)
    unknown = frozenset(i for i, edge in enumerate(best.tokens) if not edge.known)
    draw_rows([token_row(_path_tokens(best), "The best segmentation", unknown=unknown)])
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
        {"segmentation": name, "log P": path.score, "share of all": share, "tokens": len(path.tokens)}
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
    with view.how_it_works("How it works: unigram"):
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
    columns: tuple[Column[tuple[Path, int, float]], ...] = (
        Column("Segmentation", lambda row: _name(row[0]), width=52),
        Column(f"Of {_SAMPLES} samples", lambda row: row[1], width=16, name="sampled"),
        Column("of", lambda row: _SAMPLES),
        Column("Expected", lambda row: _SAMPLES * row[2], ".1f", 16),
        Column("Probability", lambda row: row[2], percent, 16),
    )
    grid = Grid("Sampled segmentations", columns, samples)
    grid.draw("segmentations-sampled", view.state.key("sampled.csv"), most=10)
    if len(counts) > 10:
        view.note("More samples", count=len(counts) - 10, most=counts[10][1])


def _path_tokens(path: Path) -> list[Token]:
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
        for i, edge in enumerate(path.tokens)
    ]


def _name(path: Path) -> str:
    """A segmentation on one line, short enough for a label."""
    return "·".join(map(_spaced, path.pieces))


def _spaced(text: str) -> str:
    """``▁`` as the space that it represents."""
    return text.replace("▁", "␣")


@session.cached()
def _longest(info: TokenizerInfo, size: int) -> int:
    return max(map(len, piece_scores(info)))


STEP = Integer(name="step", label="Merges applied", low=0, high=200, style="slider")


def merges(view: View, info: TokenizerInfo, word: str) -> None:
    """Draw the merges of ``word``, given in the vocabulary's own symbols."""
    state = view.state
    pair_ranks, units = ranks(info), "bytes" if info.family == "bpe" else "characters"
    symbols = bpe.symbols(word, end_of_word(info))
    steps = bpe.merges(symbols, pair_ranks)
    applied = len(steps)
    if len(steps) > 1:
        most = len(steps)
        wanted = STEP.with_(default=most).value(state)
        state.set(step=min(wanted, most))
        applied = STEP.with_(high=most, default=most).draw(state, tag=f"{info.slug}.{word}")
    pieces = steps[applied - 1].pieces if applied else symbols
    new = frozenset({steps[applied - 1].at}) if applied else frozenset[int]()
    draw_rows([token_row(_tokens(info, pieces), "Tokens so far", new=new)])
    Panel(
        "merges",
        "Merge tree",
        figures.merge_tree(
            [readable(info, symbol) for symbol in symbols],
            [(step.at, readable(info, step.left + step.right), step.rank) for step in steps[:applied]],
            theme=theme(),
        ),
        view.words.part(
            "Alt: merges", applied=applied, all=len(steps), tokens=len(pieces), symbols=len(symbols), units=units
        ),
    ).draw(state)
    view.try_and_notice("bpe", merges=f"{len(pair_ranks):,}")
    table = Table.from_records(
        [
            {
                "step": number,
                "left": readable(info, step.left),
                "right": readable(info, step.right),
                "merged": readable(info, step.left + step.right),
                "rank": step.rank + 1,
                "candidate pairs": step.candidates,
                "tokens after it": " · ".join(readable(info, piece) for piece in step.pieces),
            }
            for number, step in enumerate(steps, start=1)
        ]
    )
    if steps:
        data_table(table, "merges", alt="All merges in order", key=state.key("merge-table"))
    else:
        view.note("No merges", units=units)
    if info.family == "letter-bpe":
        view.say("Plain BPE")
    with view.how_it_works("How it works: bpe"):
        formula_of("bpe")


def readable(info: TokenizerInfo, piece: str) -> str:
    """A vocabulary entry in readable form, with visible space and continuation mark."""
    style = DECODERS.get(type(engine(info).decoder).__name__, "plain")
    if style == "end-of-word":
        return visible(piece)  # the mark of the end decides which merges there are
    text, leading, marked = read_piece(piece, style)
    return ("␣" if leading else "##" if marked else "") + visible(text)


def _tokens(info: TokenizerInfo, pieces: tuple[str, ...]) -> list[Token]:
    tokens = []
    for i, piece in enumerate(pieces):
        text, leading = readable(info, piece), False
        if info.family == "bpe":
            text, leading, _ = read_piece(piece, "byte-level")
        tokens.append(Token(-1, piece, text, -1, -1, False, bool(i), leading))
    return tokens


METHOD = Choice(
    name="method",
    label="Algorithm",
    options={"bpe": "BPE merges", "wordpiece": "WordPiece matches", "unigram": "Unigram probabilities"},
    style="row",
    hide_label=True,
)
WORD = Text(name="word", label="A word", default="woodcutters", width=200)
BY = Choice(name="by", label="Vocabulary", options={}, width=270, hide_label=True)
PART = Integer(name="part", label="Word", low=1, high=200, default=1)


def steps(view: View) -> None:
    state = view.state
    vocabulary = view.controls().container(width="content")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        method = METHOD.draw(state)
        typed = WORD.draw(state)
        families = ("bpe", "letter-bpe") if method == "bpe" else (method,)
        fitting = sorted((info for info in known() if info.family in families), key=lambda info: info.family)
        if not fitting:
            raise InputUnusable("No model of this kind is installed here, so there is no vocabulary to show.")
    with vocabulary:
        info = choose_one(state, BY, fitting)
    word = _choose_word(state, info, typed)
    {"bpe": merges, "wordpiece": matches, "unigram": segmentations}[method](view, info, word)


def _choose_word(state: PageState, info: TokenizerInfo, typed: str) -> str:
    """The word to follow, from a menu if there are several; the longest by default."""
    parts = words(info, typed)
    if (read := normalized(info, typed)) != typed.strip():
        st.caption(plain(f"Normalized, “{typed}” ({code_points(typed)}) is “{read}” ({code_points(read)})."))
    if len(parts) == 1:
        state.set(part=None)
        return parts[0]
    longest = max(range(len(parts)), key=lambda i: len(parts[i]))
    options = {str(i + 1): plain(f"{i + 1}: {readable(info, part)}") for i, part in enumerate(parts)}
    at = min(PART.with_(default=longest + 1).value(state), len(parts))
    picked = st.pills(
        f"Pre-tokenized into {counted(len(parts), 'word')}; follow",
        list(options),
        default=str(at),
        required=True,
        format_func=options.__getitem__,
        key=state.key(f"part.{info.slug}.{typed[:MOST]}"),
    )
    state.set(part=None if int(picked) == longest + 1 else int(picked))
    return parts[int(picked) - 1]


def matches(view: View, info: TokenizerInfo, word: str) -> None:
    """Draw the lookups of ``word``, already normalized by the tokenizer."""
    vocabulary: dict[str, int] = engine(info).get_vocab(with_added_tokens=False)
    steps = wordpiece.match(word, vocabulary)
    if steps.pieces is None:
        sign = unknown_piece(info) or ""
        draw_rows(
            [token_row([Token(vocabulary.get(sign, -1), sign, sign, 0, len(word))], "Tokens", unknown=frozenset({0}))]
        )
        last = steps.tries[-1].piece if steps.tries else word
        st.markdown(
            f"No vocabulary entry matches at “{plain(last)}”, {view.words.part('Unknown', unknown=plain(sign))}"
        )
    else:
        tokens = [
            Token(vocabulary[piece], piece, piece.removeprefix("##") if i else piece, -1, -1, False, bool(i))
            for i, piece in enumerate(steps.pieces)
        ]
        draw_rows([token_row(tokens, "Tokens")])
    records = [
        {
            "lookup": number,
            "start": lookup.start,
            "end": lookup.end,
            "substring": lookup.piece,
            "in the vocabulary": lookup.found,
        }
        for number, lookup in enumerate(steps.tries, start=1)
    ]
    lookups = view.words.part(
        "Alt: lookups", count=len(steps.tries), matched=sum(lookup.found for lookup in steps.tries)
    )
    Panel(
        "lookups",
        "Vocabulary lookups",
        figures.tries(word, steps.tries, theme=theme()),
        f"“{word}”: {lookups}",
        Table.from_records(records) if records else None,
    ).draw(view.state)
    if len(steps.tries) > figures.TRIES:
        view.note("More tries", shown=figures.TRIES, all=f"{len(steps.tries):,}")
    view.try_and_notice("wordpiece", pieces=f"{len(vocabulary):,}")
    with view.how_it_works("How it works: wordpiece"):
        formula_of("wordpiece")


STEPS = Section("steps", steps, (METHOD, WORD, BY, PART, STEP, ALPHA, SEED))
