"""Continuations without their codes: one at a time, and the visitor says under which code it was written."""

from __future__ import annotations

import html
from collections.abc import Mapping
from random import Random
from zlib import crc32

import streamlit as st

from core.checkpoints.spec import CheckpointSpec
from core.language.types import Decoding
from core.ui.demos.cover import uncovered, walk, was_shown
from core.ui.links import PageState
from core.ui.page import accent, plain


def covered_codes(
    spec: CheckpointSpec, begun: str, made: Mapping[str, str], decoding: Decoding, state: PageState
) -> bool:
    """Draw the continuation that is looked at; whether all of them have been uncovered.

    :param made: what was written under each code, by the code's name.
    """
    asked = ("codes", spec.slug, begun, decoding)
    order = list(made)
    # The order of the codes would tell which is which; the same question is always shuffled alike.
    Random(crc32(repr(asked).encode())).shuffle(order)
    slot = state.key("codes.step")
    step = min(max(int(st.session_state.get(slot, state.number("step", 1) - 1)), 0), len(order) - 1)
    st.session_state[slot] = step
    state.set(step=step + 1 if step else None)
    code = order[step]

    def judge(guess: str) -> str:
        # Two codes may have led to the same words, and nobody could tell them apart.
        alike = [label for label in made if made[label] == made[code]]
        under = " and under ".join(f"“{label}”" for label in alike)
        return f"{'Right' if guess in alike else 'Wrong'}: it was written under {under}."

    place = st.empty()
    shown = uncovered(state, (*asked, code), "Under which code was this written?", judge, choices=tuple(made), on=True)
    with place.container():
        card(spec, code if shown else f"Continuation {step + 1} of {len(order)}", begun, made[code])
    walk(slot, step, len(order), "continuation")
    return all(was_shown(state, (*asked, label)) for label in made)


def card(spec: CheckpointSpec, title: str, begun: str, made: str) -> None:
    """One continuation: the beginning and, underlined, what the model wrote after it."""
    line = f"text-decoration:underline 2px {accent(spec.branch)};text-underline-offset:.28em"
    shown = html.escape(made).replace("\n", "<br>")
    with st.container(border=True):
        st.markdown(f"**{plain(title)}**")
        st.html(
            f'<p dir="auto" style="line-height:1.6;overflow-wrap:anywhere">'
            f'{html.escape(begun)}<span style="{line}">{shown}</span></p>'
        )
