"""Step by step: one word under one kind of tokenizer, with every decision that it takes.

WordPiece is drawn here: every lookup in the vocabulary, longest first. BPE and Unigram have modules of their own.
"""

from __future__ import annotations

import streamlit as st

from core.errors import InputUnusable
from core.figures import tree as figures
from core.language.tokens import DECODERS, read_piece, visible
from core.language.types import Token
from core.table import Table
from core.tokenizers import bpe, wordpiece
from core.tokenizers.cut import MOST, unknown_piece, words
from core.tokenizers.known import TokenizerInfo, end_of_word, engine, known, ranks
from core.ui.data_table import data_table
from core.ui.links import PageState
from core.ui.page import plain, theme
from core.ui.panel import Panel
from core.ui.param import Choice, Integer, Text
from core.ui.section import Section, View
from core.ui.tokenizers import unigram
from core.ui.tokenizers.common import choose_one, formula_of
from core.ui.tokenizers.runs import draw, run

STEP = Integer(name="step", label="Merges applied", low=0, high=200, style="slider")


def merges(view: View, one: TokenizerInfo, word: str) -> None:
    """Draw the merges of ``word``, which is written in the vocabulary's own symbols."""
    state = view.state
    known, units = ranks(one), "bytes" if one.family == "bpe" else "characters"
    symbols = bpe.symbols(word, end_of_word(one))
    found = bpe.merges(symbols, known)
    applied = len(found)
    if len(found) > 1:
        most = len(found)
        wanted = STEP.with_(default=most).value(state)
        state.set(step=min(wanted, most))
        applied = STEP.with_(high=most, default=most).draw(state, tag=f"{one.slug}.{word}")
    pieces = found[applied - 1].pieces if applied else symbols
    new = frozenset({found[applied - 1].at}) if applied else frozenset[int]()
    draw([run(_tokens(one, pieces), "Tokens so far", new=new)])
    Panel(
        "merges",
        "Merge tree",
        figures.join_tree(
            [readable(one, symbol) for symbol in symbols],
            [(step.at, readable(one, step.left + step.right), step.rank) for step in found[:applied]],
            theme=theme(),
        ),
        view.words.part(
            "Alt: merges", applied=applied, all=len(found), tokens=len(pieces), symbols=len(symbols), units=units
        ),
    ).draw(state)
    view.try_and_notice("bpe", merges=f"{len(known):,}")
    table = Table.from_records(
        [
            {
                "step": number,
                "left": readable(one, step.left),
                "right": readable(one, step.right),
                "merged": readable(one, step.left + step.right),
                "rank": step.rank + 1,
                "candidate pairs": step.candidates,
                "tokens after it": " · ".join(readable(one, piece) for piece in step.pieces),
            }
            for number, step in enumerate(found, start=1)
        ]
    )
    if found:
        data_table(table, "merges", alt="All merges in order", key=state.key("merge-table"))
    else:
        view.note("No merges", units=units)
    if one.family == "letter-bpe":
        view.say("Plain BPE")
    formula_of("bpe")


def readable(one: TokenizerInfo, piece: str) -> str:
    """A vocabulary entry as a person reads it, its space and its mark drawn."""
    style = DECODERS.get(type(engine(one).decoder).__name__, "plain")
    if style == "end-of-word":
        return visible(piece)  # the mark of the end decides which merges there are
    text, leading, marked = read_piece(piece, style)
    return ("␣" if leading else "##" if marked else "") + visible(text)


def _tokens(one: TokenizerInfo, pieces: tuple[str, ...]) -> list[Token]:
    tokens = []
    for i, piece in enumerate(pieces):
        text, leading = readable(one, piece), False
        if one.family == "bpe":
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
BY = Choice(name="by", label="Vocabulary", options={}, width=270)
PART = Integer(name="part", label="Word", low=1, high=200, default=1)


def steps(view: View) -> None:
    """Draw the section."""
    state = view.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        method = METHOD.draw(state)
        typed = WORD.draw(state)
        families = ("bpe", "letter-bpe") if method == "bpe" else (method,)
        fitting = sorted((one for one in known() if one.family in families), key=lambda one: one.family)
        if not fitting:
            raise InputUnusable("No model of this kind is installed here, so there is no vocabulary to show.")
        one = choose_one(state, BY, fitting)
    word = _choose_word(state, one, typed)
    {"bpe": merges, "wordpiece": matches, "unigram": unigram.segmentations}[method](view, one, word)


def _choose_word(state: PageState, one: TokenizerInfo, typed: str) -> str:
    """The word to follow, where the text has several; the longest by default."""
    parts = words(one, typed)
    if len(parts) == 1:
        state.set(part=None)
        return parts[0]
    longest = max(range(len(parts)), key=lambda i: len(parts[i]))
    options = {str(i + 1): f"{i + 1}: {readable(one, part)}" for i, part in enumerate(parts)}
    at = min(PART.with_(default=longest + 1).value(state), len(parts))
    picked = st.pills(
        f"Pre-tokenized into {len(parts)} words; follow",
        list(options),
        default=str(at),
        required=True,
        format_func=options.__getitem__,
        key=state.key(f"part.{one.slug}.{typed[:MOST]}"),
    )
    state.set(part=None if int(picked) == longest + 1 else int(picked))
    return parts[int(picked) - 1]


def matches(view: View, one: TokenizerInfo, word: str) -> None:
    """Draw the lookups of ``word``, as the tokenizer's own normalization left it."""
    vocabulary: dict[str, int] = engine(one).get_vocab(with_added_tokens=False)
    found = wordpiece.match(word, vocabulary)
    if found.pieces is None:
        sign = unknown_piece(one) or ""
        draw([run([Token(vocabulary.get(sign, -1), sign, sign, 0, len(word))], "Tokens", unknown=frozenset({0}))])
        last = found.tries[-1].piece if found.tries else word
        st.markdown(
            f"No vocabulary entry matches at “{plain(last)}”, {view.words.part('Unknown', unknown=plain(sign))}"
        )
    else:
        tokens = [
            Token(vocabulary[piece], piece, piece.removeprefix("##") if i else piece, -1, -1, False, bool(i))
            for i, piece in enumerate(found.pieces)
        ]
        draw([run(tokens, "Tokens")])
    records = [
        {"lookup": number, "start": one.start, "end": one.end, "substring": one.piece, "in the vocabulary": one.found}
        for number, one in enumerate(found.tries, start=1)
    ]
    lookups = view.words.part("Alt: lookups", count=len(found.tries), matched=sum(one.found for one in found.tries))
    Panel(
        "lookups",
        "Vocabulary lookups",
        figures.tries(word, found.tries, theme=theme()),
        f"“{word}”: {lookups}",
        Table.from_records(records) if records else None,
    ).draw(view.state)
    if len(found.tries) > figures.TRIES:
        view.note("More tries", shown=figures.TRIES, all=f"{len(found.tries):,}")
    view.try_and_notice("wordpiece", pieces=f"{len(vocabulary):,}")
    formula_of("wordpiece")


STEPS = Section("steps", steps, (METHOD, WORD, BY, PART, STEP, unigram.ALPHA, unigram.SEED))
