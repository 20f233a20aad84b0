"""What a model said, with what it has word for word from its text, and the line that it has it from."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

import streamlit as st

from core import session
from core.content import content
from core.training.copied import Copy, longest_copy
from core.ui.demos.demo import paragraph, underlined

_AROUND = 60
"""Characters of the line that are shown before and after."""
_SHORTEST = 8
"""Characters of a copy that says anything."""
_WHOLE = re.compile(r"\w+|[^\w\s]")
_BOLD = "font-weight:700"


@session.cached()
def copied(text: str, lines: tuple[str, ...]) -> Copy | None:
    """The longest part of an output that a line of the text has, too, without parts of words at its ends."""
    copy = longest_copy(text, lines)
    if copy is None:
        return None
    inside = [
        match.span() for match in _WHOLE.finditer(text) if copy.start <= match.start() and match.end() <= copy.end
    ]
    if not inside:
        return None
    start = inside[0][0]
    return Copy(start, inside[-1][1], copy.line, copy.at + start - copy.start)


def copied_length(text: str, lines: tuple[str, ...]) -> int:
    """Characters of that part."""
    copy = copied(text, lines)
    return copy.end - copy.start if copy else 0


def source_of(prompt: str, text: str, lines: tuple[str, ...]) -> Copy | None:
    """The longest copied part of a prompt with its output that reaches into the output."""
    whole = copied(prompt + text, lines)
    if whole is not None and whole.end > len(prompt):
        return whole
    copy = copied(text, lines)
    return copy and replace(copy, start=copy.start + len(prompt), end=copy.end + len(prompt))


def draw_source(prompt: str, text: str, lines: tuple[str, ...], color: str, label: str) -> None:
    """Draw an output after its prompt, the model's part underlined, the copied part bold here and in its line."""
    whole, copy = prompt + text, source_of(prompt, text, lines)
    if copy is None or copy.end - copy.start < _SHORTEST:
        st.html(paragraph([(prompt, ""), (text, underlined(color))], "margin:0 0 .9rem", label))
        return
    ends = sorted({0, len(prompt), copy.start, copy.end, len(whole)})
    parts = []
    for start, end in pairwise(ends):
        styles = [underlined(color)] * (start >= len(prompt)) + [_BOLD] * (copy.start <= start < copy.end)
        parts.append((whole[start:end], ";".join(styles)))
    line, end = lines[copy.line], copy.at + copy.end - copy.start
    before, after = line[max(0, copy.at - _AROUND) : copy.at], line[end : end + _AROUND]
    source = [
        ("…" * (copy.at > _AROUND) + before, ""),
        (line[copy.at : end], _BOLD),
        (after + "…" * (end + _AROUND < len(line)), ""),
    ]
    characters = content("training", "data").part("Line", characters=copy.end - copy.start)
    st.html(
        paragraph(parts, "margin:0 0 .3rem", label) + paragraph(source, "margin:0 0 .9rem 1rem;opacity:.8", characters)
    )
