"""Controls of the decoding strategy; only settings that the strategy uses are shown."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import streamlit as st

from core import links
from core.content import content
from core.language.types import Decoding
from core.ui.demos.cover import COVER
from core.ui.links import PageState, page_link
from core.ui.param import Choice, Integer, Real, Seed, differing

STRATEGIES = {"greedy": "Greedy", "sample": "Sample", "beam": "Beam search"}
STRATEGY = Choice(name="strategy", label="Decoding strategy", options=STRATEGIES, style="row")
LENGTH = Integer(
    name="length",
    label="New tokens",
    default=40,
    low=1,
    high=1_000,
    width=120,
    limit="max_new_tokens",
)
TEMPERATURE = Real(
    name="temperature",
    label="Temperature",
    default=0.5,
    low=0.1,
    high=3.0,
    step=0.1,
    width=170,
)
TOP_K = Integer(name="top_k", label="Top-k", low=0, high=1000, width=110)
TOP_P = Real(
    name="top_p",
    label="Top-p",
    default=0.9,
    low=0.05,
    high=1.0,
    step=0.05,
    width=170,
)
SEED = Seed()
BEAMS = Integer(name="beams", label="Beams", default=4, low=1, high=16, width=110, limit="max_beams")
DECODING = (STRATEGY, LENGTH, TEMPERATURE, TOP_K, TOP_P, SEED, BEAMS)


def decoding_of(state: PageState, length: Integer = LENGTH) -> Decoding:
    """The decoding set by the link or the visitor; ``length`` has the demo's default and limit."""
    return Decoding(
        strategy=cast(Any, STRATEGY.value(state)),
        temperature=TEMPERATURE.value(state),
        top_k=TOP_K.value(state),
        top_p=TOP_P.value(state),
        beams=BEAMS.value(state),
        max_new_tokens=length.value(state),
        seed=SEED.value(state),
    )


def decoding_changed(state: PageState, length: Integer = LENGTH) -> int:
    """How many of the controls that are drawn, and of “Guess first” below them, differ from their defaults."""
    of_strategy = {"sample": (TEMPERATURE, TOP_K, TOP_P), "beam": (BEAMS,)}.get(STRATEGY.standing(state), ())
    changed = differing(state, STRATEGY, *of_strategy, COVER) + differing(state, length, tag=str(length.default))
    return changed + (differing(state, SEED, tag="decoding") if TEMPERATURE in of_strategy else 0)


def effective(decoding: Decoding) -> Decoding:
    """``decoding`` with the settings that its strategy ignores set to their defaults."""
    plain = Decoding(decoding.strategy, max_new_tokens=decoding.max_new_tokens)
    if decoding.strategy == "sample":
        return replace(decoding, beams=plain.beams)
    return replace(plain, beams=decoding.beams) if decoding.strategy == "beam" else plain


def decoding_controls(state: PageState, length: Integer = LENGTH) -> Decoding:
    """Draw the controls and return the decoding; hidden settings keep their values."""
    help_of = content("demos", "decoding").front["help"]
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        strategy = STRATEGY.draw(state)
        length.with_(help=help_of[LENGTH.name]).draw(state, tag=str(length.default))
        if strategy == "sample":
            for setting in (TEMPERATURE, TOP_K, TOP_P):
                setting.with_(help=help_of[setting.name]).draw(state)
            # What corrupts a text may have a seed of its own.
            SEED.with_(help=help_of[SEED.name]).draw(state, tag="decoding")
        elif strategy == "beam":
            BEAMS.draw(state)
    return decoding_of(state, length)


def decoding_link(slug: str, text: str, task: str | None = None) -> None:
    """Draw a link to the page Decoding, which explains and compares all strategies, with this model and text."""
    query, _ = links.write_query("generation", {"model": slug, "text": text or None, "task": task})
    label = content("demos", "decoding").label("link")
    page_link("generation", label, query, icon=":material/edit:")
