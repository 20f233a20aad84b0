"""Train one: a vocabulary learned from a pasted text, applied at any size."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp
from typing import cast

import streamlit as st

from core import session
from core.figures.vocabulary import growth
from core.language.types import Token
from core.table import Table
from core.tokenizers.samples import TALE, TALE_TEST, whole
from core.tokenizers.train import MOST_TEXT, Piece, TokenizerKind, Trained, train, words_of
from core.ui.export import download_csv
from core.ui.links import PageState, within
from core.ui.page import main_picture, theme
from core.ui.panel import Panel
from core.ui.param import Choice, Integer, Text
from core.ui.section import Section, View
from core.ui.tables import data_table
from core.ui.tokenizers.common import formula_of
from core.ui.tokenizers.token_rows import draw_rows, token_row
from core.words import counted, visible

KIND = Choice(
    name="kind",
    label="Algorithm",
    options={"bpe": "BPE", "wordpiece": "WordPiece", "unigram": "Unigram"},
    style="row",
    hide_label=True,
)
CORPUS = Text(name="corpus", label="Training text", default=TALE, height=200, help=f"Up to {MOST_TEXT:,} characters")
TEST = Text(name="test", label="Test sentence", default=TALE_TEST)
SIZE = Integer(name="size", label="Vocabulary size", low=1, high=5000, style="slider")
BELOW = Choice(
    name="learning",
    label="View",
    options={"sizes": "Test sentence by size", "learnt": "Learned entries, in order", "how": "How it works"},
    style="row",
    hide_label=True,
)
_MOST_TEST = 300
_STEPS = 5
_POINTS = 24


def training(view: View) -> None:
    state = view.state
    with view.controls():
        kind = cast(TokenizerKind, KIND.draw(state))
    shown, typed = st.columns([1.8, 1], gap="large")  # the picture first, also where columns stand below each other
    with typed:
        text, test = CORPUS.draw(state), TEST.draw(state)
    with shown:
        trained = _trained(text, kind)
        sentence = words_of(whole(test, _MOST_TEST), trained.kind)
        size = _size(view, trained)
        tokens = trained.tokenize(sentence, size)
        stage = next((stage for stage in reversed(trained.stages) if stage.size <= size), trained.stages[0])
        with main_picture():
            draw_rows([_test_sentence_row(tokens)])
        view.say("Size", size=f"{size:,}", tokens=f"{stage.tokens:,}", test=sum(map(len, tokens)))
        _curve(view, trained, sentence, size, len(text), len(test))
    view.try_and_notice()
    below = BELOW.draw(state)
    if below == "sizes":
        _at_each_size(state, trained, sentence, size)
    elif below == "learnt":
        _learned(view, trained, size)
    else:
        if view.words.has(f"How: {trained.kind}"):
            view.say(f"How: {trained.kind}")
        formula_of("unigram" if trained.kind == "unigram" else "learn")


def _size(view: View, trained: Trained) -> int:
    """Draw the slider of vocabulary sizes; for Unigram only the sizes trained."""
    state, low, high = view.state, trained.smallest, trained.largest
    usual = (low + high) // 2
    wanted = trained.nearest(within(state, "The vocabulary", state.number("size", usual), low, high))
    if low == high:
        view.note("Fixed size")
        return high
    tag = f"{trained.kind}.{low}.{high}"
    if trained.learning is None:
        sizes = [stage.size for stage in trained.stages]
        size = int(st.select_slider(SIZE.label, sizes, wanted, key=state.key(f"size.{tag}")))
        state.set(size=None if size == trained.nearest(usual) else size)
        return size
    state.set(size=wanted)
    return SIZE.with_(low=low, high=high, default=usual).draw(state, tag=tag)


def _curve(view: View, trained: Trained, sentence: Sequence[str], size: int, text: int, test: int) -> None:
    sizes = [stage.size for stage in trained.stages]
    chosen = sorted({sizes[round(i * (len(sizes) - 1) / (_POINTS - 1))] for i in range(_POINTS)})
    of_text = [(stage.size, 100 * stage.tokens / max(1, text)) for stage in trained.stages]
    of_test = [(at, 100 * sum(map(len, trained.tokenize(sentence, at))) / max(1, test)) for at in chosen]
    rows = [("training text", *point) for point in of_text] + [("test sentence", *point) for point in of_test]
    Panel(
        "growth",
        "Tokens per 100 characters by vocabulary size",
        growth(of_text, of_test, size, theme=theme()),
        view.words.part(
            "Alt: growth",
            first=f"{of_text[0][1]:.0f}",
            smallest=of_text[0][0],
            last=f"{of_text[-1][1]:.0f}",
            largest=of_text[-1][0],
            test_first=f"{of_test[0][1]:.0f}",
            test_last=f"{of_test[-1][1]:.0f}",
        ),
        Table(("text", "vocabulary size", "tokens per 100 characters"), tuple(rows)),
    ).draw(view.state)


def _at_each_size(state: PageState, trained: Trained, sentence: Sequence[str], size: int) -> None:
    low, high = trained.smallest, trained.largest
    sizes = sorted({trained.nearest(round(low + (high - low) * i / (_STEPS - 1))) for i in range(_STEPS)} | {size})
    parts, rows = [], []
    for at in sizes:
        tokens = trained.tokenize(sentence, at)
        mark = " · chosen" if at == size else ""
        parts.append(
            f'<div class="tk"><div class="tk-head"><b>Vocabulary of {at:,}</b>'
            f"<span>{counted(sum(map(len, tokens)), 'token')}{mark}</span></div>{_test_sentence_row(tokens)}</div>"
        )
        rows += [(at, number, visible(piece.text)) for number, pieces in enumerate(tokens, start=1) for piece in pieces]
    draw_rows(parts)
    download_csv(Table(("vocabulary size", "word", "token"), tuple(rows)), "sizes", state.key("sizes.csv"))


def _learned(view: View, trained: Trained, size: int) -> None:
    """Draw merges with their counts, or tokens with their probabilities."""
    if trained.learning is not None:
        most = trained.learning.at(size)
        table = Table.from_records(
            [
                {
                    "number": number,
                    "left": visible(merge.left),
                    "right": visible(merge.right),
                    "merged": visible(merge.merged),
                    "count": merge.count,
                    "tokens of the text after it": merge.tokens,
                    "in the vocabulary": number <= most,
                }
                for number, merge in enumerate(trained.learning.merges, start=1)
            ]
        )
        alphabet = trained.learning.alphabet
        symbols = " ".join(f"`{visible(sign)}`" for sign in alphabet[:120] if "`" not in sign)
        st.caption(f"{view.words.part('Alphabet', count=len(alphabet))} {symbols}")
    else:
        scores = next(stage.scores for stage in trained.stages if stage.size == size)
        last = trained.stages[-1].scores
        order = sorted({**last, **scores}, key=lambda p: (p not in scores, -scores.get(p, last.get(p, 0)), p))
        table = Table.from_records(
            [
                {
                    "token": visible(piece),
                    "probability": exp(scores[piece]) if piece in scores else None,
                    "log p": round(scores[piece], 3) if piece in scores else None,
                    "in the vocabulary": piece in scores,
                }
                for piece in order
            ]
        )
        view.note("Dropped")
    if not table.rows:
        view.note("No merges")
        return
    data_table(table, "learned", alt="Learned entries, in order", key=view.state.key("learned"))


def _test_sentence_row(words: Sequence[Sequence[Piece]]) -> str:
    tokens: list[Token] = []
    unknown = set()
    for word in words:
        for i, piece in enumerate(word):
            if not piece.known:
                unknown.add(len(tokens))
            text = piece.text.removeprefix("▁").removeprefix("##") if piece.text not in ("##", "▁") else ""
            tokens.append(Token(-1, piece.text, text, -1, -1, False, i > 0, piece.text.startswith("▁")))
    return token_row(tokens, "The test sentence", unknown=frozenset(unknown))


@session.cached()
def _trained(text: str, kind: TokenizerKind) -> Trained:
    return train(text, kind)


TRAIN = Section("train", training, (KIND, CORPUS, TEST, SIZE, BELOW))
