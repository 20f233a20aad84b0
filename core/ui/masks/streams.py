"""The two streams of a permutation side by side, each token with the turn in which it is found."""

from __future__ import annotations

import streamlit as st

from core.attention.masks.words import Term
from core.attention.patterns import content_stream, drawn, mask, query_stream
from core.figures.masks import stream_maps, stream_words
from core.language import permuted
from core.ui.chart import chart
from core.ui.links import PageState
from core.ui.page import theme


def streams(term: Term, tokens: tuple[str, ...], state: PageState, colour: str) -> None:
    """Draw both masks of the order; cells that were changed by hand are not in them."""
    n = len(tokens)
    order = drawn(n, term.numbers[0])
    rank = permuted.ranks(order, n).tolist()
    st.markdown("**Both streams**; in brackets the turn in which a token is found")
    chart(
        stream_maps(
            tokens,
            rank,
            mask(content_stream(order, n), n),
            mask(query_stream(order, n), n),
            colour,
            theme=theme(),
        ),
        key=state.key("masks.streams"),
        config={"displaylogo": False},
        alt=stream_words(tokens, rank),
    )
