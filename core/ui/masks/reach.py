"""Which token can learn of which after a number of layers: one token's view, all pairs, and the formula beside it."""

from __future__ import annotations

import streamlit as st

from core.attention import patterns
from core.attention.masks import influence
from core.attention.masks.board import Board, lay, seen
from core.attention.masks.influence import Levels
from core.attention.masks.kinds import CONTENT, QUERY
from core.attention.masks.words import Choice, Term
from core.figures.masks import growing_map, levels_map, levels_table
from core.ui.chart import chart
from core.ui.chips import token_chips
from core.ui.data_table import data_table
from core.ui.glossary import noted, told
from core.ui.links import PageState
from core.ui.masks.streams import streams
from core.ui.page import plain, theme

LAYERS = 2
_MOST_LAYERS = 24


def reach(choice: Choice, board: Board, state: PageState, colour: str) -> None:
    """Draw the section; reads and writes ``layers`` and ``place``."""
    levels = levels_of(choice, board)
    enough = influence.enough(levels)
    axes = board.axes
    rows = len(axes.queries)
    top = min(_MOST_LAYERS, max(4, enough))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        layers = int(
            st.slider("Layers", 1, top, min(state.number("layers", LAYERS), top), key=state.key(f"masks.layers.{top}"))
        )
    state.set(layers=None if layers == LAYERS else layers)
    place = min(state.number("place", rows // 2), rows - 1)
    picked = token_chips(
        axes.queries,
        selected=(place,),
        key=state.key("masks.place"),
        accent=colour,
        label="The token that looks",
        clearable=False,
    )
    place = picked[0] if picked else place
    state.set(place=None if place == rows // 2 else place)
    _said(levels, layers, place, board)
    left, right = st.columns(2, gap="large")
    token = axes.queries[place]
    with left:
        st.markdown(f"**What {plain(_called(token))} can rest on**, after so many layers")
        chart(
            growing_map(levels[place], token, axes.keys, layers, colour, theme=theme()),
            key=state.key("masks.growing"),
            config={"displaylogo": False},
            alt=f"After {layers} layers the output at {token} rests on: "
            f"{seen(influence.within(levels, layers)[place], axes.keys)}.",
        )
    with right:
        st.markdown("**Layers until news arrives**, from each column at each row")
        chart(
            levels_map(levels, axes.queries, axes.keys, layers, place, theme=theme()),
            key=state.key("masks.levels"),
            config={"displaylogo": False},
            alt=f"Pairs of tokens by the layers that news needs, up to {layers}; the table below has the numbers.",
        )
    st.markdown(_formula(choice, board, levels, layers))
    if _stream(choice) is not None:
        streams(choice.terms[0], board.axes.keys, state, colour)
    told(
        "**Try** more layers, and another token with a click. **Notice** the picture of all pairs: 1 is the mask "
        "itself, 2 goes through one token between; what stays blank takes more layers, or never comes."
    )
    with st.expander("As a table, and how it is computed"):
        data_table(
            levels_table(levels, axes.queries, axes.keys, layers),
            "mask-reach",
            alt="For each token how many tokens have reached it after each layer, and which never do",
            key=state.key("masks.reached"),
        )
        st.latex(r"R_0 = I, \qquad R_l = R_{l-1} \vee M R_{l-1} = (M \vee I)^l")
        noted(
            "$R_l$: pairs for which the output at $i$ after $l$ layers can hold something of the input at $j$; $M$: "
            "the mask; $I$: the residual connection, which carries every token past the attention; products with “or” "
            "for a sum. Can hold is no more than that: what a trained model uses is another question. "
            "Receptive fields: Beltagy et al. 2020, arXiv 2004.05150, section 3.1."
        )


def levels_of(choice: Choice, board: Board) -> Levels:
    """Layers that news needs, by what kind of mask it is."""
    if not board.axes.square:
        return influence.of_cross(board.allowed, patterns.mask(patterns.causal, len(board.axes.queries)))
    if _stream(choice) == QUERY:
        content = Choice((Term("permutation", (choice.terms[0].numbers[0], CONTENT)),))
        return influence.of_query_stream(board.allowed, lay(content, board.axes).allowed)
    return influence.levels(board.allowed)


def _stream(choice: Choice) -> int | None:
    """The stream of a permutation that stands alone."""
    alone = len(choice.terms) == 1 and choice.terms[0].kind == "permutation"
    return choice.terms[0].numbers[1] if alone else None


def _said(levels: Levels, layers: int, place: int, board: Board) -> None:
    now = influence.within(levels, layers)
    enough, never = influence.enough(levels), int((levels == influence.NEVER).sum())
    keys = board.axes.keys
    after = f"{layers} {'layer' if layers == 1 else 'layers'}"
    said = (
        f"After {after} {plain(_called(board.axes.queries[place]))} can know of **{int(now[place].sum())} of "
        f"{len(keys)}** tokens, and {int(now.sum()):,} of {now.size:,} pairs are joined. "
    )
    said += f"{enough} {'layer is' if enough == 1 else 'layers are'} enough for all that can be reached"
    said += f"; {never:,} pairs never are." if never else ": every pair."
    st.markdown(said)


def _formula(choice: Choice, board: Board, levels: Levels, layers: int) -> str:
    """What a published formula says beside what was counted, where there is one for this mask; else what flows."""
    stream = _stream(choice)
    if stream is not None:
        said = (
            "The **query stream** starts from its place alone and takes keys from the content stream below: what is "
            "found before it arrives, through any number of layers, its own word never does (the diagonal stays blank)."
            if stream == QUERY
            else "The **content stream** carries words upwards: each token's own, and those found before it. The query "
            "stream reads from it and gives nothing back."
        )
        if not board.flips:
            said += " One layer brings all that can come: whoever comes before a token that I see comes before me."
        return said
    if not board.axes.square:
        return (
            "Every layer of the decoder looks at the source, and its own tokens pass on what they took, causally. The "
            "encoder has mixed the source's tokens before: a key already holds the whole sentence."
        )
    term = choice.terms[0]
    n = len(board.axes.keys)
    if len(choice.terms) > 1 or board.flips or term.kind not in ("window", "dilated"):
        return ""
    middle = n // 2
    found = int(influence.within(levels, layers)[middle].sum())
    first, second = term.numbers
    if term.kind == "window":
        wide = layers * (first + second)
        return (
            f"**Formula.** A window of $w = {first} + {second}$ keys beside the token reaches $l \\times w = {layers} "
            f"\\times {first + second} = {wide}$ of them after {layers} layers. Counted at the middle token: "
            f"{found - 1}{_cut(middle, n, layers * first, layers * second)}."
        )
    span = layers * second * 2 * first
    return (
        f"**Formula.** With $w = {2 * first}$ keys and a step of $d = {second}$ the field spans $l \\times d \\times w "
        f"= {layers} \\times {second} \\times {2 * first} = {span}$ places, of which every {_th(second)} is in it: "
        f"$l \\times w = {layers * 2 * first}$. Counted at the middle token: "
        f"{found - 1}{_cut(middle, n, span // 2, span // 2)}."
    )


def _cut(middle: int, n: int, left: int, right: int) -> str:
    return ", cut off at the end of the text" if middle - left < 0 or middle + right >= n else ""


def _th(number: int) -> str:
    return {1: "one", 2: "second", 3: "third"}.get(number, f"{number}th")


def _called(token: str) -> str:
    shown = token if len(token) <= 24 else token[:23] + "…"
    return f"“{shown}”"
