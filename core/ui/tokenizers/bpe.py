"""BPE on one word: its merges as a tree, and as a table in the order of their ranks."""

from __future__ import annotations

from core.figures import tree as figures
from core.language.tokens import DECODERS, read_piece, visible
from core.language.types import Token
from core.table import Table
from core.tokenizers import bpe
from core.tokenizers.known import Known, end_of_word, engine, ranks
from core.ui.data_table import data_table
from core.ui.page import theme
from core.ui.panel import Panel
from core.ui.param import Integer
from core.ui.section import View
from core.ui.tokenizers.common import formula_of
from core.ui.tokenizers.runs import draw, run

STEP = Integer(name="step", label="Merges applied", low=0, high=200, style="slider")


def merges(view: View, one: Known, word: str) -> None:
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


def readable(one: Known, piece: str) -> str:
    """A vocabulary entry as a person reads it, its space and its mark drawn."""
    style = DECODERS.get(type(engine(one).decoder).__name__, "plain")
    if style == "end-of-word":
        return visible(piece)  # the mark of the end decides which merges there are
    text, leading, marked = read_piece(piece, style)
    return ("␣" if leading else "##" if marked else "") + visible(text)


def _tokens(one: Known, pieces: tuple[str, ...]) -> list[Token]:
    tokens = []
    for i, piece in enumerate(pieces):
        text, leading = readable(one, piece), False
        if one.family == "bpe":
            text, leading, _ = read_piece(piece, "byte-level")
        tokens.append(Token(-1, piece, text, -1, -1, False, bool(i), leading))
    return tokens
