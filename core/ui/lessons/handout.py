"""A lesson on paper: every step's text and question, its view’s address and QR code; and the key, a page apart."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from html import escape

import segno

from core.content import content
from core.errors import AtlasError
from core.lessons import FOLDER
from core.lessons.lesson import Lesson, Step
from core.ui.export import heading, html_page
from core.ui.page import css

_STYLE = css("handout")


def handout(lesson: Lesson, site: str, *, notes: bool) -> str:
    """The page to print, in HTML.

    Args:
        site: the address of the app, which those of the views begin with.
        notes: whether the instructor's notes are below the steps.
    """
    steps = [_step(number, step, lesson.trusted, site, notes) for number, step in enumerate(lesson.steps, 1)]
    sources = " · ".join(map(escape, lesson.sources))
    line = f'<p>{escape(lesson.line)}</p><p class="name">Name</p>'
    can = _items(content(FOLDER, "lessons").part("Can").strip("*"), lesson.can)
    return html_page(lesson.title, [_STYLE, line, can, *steps, f"<p>{sources}</p>"], "light")


def _items(lead: str, items: Sequence[str]) -> str:
    rows = "".join(f"<br>– {escape(item)}" for item in items)
    return f"<p>{escape(lead)}{rows}</p>" if items else ""


def key(lesson: Lesson, answer: Callable[[Step], str]) -> str:
    """The answers to a lesson's questions, those asked again included, and why, as a page to print.

    Args:
        answer: computes the answer to a step's question, as the page prints it; what it refuses is printed instead.
    """
    rows = []
    for number, step in enumerate(lesson.steps, 1):
        asked = []
        for variant in step.variants if step.question else ():
            try:
                text = answer(variant)
            except AtlasError as error:
                text = str(error)
            asked.append(f"<p>{escape(variant.question or '')} <b>{escape(text)}</b></p>")
            asked.append(_paragraphs(variant.because, lesson.trusted))
        if asked:
            rows.append(f"<section>{heading(f'{number}. {step.title}')}{''.join(asked)}</section>")
    return html_page(f"{lesson.title}: key", [_STYLE, *rows], "light")


def qr_code(link: str) -> str:
    """The QR code of a link as SVG; empty where it has more than the 2,953 bytes that fit into one."""
    try:
        code = segno.make_qr(link, error="l")
    except segno.DataOverflowError:
        return ""
    return str(code.svg_inline(border=2, omitsize=True, light="white"))


def _step(number: int, step: Step, trusted: bool, site: str, notes: bool) -> str:
    link = f"{site}{step.path}"
    view = f'<p class="view">{qr_code(link)}<span>{escape(link)}</span></p>'
    parts = [heading(f"{number}. {step.title}"), view, _paragraphs(step.text, trusted)]
    if step.question:
        parts.append(f"<p><b>{escape(step.question)}</b></p>")
        options = "".join(f"<li>{escape(option.text)}</li>" for option in step.options)
        parts.append(f"<ul>{options}</ul>" if options else '<p class="blank"></p>')
    if notes and step.note:
        parts.append(f"<p><i>{escape(step.note)}</i></p>")
    return f"<section>{''.join(parts)}</section>"


def _paragraphs(text: str, trusted: bool) -> str:
    """A text as paragraphs; of Markdown only bold type, italics and a link's text, and only in the host's or ours."""
    paragraphs = "".join(f"<p>{escape(part)}</p>" for part in text.split("\n\n") if part.strip())
    if not trusted:
        return paragraphs
    for pattern, html in ((r"\[([^\]]+)\]\([^)]*\)", r"\1"), (r"\*\*([^*<]+)\*\*", r"<b>\1</b>")):
        paragraphs = re.sub(pattern, html, paragraphs)
    return re.sub(r"\*(\S[^*<]*)\*", r"<i>\1</i>", paragraphs)
