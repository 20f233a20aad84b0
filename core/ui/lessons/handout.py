"""A lesson on paper: one page of HTML to print, with every step's text and question, heads and masks drawn."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape

from numpy import argwhere

from core import session
from core.attention.masks.axes import MOST, Axes
from core.attention.masks.kinds import read
from core.attention.views.svg import head_svg
from core.errors import AtlasError
from core.lessons.lesson import Lesson, Step
from core.patterns import mask
from core.theme import LIGHT
from core.ui.export import heading, html_page

_STYLE = """<style>
@page { size: A4; margin: 1cm; }
@media print { body { margin: 0; padding: 0; max-width: none; } }
main { columns: 2; column-gap: 1.4rem; font-size: 10.5px; line-height: 1.3; }
section { break-inside: avoid; margin-bottom: .6rem; }
h1 { margin: 0; } h2 { font-size: 12px; margin: 0 0 .2rem; } p, ul { margin: .2rem 0; }
body > p { font-size: 11px; } ul { padding: 0; display: flex; flex-wrap: wrap; gap: 0 1rem; }
li { list-style: none; } li::before { content: "\\2610\\00a0"; }
svg { max-width: 100%; max-height: 32mm; height: auto; } .blank { border-bottom: 1px solid; height: 1rem; width: 8rem; }
@media (max-width: 640px) { main { columns: 1; } }
</style>"""


def handout(lesson: Lesson, *, notes: bool) -> str:
    """The page; with the instructor's ``notes`` under the steps, or without.

    Pictures are drawn for the steps that show a head or a mask. A picture that cannot be drawn is left out.
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
    """The map of the head, or the mask, that the step's view shows; other views have none."""
    query = step.query
    try:
        if step.page == "attention" and query.get("tab", "heads") == "heads":
            return _head(query)
        if step.page == "objectives" and query.get("tab") == "masks":
            return _mask(query.get("pattern", "full"), min(int(query.get("tokens", "12")), MOST))
    except (AtlasError, ValueError, KeyError):
        pass
    return ""


def _head(query: Mapping[str, str]) -> str:
    model, text, layer, head = query["model"], query["text"], int(query["layer"]), int(query["head"])
    if "task" in query:
        trace = session.rewritten_trace(model, text, query["task"])
        shown = trace.cross if query.get("map") == "cross" else trace.own
    else:
        shown = session.trace(model, text).own
    if shown is None:
        return ""
    return head_svg(shown, layer - 1, head - 1, title=f"Layer {layer}, head {head}").partition("?>")[2]


def _mask(pattern: str, n: int) -> str:
    """An attention mask of n tokens: queries down, keys across, a filled cell where a query attends to a key."""
    choice, names = read(pattern), ("",) * n
    allowed = mask(choice.pattern(Axes("text", names, names, choice.padded)), n)
    cells = "".join(f'<rect x="{j}" y="{i}" width=".9" height=".9"/>' for i, j in argwhere(allowed).tolist())
    frame = f'<rect width="{n}" height="{n}" fill="none" stroke="{LIGHT.muted}" stroke-width=".05"/>'
    name = escape(f"{choice.title}: {allowed.sum()} of {n * n}")
    return f'<svg viewBox="-1 -1 {n + 2} {n + 2}" width="160" role="img"><title>{name}</title>{frame}{cells}</svg>'
