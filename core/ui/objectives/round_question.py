"""A round: a question asked, with nothing in the page that tells the answer, and revealed; and the score of both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

import streamlit as st

from core import checkpoints
from core.figures.predictions import bars_alt, guess_bars, percent, verdict_alt, verdict_bars
from core.language.guesses import MAX_CHARS, among, plain_word
from core.language.rounds import GAP, LENGTH, Answer, Kind, Question, spans
from core.table import Table
from core.ui.chart import chart
from core.ui.chips import token_chips
from core.ui.export import download_csv
from core.ui.links import PageState
from core.ui.page import accent, plain, theme
from core.ui.text_table import TextTable, text_table

Take = Callable[[str | int | None], None]
BRANCHES = {"masked": "encoder", "next": "decoder", "replaced": "encoder", "order": "decoder"}
_TEXT = "font-size:1.3rem;line-height:1.6;margin:.2rem 0 .3rem;overflow-wrap:anywhere"
_GAP = '<span role="img" aria-label="hidden word" style="border-bottom:3px solid {0};padding:0 1.6em">&nbsp;</span>'
LETTERS = "AB"
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


def ask(question: Question, prompt: str, key: str, take: Take) -> None:
    """Draw the question with its way to answer; ``take`` gets the answer, None where the visitor gives up."""
    st.markdown(f"**{prompt}**")
    colour = accent(BRANCHES[question.kind])
    if question.kind == "order":
        _two(question, key, take)
    elif question.choices:
        picked = token_chips(
            question.choices,
            key=key,
            accent=colour,
            label="Words of the sentence; choose the one that was replaced",
            clearable=False,
        )
        if picked:
            take(picked[0])
            st.rerun()
    else:
        shown = escape(question.text)
        gap = _GAP.format(colour)
        shown = shown.replace(GAP, gap) if question.kind == "masked" else f"{shown} {gap}"
        st.html(f'<p style="{_TEXT}">{shown}</p>')
        _typed(key, take)
    if question.choices:
        st.button("Show", key=f"{key}.show", on_click=take, args=(None,), help="Give up and see the answer")


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
        st.button("Show", key=f"{key}.show", on_click=take, args=(None,), help="Give up and see the answer")
    if st.session_state.get(slot):
        st.caption("There is no word in that. Type one word, or choose Show.")


def _two(question: Question, key: str, take: Take) -> None:
    with st.container(key=key):
        for number, (column, text) in enumerate(zip(st.columns(2, gap="large"), question.choices, strict=True)):
            with column.container(border=True):
                st.html(f'<p style="{_TEXT}">{escape(text)}</p>')
                st.button(f"{LETTERS[number]} came first", key=f"{key}.{number}", on_click=take, args=(number,))


def reveal(row: Row, name: str, slug: str, state: PageState, walk: Callable[[], None]) -> None:
    """Draw what was right, what the visitor said, and what the model made of it; ``walk`` draws the way on."""
    question, given, answer = row.question, row.given, row.answer
    if answer is None:
        raise ValueError("an open question has no answer to reveal")
    colour = accent(BRANCHES[question.kind])
    st.html(f'<p style="{_TEXT}">{_solved(question, colour)}</p>')
    left, right = st.columns([2, 3], gap="large")
    with left:
        st.markdown(f"{_mark(question.right(given))} **You:** {plain(said(question, given))}")
        st.markdown(f"{_mark(answer.right)} **{plain(name)}:** {plain(model_said(question, answer))}")
        st.markdown(f"**Written:** {plain(written(question))}")
        walk()
    with right:
        _bars(question, answer, colour, name, slug, state)


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
    """What stood there, and what would do as well."""
    if question.kind == "order":
        return opening(question.choices[question.place or 0])
    first, *others = question.answers
    if question.kind == "replaced":
        return f"{question.choices[question.place or 0]} stands where {first} stood"
    return first + (f"; {', '.join(others)} would do as well" if others else "")


def _mark(right: object) -> str:
    return "✓" if right else "✗"


def _solved(question: Question, colour: str) -> str:
    def line(text: str) -> str:
        return f'<strong style="border-bottom:3px solid {colour}">{escape(text)}</strong>'

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


def _bars(question: Question, answer: Answer, colour: str, name: str, slug: str, state: PageState) -> None:
    key, config = state.key("rounds.bars"), {"displayModeBar": False}
    if question.kind == "replaced":
        place = [question.place or 0]
        card = checkpoints.get(slug).card
        threshold = float(card.extra.get("threshold", 0.5)) if card else 0.5
        st.caption("The judge's verdict on each word; ◂ and hatching mark the replaced one")
        figure = verdict_bars(answer.labels, answer.chances, place, colour, threshold=threshold, theme=theme())
        chart(figure, alt=verdict_alt(answer.labels, answer.chances, place), key=key, config=config)
        return
    if question.kind == "order":
        labels = [opening(text) for text in answer.labels]
        st.caption(f"How likely {plain(name)} takes each to be the first; ▸ marks the right one")
        chosen, scale = question.place, 1.0
    else:
        labels = [label.strip() or label for label in answer.labels]
        st.caption(f"The likeliest words of {plain(name)}; ▸ marks the right one")
        chosen, scale = among(question.answers[0], labels), None
    figure = guess_bars(labels, answer.chances, colour, chosen=chosen, scale=scale, theme=theme())
    chart(figure, alt=bars_alt(labels, answer.chances, f"Answers of {name}"), key=key, config=config)


def points(rows: Sequence[Row]) -> tuple[int, int, int]:
    """How many questions are answered, how many of them the visitor has right, and how many the model."""
    done = [row for row in rows if row.answer is not None]
    return len(done), sum(row.right for row in done), sum(row.answer.right for row in done if row.answer)


def scoreboard(rows: Sequence[Row], name: str, seed: int, at: int) -> None:
    """Draw both rows of marks; ``at`` is the question that is looked at, from 0."""
    done, mine, theirs = points(rows)
    numbers = "".join(f"<td{' class=at' if i == at else ''}>{i + 1}</td>" for i in range(len(rows)))
    you = "".join(_cell(row, row.right) for row in rows)
    model = "".join(_cell(row, row.answer is not None and row.answer.right) for row in rows)
    st.html(
        f"{_TABLE}<table class=rs><caption style='position:absolute;clip-path:inset(50%)'>You {mine} and "
        f"{escape(name)} {theirs} of {done} answered</caption>"
        f"<thead><tr><td class=r>Round {seed + 1}</td>{numbers}<td class=n></td></tr></thead>"
        f"<tr><th>You</th>{you}<td class=n>{mine} of {done}</td></tr>"
        f"<tr><th>{escape(name)}</th>{model}<td class=n>{theirs} of {done}</td></tr></table>"
    )


def _cell(row: Row, right: bool) -> str:
    if row.answer is None:
        return '<td aria-label="not yet answered">·</td>'
    return '<td aria-label="right">✓</td>' if right else '<td aria-label="wrong" style="opacity:.75">✗</td>'


def finish(rows: Sequence[Row], name: str, kind: Kind, seed: int, state: PageState) -> None:
    """The end of a round: the score, every question, and the same as a file."""
    _, mine, theirs = points(rows)
    verdict = "You knew more." if mine > theirs else "The model knew more." if theirs > mine else "A draw."
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
                    f"{_mark(f['you right'])} {f['you']}",
                    f"{_mark(f['model right'])} {f['model']}",
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
