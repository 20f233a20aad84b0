"""Predict first: ten questions that the visitor answers before a live model does, and the score of both."""

from __future__ import annotations

from functools import partial

import streamlit as st

from core import checkpoints, session
from core.language.rounds import KINDS, LENGTH, MODELS, Answer, Kind, Question, draw
from core.ui.focus import focus
from core.ui.glossary import told
from core.ui.links import PageState
from core.ui.objectives import round_texts as texts
from core.ui.objectives.round_question import ask, reveal
from core.ui.objectives.round_score import Row, finish, scoreboard
from core.ui.page import sentences

Given = dict[int, str | int | None]
"""What was answered, by the question's number from 0; None where the visitor gave up."""
_SLOT = "objectives.rounds.given"
"""Named after the page, so that its Reset forgets it."""
_MOST = 60
_SEEDS = 2**31


def rounds(state: PageState) -> None:
    """Draw the section; reads and writes kind, round, question and model."""
    names = {spec.slug: spec.name for spec in checkpoints.available()}
    told(texts.LEAD)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        kind = _kind(state)
        slug = _model(kind, names, state)
        seed = _round(state)
    questions, given = draw(kind, seed), _given(kind, seed)
    number = _number(state)
    state.set(kind=kind, round=seed or None, question=number + 1)
    name = names.get(slug, slug)
    box = state.key(f"rounds.{kind}.{seed}.{number}")
    last = number + 1 == LENGTH and len(given) == LENGTH
    with sentences():
        rows = [
            Row(question, given[at], _asked(slug, question)) if at in given else Row(question)
            for at, question in enumerate(questions)
        ]
        scoreboard(rows, name, seed, number)
        if (row := rows[number]).answer is None:
            ask(row.question, number, box, partial(_take, given, number))
            _walk(state, number, given, seed)
        else:
            reveal(row.question, row.given, row.answer, name, slug, state, lambda: _walk(state, number, given, seed))
            box = state.key("rounds.again" if last else "rounds.next")
        if len(given) == LENGTH:
            finish(rows, name, kind, seed, state)
        texts.below(kind, slug, name)
    focus(box, int(st.session_state.get("rounds.turn", 0)), state.key("rounds.focus"))


def _kind(state: PageState) -> Kind:
    chosen = st.selectbox(
        "Guess",
        KINDS,
        index=KINDS.index(state.text("kind", "masked")),  # type: ignore[arg-type]
        format_func=texts.NAMES.__getitem__,
        key=state.key("rounds.kind"),
        on_change=_to,
        args=(state, 0),
        width=220,
    )
    return chosen


def _model(kind: Kind, names: dict[str, str], state: PageState) -> str:
    """Who plays against the visitor; a menu where there are several."""
    slugs = [slug for slug in MODELS[kind] if slug in names] or list(MODELS[kind])
    if len(slugs) < 2:
        state.set(model=None)
        return slugs[0]
    wanted = state.text("model", slugs[0])
    slug = st.selectbox(
        "Against",
        slugs,
        index=slugs.index(wanted) if wanted in slugs else 0,
        format_func=lambda s: names.get(s, s),
        key=state.key(f"rounds.model.{kind}"),
        width=220,
    )
    state.set(model=None if slug == slugs[0] else slug)
    return str(slug)


def _round(state: PageState) -> int:
    slot = state.key("rounds.round")
    st.session_state.setdefault(slot, state.number("round"))
    seed = int(st.session_state[slot])

    st.button("New round", key=state.key("rounds.new"), on_click=_new, args=(state, seed), help="Ten other questions")
    return seed


def _new(state: PageState, seed: int) -> None:
    st.session_state[state.key("rounds.round")] = (seed + 1) % _SEEDS
    _to(state, 0)


def _number(state: PageState) -> int:
    """The question that is looked at, from 0."""
    slot = state.key("rounds.question")
    return int(st.session_state.setdefault(slot, state.number("question", 1) - 1)) % LENGTH


def _to(state: PageState, number: int) -> None:
    st.session_state[state.key("rounds.question")] = number
    _count()


def _count() -> None:
    st.session_state["rounds.turn"] = int(st.session_state.get("rounds.turn", 0)) + 1


def _given(kind: Kind, seed: int) -> Given:
    """This browser's answers to a round; they outlive reruns, links and Back, and end with Reset."""
    rounds: dict[tuple[str, int], Given] = st.session_state.setdefault(_SLOT, {})
    found = rounds.pop((kind, seed), {})
    rounds[kind, seed] = found  # the last one looked at stands last
    while len(rounds) > _MOST:
        rounds.pop(next(iter(rounds)))
    return found


def _take(given: Given, number: int, answer: str | int | None) -> None:
    given[number] = answer
    _count()


def _walk(state: PageState, number: int, given: Given, seed: int) -> None:
    """To the next question that is open, to the one before, and at the end to another round."""
    ahead = next((at % LENGTH for at in range(number + 1, number + LENGTH) if at % LENGTH not in given), number + 1)
    with st.container(horizontal=True):
        if ahead < LENGTH:
            st.button(
                "Next question",
                key=state.key("rounds.next"),
                type="primary" if number in given else "secondary",
                on_click=_to,
                args=(state, ahead),
            )
        else:
            st.button("Another round", key=state.key("rounds.again"), type="primary", on_click=_new, args=(state, seed))
        st.button(
            "Question before",
            key=state.key("rounds.back"),
            disabled=number == 0,
            on_click=_to,
            args=(state, number - 1),
        )


@st.cache_data(max_entries=512, ttl=3600.0, show_spinner="Asking the model", hash_funcs={Question: repr})
def _asked(slug: str, question: Question) -> Answer:
    from core.language.rounds import answer

    return answer(session.checkpoint(slug), question)
