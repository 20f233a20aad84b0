"""Reach: which token can depend on which after a number of layers, for one token and for all pairs."""

from __future__ import annotations

import streamlit as st

from core import patterns
from core.attention.masks import board as boards
from core.attention.masks.board import Board, Levels, attended, build_board
from core.attention.masks.kinds import CONTENT, QUERY, ChosenMask
from core.attention.tokens import short
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


def reach(view: View, choice: ChosenMask, board: Board, color: str) -> None:
    """Draw the tab Reach; the URL stores ``layers`` and ``place``."""
    state, axes, stream = view.state, board.axes, _stream(choice)
    levels = _levels(choice, board)
    top = min(_MOST_LAYERS, max(4, boards.layers_needed(levels)))
    state.set(layers=min(state.number("layers", LAYERS.default), top))  # another text may simply be shorter
    with st.container(horizontal=True, vertical_alignment="bottom"):
        layers = LAYERS.with_(high=top).draw(state, tag=str(top))
    position = chosen_position(axes.queries, len(axes.queries) // 2, "Query token", color, state)
    now, token = boards.receptive_field(levels, layers), axes.queries[position]
    name = plain(f"“{short(token, 24)}”")
    reached, keys = int(now[position].sum()), len(axes.keys)
    depends = view.words.part("Reach: one query", layers=_layers(layers), reached=reached, keys=keys)
    never = int((levels == boards.NEVER).sum())
    pairs = view.words.part(
        "Reach: pairs, some never" if never else "Reach: pairs",
        reached=f"{int(now.sum()):,}",
        pairs=f"{now.size:,}",
        layers=_layers(boards.layers_needed(levels)),
        never=f"{never:,}",
    )
    st.markdown(f"{name}: {depends} {pairs}")
    left, right = st.columns(2, gap="large")
    with left:
        st.markdown(f"**{name}: {view.words.label('growing')}**")
        Panel(
            "mask-growing",
            view.words.label("growing"),
            growing_map(levels[position], token, axes.keys, layers, color, theme=theme()),
            f"{token}: {depends} {attended(now[position], axes.keys)}.",
        ).draw(state)
    with right:
        Panel(
            "mask-reach",
            view.words.label("layers"),
            levels_map(levels, axes.queries, axes.keys, layers, position, theme=theme()),
            view.words.part("Reach: alt", layers=layers),
            Table.from_records(levels_table(levels, axes.queries, axes.keys, layers)),
            heading=True,
        ).draw(state)
    if stream is not None:
        _streams(choice, axes.keys, view, color)
    view.try_and_notice("reach")
    with st.expander("How it is computed"):
        st.markdown(_formula(view, choice, board, levels, layers))
        view.say("Reach: how it is computed")


def _layers(count: int) -> str:
    return f"{count} {'layer' if count == 1 else 'layers'}"


def chosen_position(tokens: tuple[str, ...], usual: int, label: str, color: str, state: PageState) -> int:
    """Draw a row of tokens; return the selected position, which the URL stores as ``place``."""
    position = min(state.number("place", usual), len(tokens) - 1)
    key = state.key(f"place.{label}")
    picked = token_chips(tokens, selected=(position,), key=key, accent=color, label=label, clearable=False)
    position = picked[0] if picked else position
    state.set(place=None if position == usual else position)
    return position


def _levels(choice: ChosenMask, board: Board) -> Levels:
    """Layers that information needs from each key to each query, by the kind of mask."""
    if not board.axes.square:
        return boards.cross_levels(board.allowed, patterns.mask(patterns.causal, len(board.axes.queries)))
    if _stream(choice) == QUERY:
        content = ChosenMask("permutation", (choice.numbers[0], CONTENT))
        return boards.query_stream_levels(board.allowed, build_board(content, board.axes).allowed)
    return boards.levels(board.allowed)


def _stream(choice: ChosenMask) -> int | None:
    """The stream of a permutation mask."""
    return choice.numbers[1] if choice.kind == "permutation" else None


def _formula(view: View, choice: ChosenMask, board: Board, levels: Levels, layers: int) -> str:
    """The published formula for this mask beside the count, or the general one."""
    stream, words = _stream(choice), view.words
    if stream is not None:
        text = words.part("Reach: query stream" if stream == QUERY else "Reach: content stream")
        return text if board.flips else f"{text} {words.part('Reach: one layer')}"
    if not board.axes.square:
        return words.part("Reach: cross")
    n = len(board.axes.keys)
    if board.flips or choice.kind not in ("window", "dilated"):
        return ""
    (first, second), middle = choice.numbers, n // 2
    left, right = (first, second) if choice.kind == "window" else (first * second, first * second)
    width = first + second if choice.kind == "window" else 2 * first
    cut = middle < layers * left or middle + layers * right >= n
    return words.part(
        f"Reach: {choice.kind}",
        first=first,
        second=second,
        layers=layers,
        width=width,
        reached=layers * width,
        span=layers * (left + right),
        found=int(boards.receptive_field(levels, layers)[middle].sum()) - 1,
        cut=words.label("cut") if cut else "",
    )


def _streams(choice: ChosenMask, tokens: tuple[str, ...], view: View, color: str) -> None:
    """Draw both masks of the order, without cells changed by hand."""
    n = len(tokens)
    order = patterns.random_order(n, choice.numbers[0])
    rank = patterns.ranks(order, n).tolist()
    content, query = (patterns.mask(stream(order, n), n) for stream in (patterns.content_stream, patterns.query_stream))
    Panel(
        "mask-streams",
        view.words.label("streams"),
        stream_maps(tokens, rank, content, query, color, theme=theme()),
        stream_words(tokens, rank),
        heading=True,
    ).draw(view.state)
