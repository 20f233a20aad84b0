"""The logit lens: the prediction from each layer's state through the model's own head."""

from __future__ import annotations

import streamlit as st

from core import session
from core.attention.inside.lens import LensTrajectory, trajectory
from core.attention.tokens import short
from core.content import content
from core.figures import predictions as figures
from core.figures.labels import percent
from core.table import Table
from core.ui.glossary import plain_terms
from core.ui.heads.text import TASK, draw_task
from core.ui.interventions.setup import INPUT, INPUT_SPAN, draw_input, draw_model, input_span, question_of
from core.ui.page import accent, plain, theme
from core.ui.panel import Panel
from core.ui.section import Section, View


def logit_lens(view: View) -> None:
    state, spec = view.state, draw_model(view)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        task = draw_task(spec, state)
        text = draw_input(spec, state, "Text with a [MASK]" if spec.family.sentence == "any" else "Text")
    text = input_span(spec, state, text, task)
    adapted = spec.offers("classifies texts")
    lens = session.computed("reading-every-layer", trajectory, spec.slug, text, task)
    read = view.words.part("Mean state") if adapted else _where(lens)
    names = figures.layer_names(len(lens.predictions))
    question = question_of(spec, task)
    st.markdown(
        f"{question}{'' if adapted else ':'} **“{plain(lens.answer)}”** {view.words.part('Last')}, "
        f"{percent(lens.probabilities[-1])}. {plain_terms(figures.path_words(lens, names))} "
        f"{view.words.part('Input of the head')} {plain(read)}."
    )
    left, right = st.columns([1.5, 1], gap="medium")
    with left:
        Panel(
            f"{spec.slug}-layer-answers",
            f"{spec.name}: predictions after each layer",
            figures.answers(lens, accent(spec.branch), theme=theme()),
            f"{view.words.part('Alt: predictions')} {read}.",
            _answers(lens, names),
        ).draw(state)
    with right:
        st.subheader(f"Probability and rank of “{plain(lens.answer)}”", anchor=False)
        Panel(
            f"{spec.slug}-layer-path",
            f"{spec.name}: probability and rank of “{lens.answer}” after each layer",
            figures.path(lens, accent(spec.branch), theme=theme()),
            f"“{lens.answer}”. {figures.path_words(lens, names)}",
            Table.from_columns({"after": names, "probability": lens.probabilities, "rank": lens.ranks}),
        ).draw(state)
    view.try_and_notice("tasks" if adapted else "")
    view.note("Source")


def _where(lens: LensTrajectory) -> str:
    """The token whose hidden state is the input of the model's head, and the tokens before it."""
    shown = " ".join(short(token, 20) for token in lens.tokens[max(0, lens.position - 2) : lens.position + 1])
    return f"{content('interventions', 'lens').part('State', position=lens.position + 1)} “{shown}”"


def _answers(lens: LensTrajectory, names: list[str]) -> Table:
    rows = (
        (name, rank, token, float(probability))
        for name, guess in zip(names, lens.predictions, strict=True)
        for rank, (token, probability) in enumerate(zip(guess.tokens, guess.probabilities, strict=True), start=1)
    )
    return Table(("after", "rank", "answer", "probability"), tuple(rows))


LENS = Section("lens", logit_lens, (INPUT, INPUT_SPAN, TASK))
