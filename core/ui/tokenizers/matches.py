"""WordPiece on one word: every look into the vocabulary, longest first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from core.figures import segmentation as figures
from core.language.types import Token
from core.table import Table
from core.tokenizers import wordpiece
from core.tokenizers.cut import unknown_piece
from core.tokenizers.known import Known, engine
from core.ui.calculators.parts import dark
from core.ui.export import download_csv
from core.ui.glossary import told
from core.ui.page import plain
from core.ui.tokenizers.parts import formula_of
from core.ui.tokenizers.runs import draw, run

if TYPE_CHECKING:
    from core.ui.tokenizers.frame import TokenizersView


def matches_of(view: TokenizersView, one: Known, word: str) -> None:
    """Draw the tries of ``word``, as the tokeniser's own preparation left it."""
    state = view.state
    vocabulary: dict[str, int] = engine(one).get_vocab(with_added_tokens=False)
    found = wordpiece.match(word, vocabulary)
    if found.pieces is None:
        sign = unknown_piece(one) or ""
        draw([run([Token(vocabulary.get(sign, -1), sign, sign, 0, len(word))], "Pieces", unknown=frozenset({0}))])
        last = found.tries[-1].piece if found.tries else word
        st.markdown(
            f"Nothing in the vocabulary fits at “{plain(last)}”, so the **whole word** becomes {plain(sign)}, the "
            "pieces found before it too."
        )
    else:
        tokens = [
            Token(vocabulary[piece], piece, piece.removeprefix("##") if i else piece, -1, -1, False, bool(i))
            for i, piece in enumerate(found.pieces)
        ]
        draw([run(tokens, "Pieces")])
    st.plotly_chart(
        figures.tries(word, found.tries, dark=dark()),
        key=state.key("tries"),
        config={"displaylogo": False},
        alt=f"{len(found.tries)} looks into the vocabulary for {word}, longest first; "
        f"{sum(one.found for one in found.tries)} found a piece.",
    )
    if len(found.tries) > figures.TRIES:
        st.caption(f"The first {figures.TRIES} of {len(found.tries):,} looks are drawn; the table has all.")
    told(
        f"**Try** a word with a letter from another alphabet. **Notice** that the search never goes back: it takes the "
        f"longest of {len(vocabulary):,} pieces that fits, even where a shorter one would leave a better rest."
    )
    raw: list[dict[str, Any]] = [
        {"look": number, "from": one.start, "to": one.end, "piece": one.piece, "in the vocabulary": one.found}
        for number, one in enumerate(found.tries, start=1)
    ]
    if raw:
        with st.expander("Every look as a table"):
            st.dataframe(raw, hide_index=True, alt="Every look into the vocabulary")
            download_csv(Table.from_records(raw), "tries", state.key("csv.tries"))
    formula_of("wordpiece")
