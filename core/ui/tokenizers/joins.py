"""BPE on one word: its joins as a tree, and as a table in the order of their ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from core.figures import segmentation as figures
from core.language.types import Token
from core.table import Table
from core.tokenizers import bpe
from core.tokenizers.known import Known, end_of_word, ranks
from core.ui.calculators.parts import dark
from core.ui.export import download_csv
from core.ui.glossary import told
from core.ui.tokenizers.parts import formula_of
from core.ui.tokenizers.runs import draw, run
from core.ui.tokenizers.steps import shown

if TYPE_CHECKING:
    from core.ui.tokenizers.frame import TokenizersView


def joins_of(view: TokenizersView, one: Known, word: str) -> None:
    """Draw the joins of ``word``, which is written in the vocabulary's own signs."""
    state = view.state
    known, units = ranks(one), "bytes" if one.family == "bpe" else "letters"
    letters = bpe.symbols(word, end_of_word(one))
    found = bpe.joins(letters, known)
    done = len(found)
    if len(found) > 1:
        wanted = state.values.get("step")
        start = min(int(wanted), len(found)) if isinstance(wanted, int) else len(found)
        done = st.slider("Joins done", 0, len(found), start, key=state.key(f"step.{one.slug}.{word}"))
    state.set(step=None if done == len(found) else done)
    pieces = found[done - 1].pieces if done else letters
    new = frozenset({found[done - 1].at}) if done else frozenset[int]()
    draw([run(_tokens(one, pieces), "Pieces so far", new=new)])
    st.plotly_chart(
        figures.join_tree(
            [shown(one, letter) for letter in letters],
            [(step.at, shown(one, step.left + step.right), step.rank) for step in found[:done]],
            dark=dark(),
        ),
        key=state.key("joins"),
        config={"displaylogo": False},
        alt=f"Tree of {done} of {len(found)} joins that make {len(pieces)} pieces of {len(letters)} {units}.",
    )
    told(
        f"**Try** a misspelling, or a word with an accent. **Notice** that the order is not from left to right: of "
        f"all pairs that stand side by side, the one that was learnt earliest of {len(known):,} is joined first."
    )
    raw: list[dict[str, Any]] = [
        {
            "step": number,
            "left": shown(one, step.left),
            "right": shown(one, step.right),
            "joined": shown(one, step.left + step.right),
            "learnt as number": step.rank + 1,
            "pairs to choose from": step.candidates,
            "pieces after it": " · ".join(shown(one, piece) for piece in step.pieces),
        }
        for number, step in enumerate(found, start=1)
    ]
    if raw:
        st.dataframe(raw, hide_index=True, alt="Every join in order")
        download_csv(Table.from_records(raw), "joins", state.key("csv.joins"))
    else:
        st.caption(f"No two neighbours of this word stand in the list of joins: it stays in single {units}.")
    if one.family == "letter-bpe":
        told(
            "Plain BPE begins with letters. The last one carries `</w>`, so that a piece at a word's end is another "
            "one than in its middle; a letter that the training text lacked is unknown."
        )
    formula_of("bpe")


def _tokens(one: Known, pieces: tuple[str, ...]) -> list[Token]:
    from core.language.tokens import read_piece

    tokens = []
    for i, piece in enumerate(pieces):
        text, leading, _ = read_piece(piece, "byte-level") if one.family == "bpe" else (shown(one, piece), False, False)
        tokens.append(Token(-1, piece, text, -1, -1, False, bool(i), leading))
    return tokens
