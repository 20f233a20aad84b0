"""One row of controls for how the next token is chosen; only what the strategy uses is shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, cast

import streamlit as st

from core.language.types import Decoding
from core.links import parameters as link
from core.ui.glossary import noted, told
from core.ui.links import PageState
from core.ui.param import Carried

STRATEGIES = {"greedy": "Greedy", "sample": "Sample", "beam": "Beam search"}
MAX_LENGTH = 200
MAX_BEAMS = 8
DECODING = (
    Carried(name="strategy", label="Next token by", as_=link.Choice("greedy", tuple(STRATEGIES))),
    Carried(name="temperature", label="Temperature", as_=link.Real(0.5, 0.1, 3.0)),
    Carried(name="top_k", label="Top-k", as_=link.Integer(0, 0, 1000)),
    Carried(name="top_p", label="Top-p", as_=link.Real(0.9, 0.05, 1.0)),
    Carried(name="beams", label="Beams", as_=link.Integer(4, 1, 8)),
    Carried(name="length", label="New tokens", as_=link.Integer(40, 1, 200)),
    Carried(name="seed", label="Seed", as_=link.Integer(0, 0, 2**31 - 1)),
)


def decoding_of(state: PageState) -> Decoding:
    """The decoding that a link asks for."""
    return Decoding(
        strategy=cast(Any, state.text("strategy")),
        temperature=state.real("temperature"),
        top_k=state.number("top_k"),
        top_p=state.real("top_p"),
        beams=state.number("beams"),
        max_new_tokens=state.number("length"),
        seed=state.number("seed"),
    )


def effective(decoding: Decoding) -> Decoding:
    """``decoding`` with the settings that its strategy ignores set to their defaults, so that they change nothing."""
    plain = Decoding(decoding.strategy, max_new_tokens=decoding.max_new_tokens)
    if decoding.strategy == "sample":
        return replace(decoding, beams=plain.beams)
    return replace(plain, beams=decoding.beams) if decoding.strategy == "beam" else plain


def decoding_controls(decoding: Decoding, *, key: str, most: int = MAX_LENGTH) -> Decoding:
    """Draw the controls, standing at ``decoding``, and return what they say; hidden settings keep their values.

    :param key: prefix of the widgets' keys; a new prefix starts afresh from ``decoding``.
    :param most: the largest number of new tokens on offer.
    """

    def start(name: str, value: object) -> str:
        # The value goes in through the state: a widget whose default changes with it would lose the focus.
        slot = f"{key}.{name}"
        if slot not in st.session_state:
            st.session_state[slot] = value
        return slot

    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        chosen = st.segmented_control(
            "Next token by",
            list(STRATEGIES),
            format_func=STRATEGIES.__getitem__,
            key=start("strategy", decoding.strategy),
            persist_state="page",
            required=True,
        )
        strategy: Literal["greedy", "sample", "beam"] = chosen or decoding.strategy  # type: ignore[assignment]
        length = int(
            st.number_input(
                "New tokens",
                1,
                most,
                key=start("length", min(decoding.max_new_tokens, most)),
                persist_state="page",
                width=120,
                help="Generation also stops at the model's end token and at its last position.",
            )
        )
        values = {"temperature": decoding.temperature, "top_p": decoding.top_p}
        top_k, seed, beams = decoding.top_k, decoding.seed, decoding.beams
        if strategy == "sample":
            values["temperature"] = st.slider(
                "Temperature",
                0.1,
                3.0,
                step=0.1,
                key=start("temperature", decoding.temperature),
                persist_state="page",
                width=170,
                help="Below 1 the likely tokens gain, above 1 the unlikely ones.",
            )
            top_k = int(
                st.number_input(
                    "Top-k",
                    0,
                    1000,
                    key=start("top_k", top_k),
                    persist_state="page",
                    width=110,
                    help="Keep the k best tokens; 0 keeps all.",
                )
            )
            values["top_p"] = st.slider(
                "Top-p",
                0.05,
                1.0,
                step=0.05,
                key=start("top_p", decoding.top_p),
                persist_state="page",
                width=170,
                help="Keep the fewest tokens that together reach probability p; 1 keeps all.",
            )
            seed = int(
                st.number_input(
                    "Seed",
                    0,
                    2**31 - 1,
                    key=start("seed", seed),
                    persist_state="page",
                    width=140,
                    help="The same seed throws the same dice: step by step, whatever was changed before.",
                )
            )
        elif strategy == "beam":
            beams = int(
                st.number_input(
                    "Beams", 1, MAX_BEAMS, key=start("beams", min(beams, MAX_BEAMS)), persist_state="page", width=110
                )
            )
    return Decoding(strategy, float(values["temperature"]), top_k, float(values["top_p"]), beams, length, seed)


def next_seed(key: str) -> Callable[[], None]:
    """A callback that moves the seed of the controls with this ``key`` on by one."""

    def move() -> None:
        slot = f"{key}.seed"
        st.session_state[slot] = (int(st.session_state.get(slot, 0)) + 1) % 2**31

    return move


def explain_decoding() -> None:
    """The formulas of all strategies, with their symbols named."""
    with st.expander("How the next token is chosen"):
        st.latex(r"p_T(w) = \frac{\exp(z_w / T)}{\sum_{v \in V} \exp(z_v / T)}")
        told(
            "$z_w$ is the model's score for token $w$, $v$ runs over the vocabulary $V$, $T$ is the temperature: at "
            "$T = 1$ the model's own probabilities, towards $T = 0$ all of it goes to the best token.\n\n"
            "**Greedy** takes $\\arg\\max_w z_w$. **Sampling** draws from $p_T$ after the cuts. "
            "**Top-k** keeps the $k$ tokens with the highest scores. "
            "**Top-p** keeps the smallest set $S$ of most probable tokens with $\\sum_{w \\in S} p_T(w) \\ge p$. "
            "What is kept is scaled to sum to one."
        )
        st.latex(r"s(w_1 \dots w_n) = \frac{1}{n^{\alpha}} \sum_{t=1}^{n} \log p(w_t \mid w_{<t})")
        told(
            "**Beam search** keeps the $B$ beginnings with the highest sums of log-probabilities and, at the end, the "
            "text with the best $s$; $w_t$ is its token $t$, $n$ its length and $\\alpha$ the length penalty, 1 "
            "unless the checkpoint sets "
            "another. It often finds a text that is more probable as a whole than the greedy one, which need not "
            "make it a better one."
        )
        noted("Top-p and why likely text repeats itself: Holtzman et al. 2020, arXiv:1904.09751.")
