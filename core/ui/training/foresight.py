"""Predict before: what will the model say? The visitor says it first; then its answer stands beside its source."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

import streamlit as st

from core import session
from core.checkpoints import own
from core.quiz import Option, Quiz
from core.training.compared import continued
from core.training.ready import READY
from core.training.text import Corpus
from core.ui.page import accent
from core.ui.quiz import ask, verdict
from core.ui.section import View
from core.ui.training.source import draw_source, source_of

Outcome = Literal["copies", "combines", "invents"]
_CHARACTERS = 24
"""Of a prompt that is taken from a text: there are models with a context of 32."""
_WORD = re.compile(r"[^\W\d_]+")


def draw_foresight(view: View, name: str, corpus: Corpus, location: str, recorded: Sequence[str]) -> None:
    """Draw the questions, one after the other.

    Args:
        name: of the text; the prompts of a ready one stand in the content.
        location: of the visitor's model; empty where the ``recorded`` answers are those of a training of ours.
    """
    words = view.words
    ready_prompts = words.front["foresight"]
    if name in READY and name not in ready_prompts:
        return  # of numbers or chess moves, which are no words
    prompts = tuple(ready_prompts.get(name, ())) or prompts_of(corpus)
    answers = _answers(location, prompts) if location else tuple(recorded)
    if not answers:
        return
    st.subheader(words.label("foresight-title"), anchor=False)
    options = {words.label(outcome): outcome for outcome in ("copies", "combines", "invents")}
    for number, (prompt, text) in enumerate(zip(prompts, answers, strict=True)):
        quiz = Quiz(
            text=f"{words.label('foresight-question')} “{prompt}”", options=tuple(Option(text=text) for text in options)
        )
        reply = ask(quiz, view.state.key(f"foresight.{name}.{number}"))
        if reply is None:
            return
        outcome = outcome_of(prompt, text, corpus)
        verdict(words.part(f"Outcome: {outcome}"), options[str(reply)] == outcome)
        draw_source(prompt, text, corpus.train, accent("decoder"), words.label("says"))


def outcome_of(prompt: str, text: str, corpus: Corpus) -> Outcome:
    """Whether at least half of a prompt with its output stands in one line of the text, or else all of its words do."""
    copy = source_of(prompt, text, corpus.train)
    if copy is not None and 2 * (copy.end - copy.start) >= len((prompt + text).strip()):
        return "copies"
    return "invents" if strange_words(text, corpus) else "combines"


def strange_words(text: str, corpus: Corpus) -> tuple[str, ...]:
    """The words that stand nowhere in the text; the last one may have been cut off, and does not count."""
    known = _known(corpus.train)
    said = [match[0] for match in _WORD.finditer(text) if match.end() < len(text)]
    return tuple(word for word in said if word.lower() not in known)


@session.cached()
def _known(lines: tuple[str, ...]) -> frozenset[str]:
    return frozenset(word.lower() for line in lines for word in _WORD.findall(line))


def prompts_of(corpus: Corpus) -> tuple[str, ...]:
    """Of a visitor's text: the beginnings of a line that is read and of a held-out one, and words of two lines."""
    first, last = corpus.train[0].split(), corpus.train[-1].split()
    held_out = corpus.held_out[0].split()
    prompts = first[:4], held_out[:4], [*first[:2], *last[-2:]]
    return tuple(" ".join(words)[:_CHARACTERS].strip() for words in prompts)


@session.cached()
def _answers(location: str, prompts: tuple[str, ...]) -> tuple[str, ...]:
    """What the model at a location says; nothing where it is no decoder."""
    held = own.find(location)
    if held is None or not held.checkpoint.spec.offers("continues"):
        return ()
    return tuple(continued(held.checkpoint, prompt) for prompt in prompts)
