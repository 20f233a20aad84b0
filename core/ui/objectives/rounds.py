"""Predict first: ten questions for the visitor, then for a live model, and the score of both.

The page reveals no answer before the visitor has given one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import cast

import streamlit as st

from core import checkpoints, session
from core.content import content
from core.figures.labels import percent
from core.figures.predictions import bars_alt, prediction_bars, verdict_alt, verdict_bars
from core.language.guesses import MAX_CHARS, among, plain_word
from core.language.rounds import (
    GAP,
    LENGTH,
    MODELS,
    Answer,
    Kind,
    Question,
    Response,
    Turn,
    draw,
    opening,
    scores,
    spans,
)
from core.language.rounds import answer as answer_of
from core.links import parameters as link
from core.table import Table
from core.ui.chips import token_chips
from core.ui.component import Component, Message
from core.ui.export import download_csv
from core.ui.glossary import sentences
from core.ui.links import PageState
from core.ui.objectives.objective import MODEL
from core.ui.page import accent, css, plain, theme
from core.ui.panel import chart
from core.ui.param import Carried, Choice
from core.ui.section import Section, View
from core.ui.tables import TextTable, text_table

FOCUS: Component[Message] = Component("focus")


def focus(on: str, turn: int, key: str) -> None:
    """Give the widget with key ``on`` the focus, once for each new ``turn``; 0 leaves the focus where it is."""
    FOCUS.draw(key, {"place": f"st-key-{re.sub('[^A-Za-z0-9_-]', '-', on)}", "turn": turn})


_SLOT = "objectives.rounds.given"
"""Named after the page, so that Reset deletes it."""
_MOST = 60
_SEEDS = 2**31
BRANCHES = {"masked": "encoder", "next": "decoder", "replaced": "encoder", "order": "decoder"}
_TEXT = "font-size:1.3rem;line-height:1.6;margin:.2rem 0 .3rem;overflow-wrap:anywhere"
_GAP = '<span role="img" aria-label="masked word" style="border-bottom:3px solid {0};padding:0 1.6em">&nbsp;</span>'
LETTERS = "AB"
_CELLS = {
    None: '<td aria-label="not yet answered">·</td>',
    True: '<td aria-label="right">✓</td>',
    False: '<td aria-label="wrong" style="opacity:.75">✗</td>',
}
_MARKS = {True: "✓", False: "✗"}
_TABLE = css("rounds")
KIND = Choice(
    name="kind",
    label="Guess",
    options={
        "masked": "The masked word",
        "next": "The next word",
        "replaced": "The replaced word",
        "order": "Which came first",
    },
    width=220,
    resets=("question",),
)
ROUND = Carried(name="round", label="Round", as_=link.Integer(0, 0, _SEEDS - 1))
QUESTION = Carried(name="question", label="Question", as_=link.Integer(1, 1, LENGTH))


@dataclass(frozen=True, slots=True)
class Round:
    """The round on the page. Its methods are callbacks of buttons."""

    state: PageState
    kind: Kind
    seed: int
    number: int
    """The question shown, from 0."""
    given: dict[int, Response]
    """The visitor's answers by number; they survive reruns, links and Back, until Reset."""

    @property
    def over(self) -> bool:
        """Whether every question is answered."""
        return len(self.given) == LENGTH

    def take(self, answer: Response) -> None:
        """Store an answer; None if the visitor gives up."""
        self.given[self.number] = answer
        _count()

    def show(self, number: int) -> None:
        st.session_state[self.state.key(f"rounds.question.{self.kind}")] = number
        _count()

    def renew(self) -> None:
        """Begin the next round."""
        st.session_state[self.state.key("rounds.round")] = (self.seed + 1) % _SEEDS
        self.show(0)

    def draw_buttons(self) -> None:
        """Draw the buttons: next open question, previous question, and another round after a finished one."""
        around = (at % LENGTH for at in range(self.number + 1, self.number + LENGTH))
        ahead = next((at for at in around if at not in self.given), None)
        if self.over and self.number + 1 < LENGTH:
            ahead = self.number + 1
        key = self.state.key
        with st.container(horizontal=True):
            if self.over:
                st.button("Another round", key=key("rounds.again"), type="primary", on_click=self.renew)
            if ahead is not None:
                primary = self.number in self.given and not self.over
                st.button(
                    "Next question",
                    key=key("rounds.next"),
                    type="primary" if primary else "secondary",
                    on_click=self.show,
                    args=(ahead,),
                )
            if self.number:
                st.button("Previous question", key=key("rounds.back"), on_click=self.show, args=(self.number - 1,))
            if self.given and not self.over:
                tip = content("objectives", "rounds").label("new")
                st.button("New round", key=key("rounds.new"), on_click=self.renew, help=tip)


def rounds(view: View) -> None:
    state, names = view.state, {spec.slug: spec.name for spec in checkpoints.available()}
    view.say("Introduction")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        kind = cast(Kind, KIND.draw(state))
        slug = _model(kind, names, state)
        name = names.get(slug, slug)
        if state.memory.setdefault("rounds.kind", kind) != kind:
            state.memory["rounds.kind"] = kind
            _count()
        current = _round(kind, state)
    number = current.number
    state.set(round=current.seed or None, question=number + 1)
    box = state.key(f"rounds.{kind}.{current.seed}.{number}")
    with sentences():
        turns = [
            Turn(question, current.given[at], session.computed("running-the-model", answer_of, slug, question))
            if at in current.given
            else Turn(question)
            for at, question in enumerate(draw(kind, current.seed))
        ]
        scoreboard(turns, name, current)
        if turns[number].answer is None:
            st.markdown(f"**{number + 1}. {view.words.part(f'Prompt: {kind}')}**")
            _ask(view, turns[number].question, box, current)
            current.draw_buttons()
        else:
            _reveal(view, turns[number], name, slug, current)
            box = state.key("rounds.again" if current.over else "rounds.next")
        if current.over:
            _finish(view, turns, name, current)
        view.try_and_notice(kind)
        other = f" {view.words.part('No model')}" if kind == "order" else ""
        st.caption(plain(f"{name}: {view.words.part(f'Model: {slug}')}{other} {view.words.part('Source')}"))
        view.how_it_works(f"How it works: {kind}", notes=[f"Paper: {kind}"])
    focus(box, int(st.session_state.get("rounds.turn", 0)), state.key("rounds.focus"))


def _model(kind: Kind, names: dict[str, str], state: PageState) -> str:
    """The model that plays against the visitor, from a menu if there are several."""
    here = {slug: names[slug] for slug in MODELS[kind] if slug in names} or {slug: slug for slug in MODELS[kind]}
    if len(here) < 2:
        state.set(model=None)
        return next(iter(here))
    return MODEL.with_(label="Against", options=here, default="", width=220).draw(state, tag=kind)


def _round(kind: Kind, state: PageState) -> Round:
    memory = st.session_state
    seed = int(memory.setdefault(state.key("rounds.round"), state.number("round")))
    number = int(memory.setdefault(state.key(f"rounds.question.{kind}"), state.number("question", 1) - 1)) % LENGTH
    stored: dict[tuple[str, int], dict[int, Response]] = memory.setdefault(_SLOT, {})
    stored[kind, seed] = given = stored.pop((kind, seed), {})  # the latest is last
    while len(stored) > _MOST:
        stored.pop(next(iter(stored)))
    return Round(state, kind, seed, number, given)


def _count() -> None:
    st.session_state["rounds.turn"] = int(st.session_state.get("rounds.turn", 0)) + 1


def _ask(view: View, question: Question, key: str, current: Round) -> None:
    color = accent(BRANCHES[question.kind])
    if question.kind == "order":
        with st.container(key=key):
            for number, (column, text) in enumerate(zip(st.columns(2, gap="large"), question.choices, strict=True)):
                with column.container(border=True):
                    st.html(f'<p style="{_TEXT}">{escape(text)}</p>')
                    label = f"{LETTERS[number]} came first"
                    st.button(label, key=f"{key}.{number}", on_click=current.take, args=(number,))
    elif question.choices:
        label = view.words.label("words")
        picked = token_chips(question.choices, key=key, accent=color, label=label, clearable=False)
        if picked:
            current.take(picked[0])
            st.rerun()
    else:
        gap, text = _GAP.format(color), escape(question.text)
        text = text.replace(GAP, gap) if question.kind == "masked" else f"{text} {gap}"
        st.html(f'<p style="{_TEXT}">{text}</p>')
        _ask_word(view, key, current)
        return
    _give_up(key, current)


def _give_up(key: str, current: Round) -> None:
    st.button(
        "Show",
        key=f"{key}.show",
        on_click=current.take,
        args=(None,),
        help=content("objectives", "rounds").label("show"),
    )


def _ask_word(view: View, key: str, current: Round) -> None:
    slot = f"{key}.unread"

    def send() -> None:
        typed = str(st.session_state.get(key) or "")
        st.session_state[slot] = not plain_word(typed)
        if plain_word(typed):
            current.take(typed)

    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.text_input(
            "Your guess, then Enter", key=key, persist_state="page", max_chars=MAX_CHARS, on_change=send, width=260
        )
        _give_up(key, current)
    if st.session_state.get(slot):
        view.note("No word")


def _reveal(view: View, turn: Turn, name: str, slug: str, current: Round) -> None:
    """Draw the correct answer, the visitor's, and the model's with its probabilities."""
    question, answer = turn.question, turn.answer
    assert answer is not None
    st.html(f'<p style="{_TEXT}">{_solved(question, accent(BRANCHES[question.kind]))}</p>')
    left, right = st.columns([2, 3], gap="large")
    with left:
        st.markdown(f"{_MARKS[turn.right]} **You:** {plain(question.in_words(turn.response))}")
        st.markdown(f"{_MARKS[answer.right]} **{plain(name)}:** {plain(_model_answer(question, answer))}")
        st.markdown(f"**Original:** {plain(question.solution)}")
        current.draw_buttons()
    with right:
        _bars(view, question, answer, name, slug)


def _model_answer(question: Question, answer: Answer) -> str:
    """The model's answer in words, with its probability."""
    word = opening(answer.text) if question.kind == "order" else answer.text.strip()
    return f"{word}, {percent(answer.probabilities[answer.choice])}"


def _solved(question: Question, color: str) -> str:
    def line(text: str) -> str:
        return f'<strong style="border-bottom:3px solid {color}">{escape(text)}</strong>'

    text = question.text
    match question.kind:
        case "masked":
            return escape(text).replace(GAP, line(question.answers[0]))
        case "next":
            return f"{escape(text)} {line(question.answers[0])}"
        case "replaced":
            start, end = spans(text)[question.correct or 0]
            original = f'{line(question.answers[0])} <s style="opacity:.65">{escape(text[start:end])}</s>'
            return f"{escape(text[:start])}{original}{escape(text[end:])}"
    first, second = question.choices if question.correct == 0 else question.choices[::-1]
    return f"{line(first)} {escape(second)}"


def _bars(view: View, question: Question, answer: Answer, name: str, slug: str) -> None:
    """Draw the model's probabilities, with the correct answer marked."""
    color, labels, chances = accent(BRANCHES[question.kind]), answer.labels, answer.probabilities
    if question.kind == "replaced":
        correct = [question.correct or 0]
        card = checkpoints.get(slug).card
        threshold = float(card.extra.get("threshold", 0.5)) if card else 0.5
        figure = verdict_bars(labels, chances, correct, color, threshold=threshold, theme=theme())
        alt = verdict_alt(labels, chances, correct)
    else:
        ordered = question.kind == "order"
        names = [opening(text) if ordered else text.strip() or text for text in labels]
        chosen = question.correct if ordered else among(question.answers[0], names)
        figure = prediction_bars(names, chances, color, chosen=chosen, scale=1.0 if ordered else None, theme=theme())
        alt = bars_alt(names, chances, f"Answers of {name}")
    part = f"Bars: {question.kind}"
    st.caption(view.words.part(part if view.words.has(part) else "Bars", name=plain(name)))
    chart(figure, alt=alt, key=view.state.key("rounds.bars"), config={"displayModeBar": False})


def scoreboard(turns: Sequence[Turn], name: str, current: Round) -> None:
    """Draw a row of marks for the visitor and one for the model."""
    done, you, model = scores(turns)
    numbers = "".join(f"<td{' class=at' if i == current.number else ''}>{i + 1}</td>" for i in range(len(turns)))
    your_marks = "".join(_CELLS[turn.right if turn.answer else None] for turn in turns)
    model_marks = "".join(_CELLS[turn.answer.right if turn.answer else None] for turn in turns)
    st.html(
        f"{_TABLE}<table class=rs><caption style='position:absolute;clip-path:inset(50%)'>You {you} and "
        f"{escape(name)} {model} of {done} answered</caption>"
        f"<thead><tr><td class=r>Round {current.seed + 1}</td>{numbers}<td class=n></td></tr></thead>"
        f"<tr><th>You</th>{your_marks}<td class=n>{you} of {done}</td></tr>"
        f"<tr><th>{escape(name)}</th>{model_marks}<td class=n>{model} of {done}</td></tr></table>"
    )


def _finish(view: View, turns: Sequence[Turn], name: str, current: Round) -> None:
    """Draw the result of a round: the score, every question, and a download."""
    _, you, model = scores(turns)
    verdict = view.words.part(f"Score: {'you' if you > model else 'model' if model > you else 'tie'}")
    st.markdown(f"##### You {you} of {LENGTH}, {plain(name)} {model} of {LENGTH}. {verdict}")
    records, rows = [], []
    for number, turn in enumerate(turns, 1):
        question, answer = turn.question, cast(Answer, turn.answer)
        text, answers = question.text, (question.in_words(turn.response), _model_answer(question, answer))
        if question.kind == "order":
            text = " ".join(f"{letter}: {part}" for letter, part in zip(LETTERS, question.choices, strict=True))
        marks = (f"{_MARKS[turn.right]} {answers[0]}", f"{_MARKS[answer.right]} {answers[1]}")
        rows.append((str(number), text, question.solution, *marks))
        records.append(
            {
                "number": number,
                "question": text,
                "written": question.solution,
                "you": answers[0],
                "you right": turn.right,
                "model": answers[1],
                "model right": answer.right,
                "its probability": percent(answer.probabilities[answer.choice]),
            }
        )
    text_table(
        TextTable(("", "Question", "Original", "You", name), rows, view.words.label("score"), (5, 41, 20, 16, 18))
    )
    download_csv(Table.from_records(records), f"round-{current.kind}-{current.seed}", current.state.key("rounds.csv"))


ROUNDS = Section("rounds", rounds, (KIND, ROUND, QUESTION))
