"""One question: its case, its measure, the picture, what to try and to notice, and the same figures as a table."""

from __future__ import annotations

import streamlit as st

from core.catalogue.questions import Case, Question, choices, first, questions, rows
from core.catalogue.results import Measure, Result, differences
from core.ui.glossary import plain_terms
from core.ui.links import PageState
from core.ui.notices import warned
from core.ui.page import base_path
from core.ui.results.frame import ResultsView
from core.ui.results.pictures import draw
from core.ui.results.rows import result_table, sentence_with_link, sources_page


def question_panel(view: ResultsView) -> None:
    """Draw the chosen question; reads and writes question, case and measure."""
    state = view.state
    left, right = st.columns((3, 8), gap="small")
    with left:
        question = _question(state)
    with right:
        former, latter = st.columns(2, gap="small") if len(question.cases) > 1 else (right, right)
        with former:
            case = _case(question, state)
        with latter:
            measure = _measure(case, state)
    found = rows(case, measure)
    draw(case, measure, found, state.key(f"{question.slug}.{case.slug}.{measure.slug}"))
    st.caption(plain_terms(" ".join(filter(None, (*differences(found), case.caveat)))))
    st.markdown(f"**Try** {plain_terms(question.attempt)}\n\n**Notice** that {plain_terms(question.notice)}")
    if case.here:
        lead = "<strong>Measured here</strong>, on small models, and so never in the picture above: "
        sentence_with_link(lead, case.here, base_path() + case.link, ".")
    st.subheader("The same figures, and where they were read", anchor=False)
    result_table(_ordered(found, measure), caption=measure.title)
    if any(row.disagrees for row in found):
        sentence_with_link("Where texts print different figures, ", "Sources", sources_page(), " says which and why.")


def _question(state: PageState) -> Question:
    known = {question.slug: question for question in questions()}
    current = state.text("question", next(iter(known)))
    chosen = st.selectbox(
        "Question",
        list(known),
        index=list(known).index(current),
        format_func=lambda slug: known[slug].title,
        key=state.key("question"),
    )
    if chosen != current:
        state.set(case=None, measure=None)
    state.set(question=None if chosen == next(iter(known)) else chosen)
    return known[chosen]


def _case(question: Question, state: PageState) -> Case:
    slugs = [case.slug for case in question.cases]
    wanted = state.text("case", slugs[0])
    if wanted not in slugs:
        _missing(f"This question has no case “{wanted[:40]}”. Its first is shown.")
    case = question.case(wanted)
    if len(slugs) > 1:
        chosen = st.selectbox(
            "Paper",
            slugs,
            index=slugs.index(case.slug),
            format_func=lambda slug: question.case(slug).title,
            key=state.key(f"case.{question.slug}"),
        )
        if chosen != case.slug:
            state.set(measure=None)
        case = question.case(chosen)
    state.set(case=None if case.slug == slugs[0] else case.slug)
    return case


def _measure(case: Case, state: PageState) -> Measure:
    offered = {measure.slug: measure for measure in choices(case)}
    usual = first(case)
    wanted = state.text("measure", usual.slug)
    if wanted not in offered:
        _missing(f"This table has no measure “{wanted[:60]}”. Its usual one is shown.")
        wanted = usual.slug
    chosen = st.selectbox(
        "Measured on",
        list(offered),
        index=list(offered).index(wanted),
        format_func=lambda slug: offered[slug].title,
        key=state.key(f"measure.{case.slug}.{case.tables[:1]}"),
    )
    state.set(measure=None if chosen == usual.slug else chosen)
    return offered[chosen]


def _missing(sentence: str) -> None:
    warned(sentence, icon=":material/link_off:")


def _ordered(found: tuple[Result, ...], measure: Measure) -> list[Result]:
    """The rows of a few tables as they stand; those of many papers from the best to the worst."""
    if len({row.table for row in found}) <= 2:
        return list(found)
    return sorted(found, key=lambda row: row.value, reverse=measure.higher)
