"""XLNet's demo: choose words and the order in which they are found; see each step, who sees whom, and what it costs."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

import streamlit as st

from core import session
from core.checkpoints.spec import CheckpointSpec
from core.figures.masks import stream_maps, stream_table, stream_words
from core.links import parameters as link
from core.ui.chart import chart
from core.ui.data_table import data_table
from core.ui.demos.demo import Demo, DemoView
from core.ui.demos.orders_steps import steps_or_guess
from core.ui.demos.samples import sample_pills
from core.ui.glossary import noted, told
from core.ui.page import accent, plain, sentences, theme
from core.ui.param import Carried
from core.ui.text_box import standing, text_box

if TYPE_CHECKING:
    from core.language.permuted import Found, Unknown
    from core.language.types import Token
    from core.ui.links import PageState

SAMPLES = (
    "He opened the door and went into the house.",
    "I do not know what you are talking about.",
    "Once upon a time there was a king who had three sons.",
    "In winter the river is covered with ice.",
)
GUESSES = 5
FED = {"truth": "What stood there", "own": "The model's own guess"}


def orders_demo(view: DemoView) -> None:
    """Draw the demo; the sentence, the words in their order and what is fed back are kept in the page's state."""
    spec, state = view.spec, view.state
    text = _text(state)
    with sentences():
        tokens = _cut(spec.slug, text)
        chosen = _choose(tokens, state)
        fed = str(
            st.segmented_control(
                "Fed back after each step",
                list(FED),
                format_func=FED.__getitem__,
                required=True,
                default=state.text("fed", "truth"),
                key=state.key("orders.fed"),
            )
        )
        state.set(fed=fed)
        unknown, found = _steps(spec.slug, text, chosen, fed == "own")
        shown = steps_or_guess(spec, text, unknown, found, fed, state)
        st.divider()
        _who_sees_whom(unknown, state)
        if shown:
            st.divider()
            _costs_table(spec, text, chosen)
    _teach()


def _text(state: PageState) -> str:
    """The samples and the box."""
    boxes = {state.key("orders.text"): standing(state, "text", SAMPLES[0], key="orders.text")}
    sample_pills("Samples", {plain(sample): (sample,) for sample in SAMPLES}, state.key("orders.sample"), boxes)
    return text_box(state, "text", "Sentence", SAMPLES[0], key="orders.text", height=68, hidden_label=True)


def _choose(tokens: tuple[Token, ...], state: PageState) -> tuple[int, ...]:
    """The words in the order in which they were chosen; a sentence that was not seen before begins with three."""
    from core.language.permuted import choices

    there = choices(tokens)
    names = {number: "".join(tokens[place].text for place in places) for number, places in there.items()}
    usual = _usual(names)
    # each sentence keeps its own choice
    slot = state.key(f"orders.words.{zlib.crc32(repr([token.id for token in tokens]).encode())}")
    first = state.key("orders.seen") not in st.session_state
    st.session_state[state.key("orders.seen")] = True
    if slot not in st.session_state:
        linked = [number for number in dict.fromkeys(state.integers("words")) if number in there] if first else []
        st.session_state[slot] = linked or list(usual)

    def put(numbers: list[int]) -> None:
        st.session_state[slot] = numbers

    now = sorted(st.session_state[slot])
    shuffles = st.session_state.get(state.key("orders.shuffles"), 0)
    picked = tuple(
        st.multiselect(
            "Words to find, in the order in which they are found",
            list(names),
            key=slot,
            persist_state="page",
            format_func=lambda number: plain(f"{number} · {names[number]}"),
            help="Take words out and put them in again to change the order",
        )
    )
    with st.container(horizontal=True):
        st.button("Left to right", key=state.key("orders.forward"), on_click=put, args=(now,))
        st.button("Right to left", key=state.key("orders.backward"), on_click=put, args=(now[::-1],))
        st.button("Shuffle", key=state.key("orders.shuffle"), on_click=_shuffle, args=(state, slot, shuffles + 1))
        st.button("All words", key=state.key("orders.all"), on_click=put, args=(list(names),))
    state.set(words=() if picked == usual else picked)
    return picked


def _shuffle(state: PageState, slot: str, seed: int) -> None:
    import numpy as np

    st.session_state[state.key("orders.shuffles")] = seed
    before = list(st.session_state[slot])
    st.session_state[slot] = [before[i] for i in np.random.default_rng(seed).permutation(len(before))]


def _usual(names: dict[int, str]) -> tuple[int, ...]:
    """The three longest words, in the order of the text."""
    longest = sorted(names, key=lambda number: (not names[number].isalpha(), -len(names[number]), number))[:3]
    return tuple(sorted(longest))


def _who_sees_whom(unknown: Unknown, state: PageState) -> None:
    """The masks of the two streams."""
    from core.language.permuted import ranks, sees

    tokens = [token.text for token in unknown.tokens]
    rank = ranks(unknown.places, len(tokens)).tolist()
    content, query = sees(unknown)
    st.markdown("**Who sees whom**, in the order of the text; in brackets the step in which a token is found")
    chart(
        stream_maps(tokens, rank, content, query, accent("decoder"), theme=theme()),
        key=state.key("orders.masks"),
        alt=stream_words(tokens, rank),
    )
    told(
        "Rows look at columns; a dot is seen. **Notice** the diagonal: a token's content stream knows the token, its "
        "query stream, which has to find it, does not. That is all in which the two differ, and why there are two."
    )
    with st.expander("Who sees whom, as a table"):
        data_table(stream_table(tokens, rank, content, query), "streams", alt="Whom each token's streams see")


def _costs_table(spec: CheckpointSpec, text: str, chosen: tuple[int, ...]) -> None:
    """The same words in three orders, and what each costs in each."""
    orders = _costs(spec.slug, text, chosen)
    names = _names(spec.slug, text, chosen)
    rows: list[dict[str, object]] = [
        {"word": names[place], **{order: bits[place] for order, bits in orders.items()}} for place in sorted(names)
    ]
    rows.append({"word": "all together", **{order: sum(bits.values()) for order, bits in orders.items()}})
    st.markdown("**What the same words cost in three orders**, in bits")
    data_table(
        rows,
        "bits-by-order",
        alt="Bits of each word in your order, from left to right and from right to left, and their sums",
        column_config={order: st.column_config.NumberColumn(format="%.2f") for order in orders},
    )
    sums = [sum(bits.values()) for bits in orders.values()]
    st.markdown(
        f"**Notice** that a word's cost depends on its turn. The sum should not: $p(a)\\,p(b \\mid a) = "
        f"p(b)\\,p(a \\mid b)$, so a model without faults would say the same in every order. Here the sums lie "
        f"{max(sums) - min(sums):.1f} bits apart."
    )


def _teach() -> None:
    with st.expander("How an order becomes a mask"):
        st.latex(
            r"\log p(x_{z_1}, \dots, x_{z_m} \mid x_{\mathrm{known}}) = \sum_{t=1}^{m} "
            r"\log p(x_{z_t} \mid x_{\mathrm{known}}, x_{z_1}, \dots, x_{z_{t-1}})"
        )
        st.markdown(
            "$p$ is the model's probability, $z$ the order, $x_{z_t}$ the token found in step $t$ of $m$. The text "
            "itself is never shuffled: every token "
            "keeps its place, and the order is only a mask over who may look at whom. Known words look at each other "
            "and never at a found one. With what stood there fed back, all steps come out of one pass."
        )
        noted("Permutation language modelling and two-stream attention: Yang et al. 2019, arXiv:1906.08237.")


@st.cache_data(max_entries=128, ttl=3600.0, show_spinner=False)
def _cut(slug: str, text: str) -> tuple[Token, ...]:
    from core.language.permuted import cut

    return cut(session.checkpoint(slug), text)


@st.cache_data(max_entries=128, ttl=3600.0, show_spinner="Finding the words")
def _steps(slug: str, text: str, chosen: tuple[int, ...], own: bool) -> tuple[Unknown, tuple[Found, ...]]:
    from core.language.permuted import follow, prepare

    checkpoint = session.checkpoint(slug)
    unknown = prepare(checkpoint, text, chosen)
    return unknown, follow(checkpoint, unknown, GUESSES, own=own)


@st.cache_data(max_entries=128, ttl=3600.0, show_spinner="Adding up")
def _costs(slug: str, text: str, chosen: tuple[int, ...]) -> dict[str, dict[int, float]]:
    from core.language.permuted import costs, prepare, reordered

    checkpoint = session.checkpoint(slug)
    unknown = prepare(checkpoint, text, chosen)
    return {
        "your order": costs(checkpoint, unknown),
        "left to right": costs(checkpoint, reordered(unknown, "forward")),
        "right to left": costs(checkpoint, reordered(unknown, "backward")),
    }


def _names(slug: str, text: str, chosen: tuple[int, ...]) -> dict[int, str]:
    unknown, _ = _steps(slug, text, chosen, False)
    return {place: unknown.tokens[place].text for place in unknown.places}


ORDERS = Demo(
    "orders",
    orders_demo,
    lambda spec: spec.offers("two streams"),
    (
        Carried(name="words", label="Words", as_=link.Integers(high=599, most=64)),
        Carried(name="fed", label="Fed back after each step", as_=link.Choice("truth", tuple(FED))),
    ),
)
