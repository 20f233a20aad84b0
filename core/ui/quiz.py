"""The box for an answer to a question, and the verdict on it, wherever something is asked."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import streamlit as st

from core.quiz import Answer, Quiz
from core.ui.page import pill

_MOST_PILL = 34
"""Characters of an option that stands in a pill on a phone; longer ones are lines."""
_NEITHER = re.compile(r"[^\w\s.,;?!'’“”()-]|_")
_WORD, _WIDTH, _NUMBER = 60, 300, 180
"""Characters of an answer of a word or two, and the pixels of its box, and of a number's."""


def spoken(text: str) -> str:
    """A text as the name of a box: without what could be Markdown, which would be read aloud where it is escaped."""
    return " ".join(_NEITHER.sub(" ", text).split())


def ask(
    quiz: Quiz,
    key: str,
    *,
    initial: str | None = None,
    titled: bool = False,
    write: Callable[[str], str] = pill,
    send: Callable[[], None] | None = None,
) -> Answer | None:
    """Draw the options, or a box to type in; what stands in it, None for nothing.

    Args:
        initial: the text that it begins with.
        titled: whether the question, which may be a visitor's, stands above already; otherwise it is Markdown of ours.
        write: an option as Markdown.
        send: called where the answer changes.
    """
    label = spoken(quiz.text) if titled else quiz.text
    how: dict[str, Any] = {
        "key": key,
        "label_visibility": "collapsed" if titled else "visible",
        "on_change": send,
        "persist_state": "session",
    }
    answer: Answer | None
    if quiz.options and max(map(len, quiz.texts)) <= _MOST_PILL:
        answer = st.pills(label, quiz.texts, default=initial, format_func=write, wrap=True, **how)
    elif quiz.options:
        at = None if initial is None else quiz.texts.index(initial)
        answer = st.radio(label, quiz.texts, index=at, format_func=write, **how)
    elif quiz.most:
        how |= {"placeholder": "Your answer, then Enter", "width": _WIDTH if quiz.most <= _WORD else "stretch"}
        answer = st.text_input(label, initial or "", max_chars=quiz.most, **how)
    else:
        answer = st.number_input(label, value=None, format="%g", width=_NUMBER, **how)
    return None if answer == "" else answer


def verdict(text: str, right: bool | None = None) -> None:
    """Draw what is said of an answer, Markdown; ``right`` is None where it was graded, or the answer asked for."""
    if right:
        st.success(text, icon=":material/check:")
    else:
        st.info(text, icon=":material/lightbulb:" if right is None else ":material/replay:")
