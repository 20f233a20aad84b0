"""Predict first: ten questions that the visitor answers before a live model does, and the score of both.

Nothing in the page tells an answer before the visitor has answered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from typing import cast

import streamlit as st

from core import checkpoints, session
from core.figures.predictions import bars_alt, guess_bars, percent, verdict_alt, verdict_bars
from core.language.guesses import MAX_CHARS, among, plain_word
from core.language.rounds import GAP, LENGTH, MODELS, Answer, Kind, Question, draw, spans
from core.links import parameters as link
from core.table import Table
from core.ui.chart import chart
from core.ui.chips import token_chips
from core.ui.export import download_csv
from core.ui.focus import focus
from core.ui.links import PageState
from core.ui.notices import sentences
from core.ui.objectives.objective import MODEL
from core.ui.page import accent, plain, theme
from core.ui.param import Carried, Choice
from core.ui.section import Section, View
from core.ui.text_table import TextTable, text_table

Given = dict[int, str | int | None]
"""What was answered, by the question's number from 0; None where the visitor gave up."""
_SLOT = "objectives.rounds.given"
"""Named after the page, so that its Reset forgets it."""
_MOST = 60
_SEEDS = 2**31


Take = Callable[[str | int | None], None]
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
_TABLE = """<style>
.rs{border-collapse:collapse;font-variant-numeric:tabular-nums;margin:.2rem 0}
.rs th{font-weight:600;text-align:start;padding:.1rem .8rem .1rem 0;white-space:nowrap;max-width:9rem;overflow:hidden;
  text-overflow:ellipsis}
.rs td{width:1.6rem;height:1.6rem;text-align:center;border:1px solid color-mix(in srgb,currentColor 22%,transparent)}
.rs thead td{border:0;font-size:.8rem;opacity:.75}
.rs thead td.at{opacity:1;font-weight:700;border-bottom:3px solid currentColor}
.rs thead td.r{width:auto;text-align:start;padding-inline-end:.8rem}
.rs td.n{border:0;width:auto;padding-inline-start:.7rem;white-space:nowrap}
@media (max-width:640px){.rs td{width:1.25rem}.rs th{padding-inline-end:.4rem;max-width:5.4rem;font-size:.85rem;
  white-space:normal;line-height:1.15}
  .rs td.n{padding-inline-start:.35rem;font-size:.85rem}}
</style>"""
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
class Row:
    """One question; ``answer`` is None, and nothing of it is known to the page, until the visitor has answered."""

    question: Question
    given: str | int | None = None
    answer: Answer | None = None

    @property
    def right(self) -> bool:
        """Whether the visitor is right."""
        return self.answer is not None and self.question.right(self.given)


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
            reveal(view, row, name, slug, walk)
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
            "Previous question",
            key=state.key("rounds.back"),
            disabled=number == 0,
            on_click=_to,
            args=(kind, state, number - 1),
        )


@session.cached("Running the model")
def _asked(slug: str, question: Question) -> Answer:
    from core.language.rounds import answer

    return answer(session.checkpoint(slug), question)


def ask(question: Question, prompt: str, key: str, take: Take) -> None:
    """Draw the question with its way to answer; ``take`` gets the answer, None where the visitor gives up."""
    st.markdown(f"**{prompt}**")
    color = accent(BRANCHES[question.kind])
    if question.kind == "order":
        _two(question, key, take)
    elif question.choices:
        picked = token_chips(
            question.choices,
            key=key,
            accent=color,
            label="Words of the sentence; choose the one that was replaced",
            clearable=False,
        )
        if picked:
            take(picked[0])
            st.rerun()
    else:
        shown = escape(question.text)
        gap = _GAP.format(color)
        shown = shown.replace(GAP, gap) if question.kind == "masked" else f"{shown} {gap}"
        st.html(f'<p style="{_TEXT}">{shown}</p>')
        _typed(key, take)
    if question.choices:
        _show(key, take)


def _show(key: str, take: Take) -> None:
    st.button("Show", key=f"{key}.show", on_click=take, args=(None,), help="Give up and show the answer")


def _typed(key: str, take: Take) -> None:
    slot = f"{key}.unread"

    def send() -> None:
        typed = str(st.session_state.get(key) or "")
        st.session_state[slot] = not plain_word(typed)
        if plain_word(typed):
            take(typed)

    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.text_input(
            "Your guess, then Enter", key=key, persist_state="page", max_chars=MAX_CHARS, on_change=send, width=260
        )
        _show(key, take)
    if st.session_state.get(slot):
        st.caption("That holds no word. Type one word, or choose Show.")


def _two(question: Question, key: str, take: Take) -> None:
    with st.container(key=key):
        for number, (column, text) in enumerate(zip(st.columns(2, gap="large"), question.choices, strict=True)):
            with column.container(border=True):
                st.html(f'<p style="{_TEXT}">{escape(text)}</p>')
                st.button(f"{LETTERS[number]} came first", key=f"{key}.{number}", on_click=take, args=(number,))


def reveal(view: View, row: Row, name: str, slug: str, walk: Callable[[], None]) -> None:
    """Draw what was right, what the visitor said, and what the model made of it; ``walk`` draws the way on."""
    question, given, answer = row.question, row.given, row.answer
    if answer is None:
        raise ValueError("an open question has no answer to reveal")
    color = accent(BRANCHES[question.kind])
    st.html(f'<p style="{_TEXT}">{_solved(question, color)}</p>')
    left, right = st.columns([2, 3], gap="large")
    with left:
        st.markdown(f"{_MARKS[row.right]} **You:** {plain(said(question, given))}")
        st.markdown(f"{_MARKS[answer.right]} **{plain(name)}:** {plain(model_said(question, answer))}")
        st.markdown(f"**Written:** {plain(written(question))}")
        walk()
    with right:
        _bars(view, question, answer, name, slug)


def opening(sentence: str) -> str:
    """The first words of a sentence, to name it by."""
    return f"“{' '.join(sentence.split()[:3])} …”"


def said(question: Question, given: str | int | None) -> str:
    """The visitor's answer in words."""
    if given is None:
        return "no answer"
    if question.kind == "order":
        return opening(question.choices[int(given)])
    return question.choices[int(given)] if question.choices else str(given).strip()


def model_said(question: Question, answer: Answer) -> str:
    """The model's answer in words, with its probability."""
    word = opening(answer.said) if question.kind == "order" else answer.said.strip()
    return f"{word}, {percent(answer.chances[answer.choice])}"


def written(question: Question) -> str:
    """The original token, and what would do as well."""
    if question.kind == "order":
        return opening(question.choices[question.place or 0])
    first, *others = question.answers
    if question.kind == "replaced":
        return f"{question.choices[question.place or 0]} stands where {first} stood"
    return first + (f"; {', '.join(others)} would do as well" if others else "")


def _solved(question: Question, color: str) -> str:
    def line(text: str) -> str:
        return f'<strong style="border-bottom:3px solid {color}">{escape(text)}</strong>'

    shown = escape(question.text)
    match question.kind:
        case "masked":
            return shown.replace(GAP, line(question.answers[0]))
        case "next":
            return f"{shown} {line(question.answers[0])}"
        case "replaced":
            start, end = spans(question.text)[question.place or 0]
            was = f'{line(question.answers[0])} <s style="opacity:.65">{escape(question.text[start:end])}</s>'
            return f"{escape(question.text[:start])}{was}{escape(question.text[end:])}"
    first, second = question.choices if question.place == 0 else question.choices[::-1]
    return f"{line(first)} {escape(second)}"


def _bars(view: View, question: Question, answer: Answer, name: str, slug: str) -> None:
    """The model's probabilities, the right answer marked."""
    color, labels, chances = accent(BRANCHES[question.kind]), answer.labels, answer.chances
    if question.kind == "replaced":
        place = [question.place or 0]
        card = checkpoints.get(slug).card
        threshold = float(card.extra.get("threshold", 0.5)) if card else 0.5
        figure = verdict_bars(labels, chances, place, color, threshold=threshold, theme=theme())
        alt = verdict_alt(labels, chances, place)
    else:
        ordered = question.kind == "order"
        shown = [opening(text) if ordered else text.strip() or text for text in labels]
        chosen = question.place if ordered else among(question.answers[0], shown)
        scale = 1.0 if ordered else None
        figure = guess_bars(shown, chances, color, chosen=chosen, scale=scale, theme=theme())
        alt = bars_alt(shown, chances, f"Answers of {name}")
    part = f"Bars: {question.kind}"
    st.caption(view.words.part(part if view.words.has(part) else "Bars", name=plain(name)))
    chart(figure, alt=alt, key=view.state.key("rounds.bars"), config={"displayModeBar": False})


def points(rows: Sequence[Row]) -> tuple[int, int, int]:
    """How many questions are answered, how many of them the visitor has right, and how many the model."""
    done = [row for row in rows if row.answer is not None]
    return len(done), sum(row.right for row in done), sum(row.answer.right for row in done if row.answer)


def scoreboard(rows: Sequence[Row], name: str, seed: int, at: int) -> None:
    """Draw both rows of marks; ``at`` is the question that is looked at, from 0."""
    done, mine, theirs = points(rows)

    def marks(rights: Sequence[bool | None]) -> str:
        return "".join(_CELLS[right] for right in rights)

    numbers = "".join(f"<td{' class=at' if i == at else ''}>{i + 1}</td>" for i in range(len(rows)))
    you = marks([row.right if row.answer else None for row in rows])
    model = marks([row.answer.right if row.answer else None for row in rows])
    st.html(
        f"{_TABLE}<table class=rs><caption style='position:absolute;clip-path:inset(50%)'>You {mine} and "
        f"{escape(name)} {theirs} of {done} answered</caption>"
        f"<thead><tr><td class=r>Round {seed + 1}</td>{numbers}<td class=n></td></tr></thead>"
        f"<tr><th>You</th>{you}<td class=n>{mine} of {done}</td></tr>"
        f"<tr><th>{escape(name)}</th>{model}<td class=n>{theirs} of {done}</td></tr></table>"
    )


def finish(rows: Sequence[Row], name: str, kind: Kind, seed: int, state: PageState) -> None:
    """The end of a round: the score, every question, and the same as a file."""
    _, mine, theirs = points(rows)
    verdict = "You scored higher." if mine > theirs else "The model scored higher." if theirs > mine else "A tie."
    st.markdown(f"##### You {mine} of {LENGTH}, {plain(name)} {theirs} of {LENGTH}. {verdict}")
    found = [_told(number, row) for number, row in enumerate(rows, 1)]
    text_table(
        TextTable(
            ("", "question", "written", "you", name),
            tuple(
                (
                    str(f["number"]),
                    str(f["question"]),
                    str(f["written"]),
                    f"{_MARKS[bool(f['you right'])]} {f['you']}",
                    f"{_MARKS[bool(f['model right'])]} {f['model']}",
                )
                for f in found
            ),
            "The ten questions with your answers and the model's",
            (5, 41, 20, 16, 18),
        )
    )
    download_csv(Table.from_records(found), f"round-{kind}-{seed}", state.key("rounds.csv"))


def _told(number: int, row: Row) -> dict[str, object]:
    answer, question = row.answer, row.question
    if answer is None:
        raise ValueError("a round is finished when all of it is answered")
    shown = question.text
    if question.kind == "order":
        shown = " ".join(f"{letter}: {text}" for letter, text in zip(LETTERS, question.choices, strict=True))
    return {
        "number": number,
        "question": shown,
        "written": written(question),
        "you": said(question, row.given),
        "you right": row.right,
        "model": model_said(question, answer),
        "model right": answer.right,
        "its probability": percent(answer.chances[answer.choice]),
    }


ROUNDS = Section("rounds", rounds, (KIND, ROUND, QUESTION))
