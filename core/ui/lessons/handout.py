"""A lesson on paper: one page of HTML to print, with every step's text and question, and the picture of its view.

Pictures are HTML and SVG, computed as the view computes them. A view is known by its page and section, as the link
names them. One that is not listed, or that cannot be drawn, has no picture.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from html import escape

from numpy import argwhere

from core import anatomy, catalogue, checkpoints, session
from core.anatomy.compare import compare
from core.anatomy.roles import by_role
from core.attention.masks.axes import MOST, Axes
from core.attention.masks.kinds import read
from core.attention.views.svg import head_svg
from core.catalogue.questions import choices, first, questions, rows
from core.content import content
from core.errors import AtlasError
from core.figures.labels import percent, short
from core.figures.parameters import butterfly_table
from core.language.fill_mask import fill_mask
from core.lessons.lesson import Lesson, Step
from core.patterns import mask
from core.theme import LIGHT
from core.ui.export import heading, html_page
from core.ui.objectives.entry import inputs, style
from core.ui.objectives.objective import ENTRIES
from core.ui.objectives.picture import as_html
from core.ui.page import accent, css
from core.ui.tokenizers.common import infos, tokenized
from core.ui.tokenizers.token_rows import STYLE, tokenizer_block

Query = Mapping[str, str]
_MOST_BARS = 10
_MOST_CELLS = 24


def picture(step: Step) -> str:
    """The picture of a step's view; empty without one."""
    query = step.query
    try:
        return _PICTURES[step.page, query.get("tab", "")](query)
    except (AtlasError, ValueError, KeyError, StopIteration):
        return ""


def _head(query: Query) -> str:
    model, text, layer, head = query["model"], query["text"], int(query["layer"]), int(query["head"])
    if "task" in query:
        trace = session.rewritten_trace(model, text, query["task"])
        shown = trace.cross if query.get("map") == "cross" else trace.own
    else:
        shown = session.trace(model, text).own
    if shown is None:
        return ""
    return head_svg(shown, layer - 1, head - 1, title=f"Layer {layer}, head {head}").partition("?>")[2]


def _mask(query: Query) -> str:
    """An attention mask of n tokens: queries down, keys across, a filled cell where a query attends to a key."""
    n = min(int(query.get("tokens", "12")), MOST)
    choice, names = read(query.get("pattern", "full")), ("",) * n
    allowed = mask(choice.pattern(Axes("text", names, names, choice.padded)), n)
    cells = "".join(f'<rect x="{j}" y="{i}" width=".9" height=".9"/>' for i, j in argwhere(allowed).tolist())
    frame = f'<rect width="{n}" height="{n}" fill="none" stroke="{LIGHT.muted}" stroke-width=".05"/>'
    name = escape(f"{choice.title}: {allowed.sum()} of {n * n}")
    return f'<svg viewBox="-1 -1 {n + 2} {n + 2}" width="160" role="img"><title>{name}</title>{frame}{cells}</svg>'


def _bars(shown: Iterable[tuple[str, float, str]], title: str) -> str:
    """Bars: a label, a value that is not negative, and how it is printed; labels without what all begin with."""
    shown = list(shown)[:_MOST_BARS]
    widest = max((value for _, value, _ in shown), default=0) or 1.0
    heads = {label.partition(", ")[::2] for label, _, _ in shown}
    alike = len(heads) > 1 and all(rest for _, rest in heads) and len({head for head, _ in heads}) == 1
    labels = [label.partition(", ")[2] if alike else label for label, _, _ in shown]
    drawn = "".join(
        f'<text x="146" y="{15 * at + 11}" text-anchor="end">{escape(label[:24])}</text>'
        f'<rect x="150" y="{15 * at + 1}" width="{120 * value / widest:.1f}" height="12" fill="{LIGHT.primary}"/>'
        f'<text x="{154 + 120 * value / widest:.1f}" y="{15 * at + 11}">{escape(printed)}</text>'
        for at, (label, (_, value, printed)) in enumerate(zip(labels, shown, strict=True))
    )
    size = f'viewBox="0 0 320 {15 * len(shown)}" width="320" font-size="11"'
    return f'<svg {size} role="img"><title>{escape(title)}</title>{drawn}</svg>'


def _predictions(query: Query) -> str:
    """The predictions of the first mask."""
    if query.get("demo", "masks") != "masks":
        return ""
    found = session.computed("predicting", fill_mask, query["model"], query["text"])[0]
    return _bars(((w, p, percent(p)) for w, p in zip(found.tokens, found.probabilities, strict=True)), query["text"])


def _sizes(query: Query) -> str:
    """Parameters of a system by role."""
    shares = by_role(anatomy.tree(query["system"], query.get("size")))
    return _bars(((role, n, short(n)) for role, n in shares.items() if n), catalogue.get(query["system"]).name)


def _two_sizes(query: Query) -> str:
    """Parameters of two systems by group."""
    left, right = query["left"], query["right"]
    compared = compare(left, right, query.get("left-size"), query.get("right-size"))
    pairs = [(str(row.pop("Part")), row) for row in butterfly_table(compared)]
    shown = [(f"{part}, {n}", int(str(row[n])), short(int(str(row[n])))) for part, row in pairs for n in list(row)[:2]]
    return _bars(((label.replace(" base", ""), value, printed) for label, value, printed in shown), f"{left}, {right}")


def _results(query: Query) -> str:
    """The published figures of a question's case."""
    question = next(entry for entry in questions() if entry.slug == query["question"])
    case = question.case(query["case"]) if "case" in query else question.cases[0]
    measure = next((m for m in choices(case) if m.slug == query.get("measure")), first(case))
    return _bars(((row.label, max(0.0, row.value), row.printed) for row in rows(case, measure)), measure.title)


def _example(query: Query) -> str:
    """The first training example of an objective, with its default settings."""
    entry = ENTRIES[query["objective"]]
    slug = query.get("model", entry.models[0])
    options = {control.name: control.default for control in (*entry.settings, *entry.rare)}
    options = {name: ",".join(value) if isinstance(value, tuple) else value for name, value in options.items()}
    text = query.get("text") or content("objectives", entry.slug).label("text")
    stage = entry.build(inputs(entry.slug, slug, text, int(query.get("seed", "0")), options))[0]
    sides = [cells for cells in (stage.example.source, stage.example.decoder) if cells]
    return "".join(as_html(cells[:_MOST_CELLS], style(slug), accent(entry.branch), alt=entry.slug) for cells in sides)


def _tokens(query: Query) -> str:
    """A text, or a word, under some tokenizers."""
    slugs = (query.get("shown") or query.get("by") or ",".join(checkpoints.first("generation"))).split(",")
    blocks = [tokenizer_block(tokenized(info, query.get("text") or query["word"])) for info in infos(slugs)]
    return STYLE + "".join(blocks) if blocks else ""


_PICTURES: dict[tuple[str, str], Callable[[Query], str]] = {
    ("attention", ""): _head,
    ("attention", "heads"): _head,
    ("objectives", ""): _example,
    ("objectives", "masks"): _mask,
    ("tokenizers", ""): _tokens,
    ("tokenizers", "steps"): _tokens,
    ("encoder", ""): _predictions,
    ("encoder", "tree"): _sizes,
    ("zoo", "compare"): lambda query: _predictions({"model": query["right"], "text": query["text"]}),
    ("calculators", "parameters"): _sizes,
    ("compare", "trees"): _two_sizes,
    ("results", ""): _results,
}


_STYLE = css("handout")


def handout(lesson: Lesson, *, notes: bool) -> str:
    """The page; with the instructor's ``notes`` under the steps, or without.

    Views without a picture (:mod:`core.ui.lessons.handout`), and pictures that cannot be drawn, are left out.
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
