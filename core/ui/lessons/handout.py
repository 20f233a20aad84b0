"""A lesson on paper: one page of HTML to print, with every step's text and question, and the picture of its view."""

from __future__ import annotations

import re
from html import escape

from core.lessons.lesson import Lesson, Step
from core.ui.export import heading, html_page
from core.ui.lessons.pictures import picture
from core.ui.page import css

_STYLE = css("handout")


def handout(lesson: Lesson, *, notes: bool) -> str:
    """The page; with the instructor's ``notes`` under the steps, or without.

    Views without a picture (:mod:`core.ui.lessons.pictures`), and pictures that cannot be drawn, are left out.
    """
    steps = [_step(number, step, lesson.trusted, notes) for number, step in enumerate(lesson.steps, 1)]
    sources = " · ".join(map(escape, lesson.sources))
    return html_page(
        lesson.title, [_STYLE, f"<p>{escape(lesson.line)}</p><main>", *steps, f"</main><p>{sources}</p>"], "light"
    )


def _step(number: int, step: Step, trusted: bool, notes: bool) -> str:
    parts = [heading(f"{number}. {step.title}"), _paragraphs(step.text, trusted), _framed(picture(step))]
    if step.question:
        parts.append(f"<p><b>{escape(step.question)}</b></p>")
        options = "".join(f"<li>{escape(option)}</li>" for option in step.options)
        parts.append(f"<ul>{options}</ul>" if options else '<p class="blank"></p>')
    if notes and step.note:
        parts.append(f"<p><i>{escape(step.note)}</i></p>")
    return f"<section>{''.join(parts)}</section>"


def _framed(drawn: str) -> str:
    return f'<div class="picture">{drawn}</div>' if drawn else ""


def _paragraphs(text: str, trusted: bool) -> str:
    """A step's text as paragraphs; of Markdown only bold type and italics, and only in what is the host's or ours."""
    whole = "".join(f"<p>{escape(part)}</p>" for part in text.split("\n\n") if part.strip())
    if not trusted:
        return whole
    return re.sub(r"\*(\S[^*<]*)\*", r"<i>\1</i>", re.sub(r"\*\*([^*<]+)\*\*", r"<b>\1</b>", whole))
