"""WordPiece on one word: every lookup in the vocabulary, longest first."""

from __future__ import annotations

import streamlit as st

from core.figures import tree as figures
from core.language.types import Token
from core.table import Table
from core.tokenizers import wordpiece
from core.tokenizers.cut import unknown_piece
from core.tokenizers.known import Known, engine
from core.ui.page import plain, theme
from core.ui.panel import Panel
from core.ui.section import View
from core.ui.tokenizers.common import formula_of
from core.ui.tokenizers.runs import draw, run


def matches(view: View, one: Known, word: str) -> None:
    """Draw the lookups of ``word``, as the tokenizer's own normalization left it."""
    vocabulary: dict[str, int] = engine(one).get_vocab(with_added_tokens=False)
    found = wordpiece.match(word, vocabulary)
    if found.pieces is None:
        sign = unknown_piece(one) or ""
        draw([run([Token(vocabulary.get(sign, -1), sign, sign, 0, len(word))], "Tokens", unknown=frozenset({0}))])
        last = found.tries[-1].piece if found.tries else word
        st.markdown(
            f"No vocabulary entry matches at “{plain(last)}”, so the **whole word** becomes {plain(sign)}, including "
            "the tokens matched before it."
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
    Panel(
        "lookups",
        "Vocabulary lookups",
        figures.tries(word, found.tries, theme=theme()),
        f"{len(found.tries)} lookups in the vocabulary for {word}, longest first; "
        f"{sum(one.found for one in found.tries)} matched.",
        Table.from_records(records) if records else None,
    ).draw(view.state)
    if len(found.tries) > figures.TRIES:
        view.note("More tries", shown=figures.TRIES, all=f"{len(found.tries):,}")
    view.try_and_notice("wordpiece", pieces=f"{len(vocabulary):,}")
    formula_of("wordpiece")
