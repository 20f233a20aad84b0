"""What the data does: two models that were trained alike on texts that differ in one thing, and their answers."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import takewhile
from statistics import fmean
from typing import TYPE_CHECKING

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import engine, session
from core.checkpoints import own
from core.content import content
from core.errors import InputTooLong
from core.figures.labels import percent
from core.figures.predictions import compared_bars
from core.table import Table
from core.training.changed import PAIRS, common_word, without_word
from core.training.compared import Compared, Question, compare, measured, questions_about, questions_elsewhere
from core.training.ready import ready
from core.training.text import Corpus, split
from core.turns import turns
from core.ui.job import job
from core.ui.links import page_link
from core.ui.own import locations
from core.ui.page import accent, theme
from core.ui.panel import Panel
from core.ui.param import Choice, Text
from core.ui.section import Section, View
from core.ui.training.scratch import train, training_of
from core.ui.training.source import copied_length, draw_source

if TYPE_CHECKING:
    from core.training.train import Training

PAIR = Choice(name="pair", label="Difference", options={}, width=230, hide_label=True)
PROMPT = Choice(name="prompt", label="Prompt", options={}, width=290, hide_label=True)
WORD = Text(name="word", label="Word", most=40, width=190)
OWN, REPEATED = "own", "repeated"
_SHORT = 3
"""Words of a prompt in the chart of all."""


def data(view: View) -> None:
    """Draw the section."""
    with view.controls():
        pair = PAIR.with_(options=view.words.front["pairs"]).draw(view.state)
        more = st.container(horizontal=True, vertical_alignment="bottom", width="content")
    if pair == OWN:
        _own(view, more)
    else:
        _measured(view, pair, more)
    opening, *_ = measured().values()
    shown = opening.answers[0]
    whole, without = (percent(chances[0]) for chances in shown.chances)
    view.try_and_notice(pair, token=shown.tokens[0].strip(), whole=whole, without=without)


def _measured(view: View, pair: str, more: DeltaGenerator) -> None:
    """A pair that was trained here."""
    run, texts = measured()[pair], _texts(pair)
    with more:
        at = _prompt(view, run.answers)
    _draw(view, pair, run.answers, at, texts)
    noise = max(answer.noise or 0.0 for answer in run.answers)
    view.note("Measured", steps=run.steps, noise=f"{noise:.1f}", **_means(run.answers))
    if pair == REPEATED:
        view.note("Copied", **_copies(run.answers, texts))


def _means(answers: Sequence[Compared]) -> dict[str, str]:
    """The mean surprisal under the first and the second model, about what differs and elsewhere."""
    return {
        f"{name}_{model}": f"{fmean(bits):.1f}"
        for name, about in (("about", True), ("other", False))
        for column, model in enumerate(("first", "second"))
        if (bits := [answer.surprisals[column] for answer in answers if answer.question.about is about])
    }


def _copies(answers: Sequence[Compared], texts: tuple[Corpus, Corpus]) -> dict[str, str]:
    """The mean length of what both models copy in one piece."""
    return {
        f"{name}_{model}": f"{fmean(lengths):.0f}"
        for name, about in (("about", True), ("other", False))
        for column, model in enumerate(("first", "second"))
        if (
            lengths := [
                copied_length(answer.texts[column], texts[column].train)
                for answer in answers
                if answer.question.about is about
            ]
        )
    }


@session.cached()
def _texts(pair: str) -> tuple[Corpus, Corpus]:
    """The ready stories, and what the second model of a pair reads of them."""
    whole = split(ready("stories"))
    return whole, PAIRS[pair](whole)


def _prompt(view: View, answers: Sequence[Compared]) -> int:
    """The menu of prompts; which one is chosen."""
    options = {f"{number}": answer.question.prompt for number, answer in enumerate(answers)}
    return int(PROMPT.with_(options=options).draw(view.state))


def _draw(view: View, pair: str, answers: Sequence[Compared], at: int, texts: tuple[Corpus, Corpus]) -> None:
    """The next token and the continuation under both models, beside the surprisal of what the text says."""
    words, look, color = view.words, theme(), accent("decoder")
    names, colors, shown = (words.label("first"), words.front["pairs"][pair]), (color, look.muted), answers[at]
    left, right = st.columns(2, gap="large")
    with left:
        rows = list(zip(shown.tokens, zip(*shown.chances, strict=True), strict=True))
        figure = compared_bars(names, rows, colors, theme=look)
        title = f"{words.label('next-token')} “{shown.question.prompt}”"
        alt = f"{title}: " + ", ".join(f"{token} {percent(p)} and {percent(q)}" for token, (p, q) in rows) + "."
        table = Table(("token", *names), tuple((token, *chances) for token, chances in rows))
        Panel("data-next", title, figure, alt, table).draw(view.state)
        for name, text, corpus in zip(names, shown.texts, texts, strict=True):
            draw_source(shown.question.prompt, text, corpus.train, color, name)
    with right:
        bits = [(_short(view, answer.question), answer.surprisals) for answer in answers]
        figure = compared_bars(names, bits, colors, measure=words.label("bits"), number=_written, theme=look)
        title = words.label("all")
        alt = f"{title}: " + "; ".join(f"{name} {p:.1f} and {q:.1f}" for name, (p, q) in bits) + "."
        table = Table(("prompt", *names), tuple((name, *row) for name, row in bits))
        Panel("data-all", title, figure, alt, table, heading=True).draw(view.state)


def _short(view: View, question: Question) -> str:
    """The last words of a prompt, and the first of what the text says."""
    prompt, answer = question.prompt.split(), question.answer.split()
    more = "…" * (len(answer) > 1)
    kind = view.words.label("about" if question.about else "other")
    return f"{kind}: {' '.join(prompt[-_SHORT:])} “{answer[0]}{more}”"


def _written(value: float) -> str:
    return f"{value:.1f}"


def _own(view: View, more: DeltaGenerator) -> None:
    """A second model of the visitor's, on the text of the first without a word."""
    first = _first()
    with more:
        word = WORD.with_(default=common_word(first.corpus) if first else "").draw(view.state)
        button = st.empty()
    if first is None:
        view.say("No model")
        page_link("training", view.words.label("train"), {"tab": "scratch"}, icon=":material/arrow_forward:")
        return
    changed = without_word(first.corpus, word)
    status, picture = st.empty(), st.empty()
    left = first.corpus.size - changed.size
    with status:
        view.note("Removed", removed=f"{left:,}", share=percent(left / first.corpus.size), steps=first.step)
    watched = job(view.state, "data", (first.corpus, first.setup, word), waits=True)
    second = training_of(watched)
    steps, rate = _part(first, second)
    if steps and watched.goes(button, view.words.label("continue" if second else "train-second")):
        scratch = replace(view, words=content("training", "scratch"))
        train(scratch, watched, second, partial(_begin, changed, first), own.OTHER, steps, rate, status, picture)
    if second is None:
        return
    texts = first.corpus, changed
    answers = _answers(first.location, second.location, texts, word)
    if len({answer.question.about for answer in answers}) < 2:
        view.say("No prompt")
        return
    with picture.container():
        at = _prompt(view, answers)
        _draw(view, OWN, answers, at, texts)
        view.note("Yours", **_means(answers))
        query = {"tab": "beside", "one": own.YOURS, "other": own.OTHER}
        page_link("catalogue", view.words.label("both"), query, icon=":material/arrow_forward:")


def _first() -> Training | None:
    """The visitor's training, of a decoder."""
    held = own.find(locations().get(own.YOURS, ""))
    return held.work if held is not None and held.checkpoint.spec.offers("continues") else None  # type: ignore[return-value]


def _begin(changed: Corpus, first: Training) -> Training:
    from core.training.train import Training as New

    return New(changed, first.setup, first.tokenizer)


def _part(first: Training, second: Training | None) -> tuple[int, float]:
    """How many steps the second model is behind, up to where the first one's learning rate changed, and the rate."""
    done = second.step if second else 0
    ahead = [point for point in first.points if point.step > done]
    same = list(takewhile(lambda point: point.rate == ahead[0].rate, ahead))
    return (same[-1].step - done, same[-1].rate) if same else (0, 0.0)


@session.cached()
def _answers(first: str, second: str, texts: tuple[Corpus, Corpus], word: str) -> tuple[Compared, ...]:
    """Of the visitor's two models, which are at these locations, about the word and about others."""
    models = engine.checkpoint(own.YOURS), engine.checkpoint(own.OTHER)
    answers = []
    for question in (*questions_about(texts[0], word), *questions_elsewhere(texts[0], word)):
        turns.step()
        with suppress(InputTooLong):  # for the context of this model
            answers.append(compare(models[:1], models[1:], question))
    return tuple(answers)


DATA = Section("data", data, (PAIR, PROMPT, WORD))
