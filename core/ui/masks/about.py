"""What a mask is for: its predicate with every symbol named, how many pairs it leaves, who uses it, and its paper."""

from __future__ import annotations

import streamlit as st

from core import catalogue, links
from core.attention.masks.board import Board
from core.attention.masks.descriptions import Description, describe, lines
from core.attention.masks.kinds import KINDS
from core.attention.masks.words import Choice, Term
from core.attention.patterns import drawn
from core.attention.tokens import short
from core.ui.glossary import noted
from core.ui.glossary import told as said
from core.ui.page import base_path, plain

_SIGNS = {"and": r"\wedge", "or": r"\vee", "without": r"\wedge \neg"}
SYMBOLS = "$M_{ij}$: whether query $i$ may look at key $j$, both counted from 0; $n$: tokens; $\\wedge$ and, $\\vee$ or"


def about(choice: Choice, board: Board) -> None:
    """Draw the words beside the board."""
    edits = len(board.flips)
    by_hand = f", {edits} {'cell' if edits == 1 else 'cells'} changed by hand" if edits else ""
    st.markdown(
        f"**{choice.title()}** · {board.count:,} of {board.allowed.size:,} pairs, {100 * board.share:.0f} %{by_hand}"
    )
    alone = len(choice.terms) == 1
    for number, term in enumerate(choice.terms, start=1):
        words = describe(term.kind)
        said(words.purpose if alone else f"**{KINDS[term.kind].title}.** {words.purpose}")
        name = "M_{ij}" if alone else f"M^{{({number})}}_{{ij}}"
        st.latex(rf"{name} \iff {lines(words.formula)}")
        if words.symbols:
            st.markdown("; ".join(_symbol(latex, meaning) for latex, meaning in words.symbols))
        if term.kind == "permutation":
            st.markdown(_order(term, board.axes.keys))
        st.markdown("Used by " + ", ".join([*map(link, words.systems), *filter(None, [words.others])]))
    if not alone:
        st.latex(_joined(choice))
    st.caption(SYMBOLS)
    if board.blind:
        noted(
            f"{len(board.blind)} {'row sees' if len(board.blind) == 1 else 'rows see'} nothing. A softmax over nothing "
            "is no number: code must keep such rows apart, or the model breaks."
        )
    kinds = dict.fromkeys(term.kind for term in choice.terms)
    for line in dict.fromkeys(line for kind in kinds for line in papers(describe(kind))):
        st.caption(line)


def link(slug: str) -> str:
    """A system's name as a link to its page, in Markdown."""
    system = catalogue.get(slug)
    href = base_path() + links.url(system.branches[0], {"system": slug})
    return f"[{plain(system.name)}]({href})"


def papers(words: Description) -> list[str]:
    """The papers of a mask as lines of Markdown."""
    lines = []
    for slug in words.papers:
        paper = catalogue.get(slug).paper
        lines.append(f"{plain(paper.authors)} {paper.year}, [{plain(paper.title)}]({paper.url})")
    if words.paper:
        lines.append(f"[{plain(words.paper)}]({words.url}). {plain(words.read)}")
    return lines


def _order(term: Term, tokens: tuple[str, ...]) -> str:
    """The tokens in the order in which they are found."""
    order = drawn(len(tokens), term.numbers[0])
    return "Found in this order: " + ", ".join(plain(short(tokens[place], 16)) for place in order)


def _joined(choice: Choice) -> str:
    """How the predicates are joined, from left to right."""
    formula = "M^{(1)}_{ij}"
    for number, join in enumerate(choice.joins, start=2):
        left = formula if number == 2 else f"({formula})"
        formula = f"{left} {_SIGNS[join]} M^{{({number})}}_{{ij}}"
    return rf"M_{{ij}} \iff {formula}"


def _symbol(latex: str, meaning: str) -> str:
    return f"${latex}$: {plain(meaning)}"
