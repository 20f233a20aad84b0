"""Which token can learn of which after a number of layers: one token's view, all pairs, and the formula beside it."""

from __future__ import annotations

import streamlit as st

from core import patterns
from core.attention.masks import influence
from core.attention.masks.board import Board, lay, seen
from core.attention.masks.influence import Levels
from core.attention.masks.kinds import CONTENT, QUERY
from core.attention.masks.words import Choice, Term
from core.figures.masks import growing_map, levels_map, levels_table, stream_maps, stream_words
from core.table import Table
from core.ui.chips import token_chips
from core.ui.links import PageState
from core.ui.page import plain, theme
from core.ui.panel import Panel
from core.ui.param import Integer
from core.ui.section import View

_MOST_LAYERS = 24
LAYERS = Integer(name="layers", label="Layers", default=2, low=1, high=_MOST_LAYERS, style="slider")


def reach(view: View, choice: Choice, board: Board, color: str) -> None:
    """Draw the part; the link carries ``layers`` and ``place``."""
    state, levels, axes = view.state, levels_of(choice, board), board.axes
    rows = len(axes.queries)
    top = min(_MOST_LAYERS, max(4, influence.enough(levels)))
    state.set(layers=min(state.number("layers", LAYERS.default), top))  # another text may simply be shorter
    with st.container(horizontal=True, vertical_alignment="bottom"):
        layers = LAYERS.with_(high=top).draw(state, tag=str(top))
    place = chosen_place(axes.queries, rows // 2, "Query token", color, state)
    _said(levels, layers, place, board)
    left, right = st.columns(2, gap="large")
    token = axes.queries[place]
    with left:
        st.markdown(f"**What {plain(_called(token))} can rest on**, after so many layers")
        Panel(
            "mask-growing",
            "What a token can rest on, after so many layers",
            growing_map(levels[place], token, axes.keys, layers, color, theme=theme()),
            f"After {layers} layers the output at {token} rests on: "
            f"{seen(influence.within(levels, layers)[place], axes.keys)}.",
        ).draw(state)
    with right:
        Panel(
            "mask-reach",
            "Layers until news arrives, from each column at each row",
            levels_map(levels, axes.queries, axes.keys, layers, place, theme=theme()),
            f"Pairs of tokens by the layers that news needs, up to {layers}; the table has the numbers.",
            Table.from_records(levels_table(levels, axes.queries, axes.keys, layers)),
            heading=True,
        ).draw(state)
    st.markdown(_formula(view, choice, board, levels, layers))
    if _stream(choice) is not None:
        _streams(choice.terms[0], board.axes.keys, state, color)
    view.try_and_notice("reach")
    with st.expander("How it is computed"):
        view.say("Reach: how it is computed")


def chosen_place(tokens: tuple[str, ...], usual: int, label: str, color: str, state: PageState) -> int:
    """A row of tokens of which one is chosen; the link carries it as ``place``."""
    place = min(state.number("place", usual), len(tokens) - 1)
    key = state.key(f"place.{label}")
    picked = token_chips(tokens, selected=(place,), key=key, accent=color, label=label, clearable=False)
    place = picked[0] if picked else place
    state.set(place=None if place == usual else place)
    return place


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


def _formula(view: View, choice: Choice, board: Board, levels: Levels, layers: int) -> str:
    """What a published formula says beside what was counted, where there is one for this mask; else what flows."""
    stream, words = _stream(choice), view.words
    if stream is not None:
        said = words.part("Reach: query stream" if stream == QUERY else "Reach: content stream")
        return said if board.flips else f"{said} {words.part('Reach: one layer')}"
    if not board.axes.square:
        return words.part("Reach: cross")
    term = choice.terms[0]
    n = len(board.axes.keys)
    if len(choice.terms) > 1 or board.flips or term.kind not in ("window", "dilated"):
        return ""
    middle = n // 2
    found = int(influence.within(levels, layers)[middle].sum()) - 1
    first, second = term.numbers
    if term.kind == "window":
        left, right, wide = layers * first, layers * second, layers * (first + second)
        numbers = {"width": first + second, "reached": wide}
    else:
        left = right = layers * second * first
        numbers = {"width": 2 * first, "reached": layers * 2 * first, "span": 2 * left}
    cut = ", cut off at the end of the text" if middle - left < 0 or middle + right >= n else ""
    every = {1: "one", 2: "second", 3: "third"}.get(second, f"{second}th")
    return words.part(
        f"Reach: {term.kind}", first=first, second=second, layers=layers, found=found, cut=cut, every=every, **numbers
    )


def _called(token: str) -> str:
    shown = token if len(token) <= 24 else token[:23] + "…"
    return f"“{shown}”"


def _streams(term: Term, tokens: tuple[str, ...], state: PageState, color: str) -> None:
    """Draw both masks of the order; cells that were changed by hand are not in them."""
    n = len(tokens)
    order = patterns.drawn(n, term.numbers[0])
    rank = patterns.ranks(order, n).tolist()
    content = patterns.mask(patterns.content_stream(order, n), n)
    query = patterns.mask(patterns.query_stream(order, n), n)
    Panel(
        "mask-streams",
        "Both streams; in brackets the turn in which a token is found",
        stream_maps(tokens, rank, content, query, color, theme=theme()),
        stream_words(tokens, rank),
        heading=True,
    ).draw(state)
