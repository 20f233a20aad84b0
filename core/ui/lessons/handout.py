"""A lesson on paper: one page of HTML to print, with every step's text and question, and the maps of its heads."""

from __future__ import annotations

import re
from html import escape

from core import session
from core.attention.views.svg import head_svg
from core.errors import AtlasError
from core.lessons.checks import Attended, Weight
from core.lessons.lesson import Lesson, Step
from core.ui.export import heading, html_page

_STYLE = """<style>
@page { margin: 1.2cm; }
main { columns: 2; column-gap: 1.6rem; font-size: 11px; line-height: 1.4; }
section { break-inside: avoid; margin-bottom: .8rem; }
h1 { margin: 0; } h2 { font-size: 12px; margin: 0 0 .2rem; } p, ul { margin: .2rem 0; } ul { padding-left: 0; }
li { list-style: "\\2610\\00a0\\00a0"; margin-left: 1.2rem; }
svg { max-width: 100%; max-height: 42mm; height: auto; } .blank { border-bottom: 1px solid; height: 1rem; width: 8rem; }
@media (max-width: 640px) { main { columns: 1; } }
</style>"""


def handout(lesson: Lesson, *, notes: bool) -> str:
    """The page; with the instructor's ``notes`` under the steps, or without.

    Pictures are drawn for the steps whose question reads a head. A picture that cannot be drawn is left out.
    """
    steps = [_step(number, step, lesson.trusted, notes) for number, step in enumerate(lesson.steps, 1)]
    sources = " · ".join(map(escape, lesson.sources))
    return html_page(
        lesson.title, [_STYLE, f"<p>{escape(lesson.line)}</p><main>", *steps, f"</main><p>{sources}</p>"], "light"
    )


def _step(number: int, step: Step, trusted: bool, notes: bool) -> str:
    parts = [heading(f"{number}. {step.title}"), _paragraphs(step.text, trusted), _picture(step)]
    if step.question:
        parts.append(f"<p><b>{escape(step.question)}</b></p>")
        options = "".join(f"<li>{escape(option)}</li>" for option in step.options)
        parts.append(f"<ul>{options}</ul>" if options else '<p class="blank"></p>')
    if notes and step.note:
        parts.append(f"<p><i>{escape(step.note)}</i></p>")
    return f"<section>{''.join(parts)}</section>"


def _paragraphs(text: str, trusted: bool) -> str:
    """A step's text as paragraphs; of Markdown only bold type and italics, and only in what is the host's or ours."""
    whole = "".join(f"<p>{escape(part)}</p>" for part in text.split("\n\n") if part.strip())
    if not trusted:
        return whole
    return re.sub(r"\*(\S[^*<]*)\*", r"<i>\1</i>", re.sub(r"\*\*([^*<]+)\*\*", r"<b>\1</b>", whole))


def _picture(step: Step) -> str:
    check = step.check
    if not isinstance(check, Attended | Weight):
        return ""
    try:
        own = session.trace(check.model, check.text).own
        drawn = head_svg(own, check.layer - 1, check.head - 1, title=f"Layer {check.layer}, head {check.head}")
    except AtlasError:
        return ""
    return drawn.partition("?>")[2]
