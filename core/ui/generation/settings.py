"""Settings that all sections share, in a popover: length, seed, penalties, and texts that end the generation."""

from __future__ import annotations

import streamlit as st

from core.language.choose import MAX_STOP_CHARS, MAX_STOPS
from core.language.types import Decoding
from core.ui.links import PageState


def settings_popover(state: PageState, section: str) -> Decoding:
    """Draw the popover and return what it says, as a decoding without a rule."""
    changed = _changed(state)
    with st.popover(f"Settings ({changed} changed)" if changed else "Settings", icon=":material/tune:"):
        length = int(
            st.number_input(
                "New tokens",
                1,
                200,
                state.number("length", 24),
                key=state.key("length"),
                help="A text also ends at the model's end token and at its last position.",
                disabled=section in ("beam", "cache"),
            )
        )
        seed = int(
            st.number_input(
                "Seed",
                0,
                2**31 - 1,
                state.number("seed"),
                key=state.key("seed"),
                help="All rules throw the same dice: the number of a step depends on the seed and the step alone.",
            )
        )
        penalty = st.number_input(
            "Repetition penalty",
            0.5,
            3.0,
            state.real("penalty", 1.0),
            0.1,
            key=state.key("penalty"),
            help="Above 1, tokens that were read before get lower scores. 1 changes nothing.",
        )
        runs = int(
            st.number_input(
                "Runs that may not repeat",
                0,
                10,
                state.number("norepeat"),
                key=state.key("norepeat"),
                help="3: no run of three tokens comes twice. 0: all may.",
            )
        )
        alpha = st.number_input(
            "Length penalty of beam search",
            -3.0,
            3.0,
            value=state.values.get("lengthpenalty"),  # type: ignore[arg-type]
            step=0.5,
            key=state.key("lengthpenalty"),
            placeholder="the model's own, usually 1",
            help="A finished text ranks by its score divided by its length to this power: above 0 favours long texts.",
        )
        stop = str(
            st.text_area(
                "Stop at",
                state.text("stop"),
                height=68,
                key=state.key("stop"),
                placeholder="a text on each line",
                help=f"Up to {MAX_STOPS} texts of up to {MAX_STOP_CHARS} characters. Writing ends with the token that "
                "completes one of them.",
            )
            or ""
        )
    state.set(
        length=length,
        seed=seed,
        penalty=float(penalty),
        norepeat=runs,
        lengthpenalty=None if alpha is None else float(alpha),
        stop=stop or None,
    )
    stops = tuple(dict.fromkeys(line for line in stop.splitlines() if line.strip()))
    return Decoding(
        max_new_tokens=length,
        seed=seed,
        penalty=float(penalty),
        no_repeat=runs,
        length_penalty=None if alpha is None else float(alpha),
        stop=stops,
    )


def _changed(state: PageState) -> int:
    """How many of the settings that change the probabilities or the end are not as they were."""
    numbers = state.real("penalty", 1.0) != 1, state.number("norepeat") != 0
    return sum((*numbers, state.values.get("lengthpenalty") is not None, bool(state.text("stop"))))
