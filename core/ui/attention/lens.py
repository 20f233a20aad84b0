"""The logit lens of a live model: what each layer would already answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from core import session
from core.attention.tokens import short
from core.checkpoints.spec import CheckpointSpec
from core.figures import lens as figures
from core.figures.predictions import percent
from core.language.adapters import tasks
from core.table import Table
from core.ui.attention.asked import question_of
from core.ui.chart import chart
from core.ui.export import chart_menu
from core.ui.glossary import noted, plain_terms, told
from core.ui.heads.part import text_part
from core.ui.page import accent, plain, theme
from core.ui.text_box import text_box
from core.ui.text_table import TextTable, text_table

if TYPE_CHECKING:
    from core.attention.inside.lens import LensTrajectory
    from core.ui.links import PageState

_NEAR = 8


def logit_lens(spec: CheckpointSpec, state: PageState) -> None:
    """Draw the whole section; reads and writes asked, and reads task.

    Raises:
        AtlasError: what the text or the model does not allow, as a sentence.
    """
    st.subheader("What each layer would already answer", anchor=False)
    label = "Text with a [MASK]" if spec.offers("fills masks") else "Text"
    text = text_box(
        state,
        "asked",
        label,
        spec.family.asked,
        key=f"lens.text.{spec.kind}",
        max_chars=600,
        help="The same text is asked in the section Switch off",
    )
    task = state.text("task") or None
    if spec.offers("answers tasks") and task is None:
        task = tasks(session.checkpoint(spec.slug))[0].slug
    text = text_part(spec, state, text, task=task or "", segment=True, name="asked-window", answered=True)
    with st.spinner("Reading every layer"):
        found = session.trajectory(spec.slug, text, task)
    read = f"the state of each layer at {_where(found)}"
    if spec.offers("answers tasks"):
        read = "the mean state of all tokens after each layer: the head of this task, with its adapters in the layers"
    names = figures.layer_names(len(found.predictions))
    st.markdown(
        f"{_question(spec, task)} After the last layer: **“{plain(found.answer)}”**, "
        f"{percent(found.probabilities[-1])}. {plain_terms(figures.path_words(found, names))} The model’s own head "
        f"reads {plain(read)}."
    )
    left, right = st.columns([1.5, 1], gap="medium")
    with left:
        chart(
            figures.answers(found, accent(spec.branch), theme=theme()),
            key=state.key(f"lens.answers.{spec.slug}"),
            alt="The most probable answers after each layer with their probabilities; the table below has them.",
        )
        answers = state.key(f"lens.answers.{spec.slug}")
        chart_menu(
            answers,
            f"{spec.slug}-layer-answers",
            title=f"{spec.name}: what each layer would already answer",
            alt=f"Read: {read}, for “{text}”.",
            table=lambda: _answers(found, names),
        )
    with right:
        st.markdown(f"**How “{plain(found.answer)}” comes up**")
        chart(
            figures.path(found, accent(spec.branch), theme=theme()),
            key=state.key(f"lens.path.{spec.slug}"),
            alt=f"Probability and place of “{found.answer}” over the layers. {figures.path_words(found, names)}",
        )
        path = state.key(f"lens.path.{spec.slug}")
        chart_menu(
            path,
            f"{spec.slug}-layer-path",
            title=f"{spec.name}: how “{found.answer}” comes up",
            alt=f"Read: {read}, for “{text}”.",
            table=lambda: Table(
                ("after", "probability", "its place"),
                tuple(zip(names, map(float, found.probabilities), map(int, found.ranks), strict=True)),
            ),
        )
    told(
        "**Try** another task: each has its own adapters, and its own way to the answer."
        if spec.offers("answers tasks")
        else "**Try** a text whose answer is plain from the word before, then one that hangs on a word far away."
    )
    told(
        "**Notice** when the framed answer comes up, and what stood first before it. The head was trained for the last "
        "layer alone: an early answer is a reading of ours, not something that the model says, and layers that write "
        "in another way read as noise."
    )
    with st.expander("As a table"):
        text_table(_table(found, names))
    noted("The logit lens: nostalgebraist 2020; what it misreads: Belrose et al. 2023, arXiv 2303.08112.")


def _question(spec: CheckpointSpec, task: str | None) -> str:
    return question_of(spec, task) if spec.offers("answers tasks") else f"{spec.family.asks}?"


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
    return Table(("after", "place", "answer", "probability"), tuple(rows))


def _table(found: LensTrajectory, names: list[str]) -> TextTable:
    rows = [
        (
            name,
            ", ".join(f"{token} {percent(p)}" for token, p in zip(guess.tokens, guess.probabilities, strict=True)),
            percent(chance),
            f"{rank:,} of {found.answers:,}",
        )
        for name, guess, chance, rank in zip(names, found.predictions, found.probabilities, found.ranks, strict=True)
    ]
    return TextTable(
        ("After", "Best answers", "Final answer", "Its place"), rows, "Answers after each layer", (16, 48, 16, 20)
    )
