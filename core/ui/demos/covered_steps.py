"""A generation with the next token covered: the text as far as the step that is looked at, and a box for a guess."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.language.tokens import visible
from core.language.types import Decoding, GenerationStep
from core.ui.demos.cover import uncovered, verdict, walk
from core.ui.demos.steps import alternatives_panel, draw_text
from core.ui.glossary import told
from core.ui.links import PageState


def covered_steps(
    page: PageState,
    asked: object,
    prompt: str,
    path: Sequence[GenerationStep],
    step: int,
    decoding: Decoding,
    *,
    key: str,
    branch: str,
) -> tuple[int, int | None]:
    """Draw it; returns the step looked at, from 0, and the id of another token to go on with, if one was chosen.

    :param asked: what tells this generation from another: model and settings.
    """
    slot = f"{key}.step"
    step = min(max(int(st.session_state.get(slot, step)), 0), len(path) - 1)
    st.session_state[slot] = step
    now = path[step]
    place = st.empty()

    def judge(guess: str) -> str:
        words = [option.text for option in now.alternatives]
        chances = [option.probability for option in now.alternatives]
        return verdict(guess, words, chances, now.token.text.strip() or visible(now.token.text))

    question = (asked, prompt, now.ids[:step], step)
    shown = uncovered(page, question, f"Your guess at token {step + 1}", judge, on=True)
    made = path[step].text if shown else path[step - 1].text if step else ""
    draw_text(place, prompt, made if shown else f"{made} ▢", branch, room="0")
    other = alternatives_panel(path, step, decoding, key=key, branch=branch) if shown else None
    walk(slot, step, len(path), "token")
    told(
        "**Try** a few tokens in a row.\n\n**Notice** that a token may be part of a word, a comma or the end of a "
        "line: the model is asked for all of them."
    )
    return step, other
