"""Train one: a vocabulary learnt from a pasted text, cut at any size on the way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import streamlit as st

from core.figures.vocabulary import growth
from core.language.tokens import visible
from core.language.types import Token
from core.table import Table
from core.tokenizers.samples import TALE, TALE_TEST
from core.tokenizers.text import whole
from core.tokenizers.train import MOST_TEXT, Kind, Piece, Trained, train, words_of
from core.ui.calculators.parts import dark
from core.ui.export import download_csv
from core.ui.glossary import told
from core.ui.links import within
from core.ui.tokenizers.parts import formula_of, inner
from core.ui.tokenizers.runs import draw, run

if TYPE_CHECKING:
    from core.ui.links import PageState
    from core.ui.tokenizers.frame import TokenizersView

KINDS = {"bpe": "BPE", "wordpiece": "WordPiece", "unigram": "Unigram"}
_MOST_TEST = 300
BELOW = {"sizes": "The sentence at each size", "learnt": "What was learnt, in order", "how": "How"}
_STEPS = 5
_POINTS = 24


def training(view: TokenizersView) -> None:
    """Draw the section.

    Raises:
        AtlasError: what the texts do not allow, as a sentence.
    """
    state = view.state
    kind = st.segmented_control(
        "Kind",
        list(KINDS),
        format_func=KINDS.__getitem__,
        key=state.key("kind"),
        default=state.text("kind", "bpe"),
        required=True,
        label_visibility="collapsed",
    )
    state.set(kind=kind)
    shown, typed = st.columns([1.8, 1], gap="large")  # the picture first, also where columns stand below each other
    with typed:
        text = st.text_area(
            "Learns from",
            state.text("corpus", TALE),
            height=200,
            key=state.key("corpus"),
            help=f"Up to {MOST_TEXT:,} characters",
        )
        state.set(corpus=None if text == TALE else text)
        test = st.text_area("Then cuts", state.text("test", TALE_TEST), height=90, key=state.key("test"))
        state.set(test=None if test == TALE_TEST else test)
    with shown:
        found = _trained(str(text), cast(Kind, kind))
        sentence = words_of(whole(str(test), _MOST_TEST), found.kind)
        size = _size(state, found)
        cut = found.cut(sentence, size)
        stage = next((one for one in reversed(found.stages) if one.size <= size), found.stages[0])
        told(f"**{size:,} pieces**: the text is {stage.tokens:,} tokens, the test sentence {sum(map(len, cut))}.")
        draw([_run(cut)])
        _curve(state, found, sentence, size, len(str(text)), len(str(test)))
    told(
        "**Try** a text in another language, or the same line pasted twenty times.\n\n"
        "**Notice** what comes first: endings and small words, since they occur most. The text it learnt from keeps "
        "shrinking, the test sentence soon stops: a small vocabulary has learnt this text and not the language."
    )
    seen = inner(state, "learning", BELOW, "sizes")
    if seen == "sizes":
        _at_each_size(state, found, sentence, size)
    elif seen == "learnt":
        _learnt(state, found, size)
    else:
        _how(found)


def _size(state: PageState, found: Trained) -> int:
    """The slider; of Unigram only the sizes that were trained."""
    usual = (found.smallest + found.largest) // 2
    asked = within(state, "The vocabulary", state.number("size", usual), found.smallest, found.largest)
    wanted = found.nearest(asked)
    tag = f"size.{found.kind}.{found.smallest}.{found.largest}"
    if found.smallest == found.largest:
        st.caption("No pair occurs twice in this text, so the vocabulary stays what it began with.")
        return found.largest
    if found.learning is None:
        size = st.select_slider(
            "Pieces in the vocabulary", [one.size for one in found.stages], wanted, key=state.key(tag)
        )
    else:
        size = st.slider("Pieces in the vocabulary", found.smallest, found.largest, wanted, key=state.key(tag))
    state.set(size=None if size == found.nearest((found.smallest + found.largest) // 2) else size)
    return int(size)


def _curve(state: PageState, found: Trained, sentence: Sequence[str], size: int, text: int, test: int) -> None:
    sizes = [one.size for one in found.stages]
    chosen = sorted({sizes[round(i * (len(sizes) - 1) / (_POINTS - 1))] for i in range(_POINTS)})
    of_text = [(one.size, 100 * one.tokens / max(1, text)) for one in found.stages]
    of_test = [(at, 100 * sum(map(len, found.cut(sentence, at))) / max(1, test)) for at in chosen]
    st.plotly_chart(
        growth(of_text, of_test, size, dark=dark()),
        key=state.key("growth"),
        config={"displaylogo": False},
        alt=f"Tokens for 100 characters fall from {of_text[0][1]:.0f} with {of_text[0][0]} pieces to "
        f"{of_text[-1][1]:.0f} with {of_text[-1][0]}; of the test sentence from {of_test[0][1]:.0f} to "
        f"{of_test[-1][1]:.0f}.",
    )


def _at_each_size(state: PageState, found: Trained, sentence: Sequence[str], size: int) -> None:
    low, high = found.smallest, found.largest
    sizes = sorted({found.nearest(round(low + (high - low) * i / (_STEPS - 1))) for i in range(_STEPS)} | {size})
    parts, raw = [], []
    for at in sizes:
        cut = found.cut(sentence, at)
        mark = " · chosen" if at == size else ""
        parts.append(
            f'<div class="tk"><div class="tk-head"><b>{at:,} pieces</b><span>{sum(map(len, cut))} tokens{mark}</span>'
            f"</div>{_run(cut)}</div>"
        )
        raw += [
            {"pieces": at, "word": number, "token": visible(piece.text)}
            for number, pieces in enumerate(cut, start=1)
            for piece in pieces
        ]
    draw(parts)
    download_csv(Table.from_records(raw), "sizes", state.key("csv.sizes"))


def _learnt(state: PageState, found: Trained, size: int) -> None:
    """Joins with their counts, or pieces with their probabilities."""
    raw: list[dict[str, Any]]
    if found.learning is not None:
        most = found.learning.at(size)
        raw = [
            {
                "number": number,
                "left": visible(one.left),
                "right": visible(one.right),
                "piece": visible(one.joined),
                "how often": one.count,
                "tokens of the text after it": one.tokens,
                "in the vocabulary": number <= most,
            }
            for number, one in enumerate(found.learning.joins, start=1)
        ]
        st.caption(
            f"It began with {len(found.learning.alphabet)} signs: "
            + " ".join(f"`{visible(sign)}`" for sign in found.learning.alphabet[:120] if "`" not in sign)
        )
    else:
        from math import exp

        scores = next(one for one, stage in zip(found.scores, found.stages, strict=True) if stage.size == size)
        last = found.scores[-1]
        raw = [
            {
                "piece": visible(piece),
                "probability": round(exp(scores[piece]), 6) if piece in scores else None,
                "log p": round(scores[piece], 3) if piece in scores else None,
                "kept": piece in scores,
            }
            for piece in sorted({**last, **scores}, key=lambda p: (p not in scores, -scores.get(p, last.get(p, 0)), p))
        ]
        st.caption("Those that were dropped on the way down to this size stand last.")
    if not raw:
        st.caption("Nothing was joined: no pair of signs occurs twice.")
        return
    st.dataframe(raw, hide_index=True, alt="What was learnt, in order")
    download_csv(Table.from_records(raw), "learnt", state.key("csv.learnt"))


def _how(found: Trained) -> None:
    if found.kind == "unigram":
        told(
            "Unigram begins with every stretch that occurs often, gives each a probability, and drops those without "
            "which the text becomes least unlikely, until the size is reached. Each size here is trained by itself by "
            "the `tokenizers` library."
        )
        formula_of("unigram")
        return
    if found.kind == "wordpiece":
        told(
            "The paper chooses the pieces that make the training text most likely; the `tokenizers` library joins by "
            "counts, as for BPE, and marks what goes on inside a word with ##, and so does this page. New words are "
            "then cut by the longest match and not by joins."
        )
    formula_of("learn")


def _run(cut: Sequence[Sequence[Piece]]) -> str:
    tokens: list[Token] = []
    unknown = set()
    for word in cut:
        for i, piece in enumerate(word):
            if not piece.known:
                unknown.add(len(tokens))
            text = piece.text.removeprefix("▁").removeprefix("##") if piece.text not in ("##", "▁") else ""
            tokens.append(Token(-1, piece.text, text, -1, -1, False, i > 0, piece.text.startswith("▁")))
    return run(tokens, "The test sentence", unknown=frozenset(unknown))


@st.cache_resource(max_entries=48, ttl=3600.0, show_spinner=False)
def _trained(text: str, kind: Kind) -> Trained:
    return train(text, kind)
