"""The logit lens of a live model: what each layer would already answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from core import session
from core.attention.tokens import short
from core.checkpoints.spec import CheckpointSpec
from core.content import content
from core.figures import lens as figures
from core.figures.predictions import percent
from core.table import Table
from core.ui.attention.setup import asked_part, draw_asked, question_of
from core.ui.glossary import plain_terms
from core.ui.heads.text import task_names
from core.ui.page import accent, plain, theme
from core.ui.panel import Panel
from core.ui.section import View

if TYPE_CHECKING:
    from core.attention.inside.lens import LensTrajectory
    from core.ui.links import PageState


def logit_lens(state: PageState, spec: CheckpointSpec) -> None:
    """Draw it below a block, with the text that is asked; reads the task.

    Raises:
        AtlasError: what the text or the model does not allow, as a sentence.
    """
    view = View(state, content("attention", "lens"))
    st.subheader(view.words.title, anchor=False)
    text = draw_asked(spec, state, "Text with a [MASK]" if spec.offers("fills masks") else "Text")
    task = state.text("task") or (next(iter(task_names(spec))) if spec.offers("answers tasks") else None)
    text = asked_part(spec, state, text, task)
    with st.spinner("Reading every layer"):
        found = session.trajectory(spec.slug, text, task)
    read = f"the state of each layer at {_where(found)}"
    if spec.offers("answers tasks"):
        read = "the mean state of all tokens after each layer: the head of this task, with its adapters in the layers"
    names = figures.layer_names(len(found.predictions))
    question = question_of(spec, task)
    st.markdown(
        f"{question if question.endswith('?') else f'{question}?'} After the last layer: **“{plain(found.answer)}”**, "
        f"{percent(found.probabilities[-1])}. {plain_terms(figures.path_words(found, names))} The model’s own head "
        f"reads {plain(read)}."
    )
    left, right = st.columns([1.5, 1], gap="medium")
    with left:
        Panel(
            f"{spec.slug}-layer-answers",
            f"{spec.name}: what each layer would already answer",
            figures.answers(found, accent(spec.branch), theme=theme()),
            f"The most probable answers after each layer with their probabilities, read at {read}, for “{text}”.",
            _answers(found, names),
        ).draw(state)
    with right:
        st.markdown(f"**How “{plain(found.answer)}” comes up**")
        Panel(
            f"{spec.slug}-layer-path",
            f"{spec.name}: how “{found.answer}” comes up",
            figures.path(found, accent(spec.branch), theme=theme()),
            f"Probability and rank of “{found.answer}” over the layers. {figures.path_words(found, names)}",
            Table(
                ("after", "probability", "rank"),
                tuple(zip(names, map(float, found.probabilities), map(int, found.ranks), strict=True)),
            ),
        ).draw(state)
    view.try_and_notice("tasks" if spec.offers("answers tasks") else "")
    view.note("Source")


def _where(found: LensTrajectory) -> str:
    """The token at which the answer is read, with those before it."""
    if len(found.tokens) == 1:
        return f"“{short(found.tokens[0], 30)}”"
    before = " ".join(short(token, 20) for token in found.tokens[max(0, found.place - 2) : found.place + 1])
    return f"token {found.place + 1}, “{before}”" if found.place else f"token 1, “{before}”"


def _answers(found: LensTrajectory, names: list[str]) -> Table:
    rows = (
        (name, rank, token, float(probability))
        for name, guess in zip(names, found.predictions, strict=True)
        for rank, (token, probability) in enumerate(zip(guess.tokens, guess.probabilities, strict=True), start=1)
    )
    return Table(("after", "rank", "answer", "probability"), tuple(rows))
