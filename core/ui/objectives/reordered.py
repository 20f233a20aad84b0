"""XLNet's objective: tokens found in an order that one drags."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import streamlit as st

from core.figures.masks import stream_maps, stream_table, stream_words
from core.language.permuted import ranks
from core.objectives import permutation
from core.ui.chart import chart
from core.ui.data_table import data_table
from core.ui.demos.cover import was_shown
from core.ui.glossary import told
from core.ui.links import PageState, instead
from core.ui.objectives import live_pairs
from core.ui.objectives.entry import Entry, Given, Number, Stage
from core.ui.objectives.given import question
from core.ui.objectives.hide import BLANK
from core.ui.objectives.order_row import order_row
from core.ui.page import accent, theme

_ACCENT = accent("decoder")


def _ordinary(given: Given) -> list[int]:
    """Places of the text's own tokens that are ordered: a typed token of the format is known from the start."""
    return [place for place, token in enumerate(given.tokens) if not token.special]


def _drawn(given: Given) -> tuple[int, ...]:
    """The order that the seed draws, as numbers of ordinary tokens."""
    return tuple(int(i) for i in given.rng().permutation(len(_ordinary(given))))


def _ask(given: Given, state: PageState) -> Mapping[str, int | str]:
    """The row of tokens in their order, and buttons for orders with a name."""
    tokens = [given.tokens[place] for place in _ordinary(given)]
    count = len(tokens)
    drawn, linked = _drawn(given), state.integers("order")
    # another text, or another seed, has another order: what was dragged holds for the one it was dragged in
    slot, sign = state.key("permutation.order"), state.key("permutation.sign")
    now = (given.seed, tuple(token.id for token in given.tokens))
    if st.session_state.get(sign) != now:
        first = sign not in st.session_state
        fresh = first and sorted(linked) == list(range(count))
        if first and linked and not fresh:
            instead(state, f"The link's order is none of {count} tokens. The one that the seed draws is shown.")
        st.session_state[slot] = linked if fresh else drawn
        st.session_state[sign] = now

    def put(order: tuple[int, ...]) -> None:
        st.session_state[slot] = order

    asked = permutation.asked(count, given.number("k")) if count else 0
    st.markdown("**The order**: drag a token, or choose it and move it with the arrow keys")
    covered = state.text("cover") == "yes" and not was_shown(state, question("permutation", given))
    later = st.session_state[slot][count - asked :] if covered else ()
    shown = [replace(t, text=BLANK, piece=BLANK) if at in later else t for at, t in enumerate(tokens)]
    st.session_state[slot] = order_row(
        shown,
        st.session_state[slot],
        asked,
        key=state.key("permutation.row"),
        accent="decoder",
        label="Tokens in the order in which they are found",
    )
    with st.container(horizontal=True):
        forward = tuple(range(count))
        st.button("Left to right", key=state.key("permutation.forward"), on_click=put, args=(forward,))
        st.button("Right to left", key=state.key("permutation.backward"), on_click=put, args=(forward[::-1],))
        st.button("As drawn", key=state.key("permutation.drawn"), on_click=put, args=(drawn,))
    order = st.session_state[slot]
    state.set(order=None if order == drawn or count > 128 else order)
    return {"order": ".".join(map(str, order))}


def _build(given: Given) -> tuple[Stage, ...]:
    ordinary = _ordinary(given)
    order = [ordinary[int(number)] + 1 for number in given.word("order").split(".")] if given.word("order") else []
    whole = given.framed
    example = permutation.corrupt(
        whole, np.random.default_rng(given.seed), k=float(given.number("k")), order=order, special=sorted(given.fixed)
    )
    found = "; ".join(f"{step}. “{whole[place]}”" for step, place in enumerate(example.order[:12], 1))
    more = ", …" if len(example.order) > 12 else ""
    note = f"Found in this order: {found}{more}. All others are known from the start."
    return (Stage(example, note=note, tells=True),)


def _streams(given: Given, stages: tuple[Stage, ...]) -> None:
    """The masks of the two streams, beside each other."""
    example = stages[0].example
    tokens = [given.framed[0], *(token.text for token in given.tokens), given.framed[-1]]
    rank = ranks(example.order, len(tokens)).tolist()
    content, query = (seen.allowed for seen in example.visible)
    told("**Content and query stream**, in the text's own order; in brackets the step in which a token is found")
    chart(
        stream_maps(tokens, rank, content, query, _ACCENT, theme=theme()),
        key=f"permutation.masks.{given.seed}",
        alt=stream_words(tokens, rank),
    )
    told(
        "A row looks at the columns with a dot. The content stream of a token knows the token; its query stream, which "
        "has to find it, knows only where it is. That diagonal is all in which the two differ."
    )
    with st.expander("Who sees whom, as a table"):
        data_table(stream_table(tokens, rank, content, query), "streams", alt="Whom each token's streams see")


ENTRIES = (
    Entry(
        slug="permutation",
        name="Permutation language model",
        systems="XLNet",
        branch="decoder",
        line="Tokens are found one after the other in an order drawn at random. The text keeps its own order: only who "
        "may look at whom changes. The last ones of the order are asked.",
        paper="Yang et al. 2019, arXiv:1906.08237, sections 2.2 and 2.3.",
        formula=r"L(\theta) = -\,\mathbb{E}_{z} \Big[ \sum_{t=c+1}^{n} "
        r"\log p_\theta(x_{z_t} \mid x_{z_1}, \dots, x_{z_{t-1}}) \Big]",
        symbols="- $z$: an order of the $n$ places; $z_t$: the place that is found in step $t$\n"
        "- $c$: how many are known before anything is asked; $n - c = n / K$ are asked, with $K = 6$ in the paper's "
        "runs\n- $x_{z_t}$: the token of that place; $p_\\theta$: the model's probability with its parameters "
        "$\\theta$\n"
        "- $L$: the loss; $\\mathbb{E}_z$: its mean over all orders",
        try_="all tokens asked (one in 1), and a word that gives another away moved before it, then behind it.",
        notice="a token is cheaper the later it is found, because more is known by then. No mask token stands in its "
        "place; its query stream cannot see it.",
        text="Once upon a time there was a king who had three sons.",
        build=_build,
        models=("atlas-xlnet",),
        answer=live_pairs.ordered,
        about="It was trained on orders of single tokens with this objective; the published one takes spans of 1 to 5 "
        "tokens together.",
        settings=(Number("k", "Asked: one in", 6, 1, 12, 1, help="The paper's K is 6; 1 asks every token."),),
        more=_streams,
        masks=False,
        ask=_ask,
    ),
)
