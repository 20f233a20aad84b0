"""Predict first: ten questions that the visitor answers before a live model does, and the score of both."""

from __future__ import annotations

from functools import partial
from typing import cast

import streamlit as st

from core import checkpoints, session
from core.language.rounds import LENGTH, MODELS, Answer, Kind, Question, draw
from core.links import parameters as link
from core.ui.focus import focus
from core.ui.links import PageState
from core.ui.notices import sentences
from core.ui.objectives.objective import MODEL
from core.ui.objectives.round_question import Row, ask, finish, reveal, scoreboard
from core.ui.page import plain
from core.ui.param import Carried, Choice
from core.ui.section import Section, View

Given = dict[int, str | int | None]
"""What was answered, by the question's number from 0; None where the visitor gave up."""
_SLOT = "objectives.rounds.given"
"""Named after the page, so that its Reset forgets it."""
_MOST = 60
_SEEDS = 2**31


KIND = Choice(
    name="kind",
    label="Guess",
    options={
        "masked": "The hidden word",
        "next": "The next word",
        "replaced": "The replaced word",
        "order": "Which came first",
    },
    width=220,
    resets=("question",),
)
ROUND = Carried(name="round", label="Round", as_=link.Integer(0, 0, _SEEDS - 1))
QUESTION = Carried(name="question", label="Question", as_=link.Integer(1, 1, LENGTH))


def rounds(view: View) -> None:
    """Draw the section."""
    state, names = view.state, {spec.slug: spec.name for spec in checkpoints.available()}
    view.say("Introduction")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        kind = cast(Kind, KIND.draw(state))
        slug = _model(kind, names, state)
        seed = _round(kind, state)
    if state.memory.setdefault("rounds.kind", kind) != kind:
        state.memory["rounds.kind"] = kind
        _count()
    questions, given = draw(kind, seed), _given(kind, seed)
    number = _number(kind, state)
    state.set(round=seed or None, question=number + 1)
    name = names.get(slug, slug)
    box = state.key(f"rounds.{kind}.{seed}.{number}")
    with sentences():
        rows = [
            Row(question, given[at], _asked(slug, question)) if at in given else Row(question)
            for at, question in enumerate(questions)
        ]
        scoreboard(rows, name, seed, number)
        walk = partial(_walk, kind, state, number, given, seed)
        if (row := rows[number]).answer is None:
            prompt = view.words.part(f"Prompt: {kind}")
            ask(row.question, f"{number + 1}. {prompt}", box, partial(_take, given, number))
            walk()
        else:
            reveal(row, name, slug, state, walk)
            box = state.key("rounds.again" if len(given) == LENGTH else "rounds.next")
        if len(given) == LENGTH:
            finish(rows, name, kind, seed, state)
        view.try_and_notice(kind)
        other = f" {view.words.part('No model')}" if kind == "order" else ""
        st.caption(plain(f"{name}: {view.words.part(f'Model: {slug}')}{other} {view.words.part('Source')}"))
        with st.expander("How the model answers"):
            view.say(f"How it works: {kind}")
            view.note(f"Paper: {kind}")
    focus(box, int(st.session_state.get("rounds.turn", 0)), state.key("rounds.focus"))


def _model(kind: Kind, names: dict[str, str], state: PageState) -> str:
    """Who plays against the visitor; a menu where there are several."""
    here = {slug: names[slug] for slug in MODELS[kind] if slug in names} or {slug: slug for slug in MODELS[kind]}
    if len(here) < 2:
        state.set(model=None)
        return next(iter(here))
    return MODEL.with_(label="Against", options=here, default="", width=220).draw(state, tag=kind)


def _round(kind: Kind, state: PageState) -> int:
    slot = state.key("rounds.round")
    st.session_state.setdefault(slot, state.number("round"))
    seed = int(st.session_state[slot])

    st.button(
        "New round", key=state.key("rounds.new"), on_click=_new, args=(kind, state, seed), help="Ten other questions"
    )
    return seed


def _new(kind: Kind, state: PageState, seed: int) -> None:
    st.session_state[state.key("rounds.round")] = (seed + 1) % _SEEDS
    _to(kind, state, 0)


def _number(kind: Kind, state: PageState) -> int:
    """The question that is looked at, from 0."""
    slot = state.key(f"rounds.question.{kind}")
    return int(st.session_state.setdefault(slot, state.number("question", 1) - 1)) % LENGTH


def _to(kind: Kind, state: PageState, number: int) -> None:
    st.session_state[state.key(f"rounds.question.{kind}")] = number
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


def _walk(kind: Kind, state: PageState, number: int, given: Given, seed: int) -> None:
    """To the next question that is open, to the one before, and from any of a finished round to another round."""
    around = (at % LENGTH for at in range(number + 1, number + LENGTH))
    ahead = next((at for at in around if at not in given), None)
    over = len(given) == LENGTH
    if over and number + 1 < LENGTH:
        ahead = number + 1
    with st.container(horizontal=True):
        if over:
            st.button(
                "Another round", key=state.key("rounds.again"), type="primary", on_click=_new, args=(kind, state, seed)
            )
        if ahead is not None:
            st.button(
                "Next question",
                key=state.key("rounds.next"),
                type="primary" if number in given and not over else "secondary",
                on_click=_to,
                args=(kind, state, ahead),
            )
        st.button(
            "Question before",
            key=state.key("rounds.back"),
            disabled=number == 0,
            on_click=_to,
            args=(kind, state, number - 1),
        )


@session.cached("Asking the model")
def _asked(slug: str, question: Question) -> Answer:
    from core.language.rounds import answer

    return answer(session.checkpoint(slug), question)


ROUNDS = Section("rounds", rounds, (KIND, ROUND, QUESTION))
