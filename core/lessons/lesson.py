"""A lesson: a content file of steps, read and checked; what does not fit is refused with its file and step.

A lesson is ``assets/content/lessons/<number>-<name>.md``, laid out as every content file (:mod:`core.content`). The
front matter has ``title``, ``line``, ``minutes``, ``sources``, ``can`` (phrases after “After this lesson you can”) and
``recap`` (sentences for the lesson's end). Each part is a step: its heading is the title, its Markdown the text, and a
block between two lines ``+++`` holds the rest as TOML::

    ## One query, one row
    Each row of the map is a query. Its weights sum to 1.

    +++
    view = "/attention?tab=heads&model=minilm&layer=1&head=1&text=the+cat+sat"
    asks = "live"
    question = "Which token gets the largest weight in the row of “sat”?"
    options = ["cat", { text = "sat", misconception = "A token attends to itself most.", because = "..." }]
    check = { kind = "attended", model = "minilm", text = "the cat sat", layer = 1, head = 1, query = "sat" }
    because = "Why the right answer is right."
    note = "For an instructor: ..."
    [[again]]
    view = "/attention?tab=heads&model=minilm&layer=1&head=1&text=the+dog+ran"
    question = "Which token gets the largest weight in the row of “ran”?"
    ...
    +++

``view`` is the path and query of a view, as *Copy link* copies it; with ``covered = true`` it is covered until
somebody has answered. ``asks`` says what a question takes: ``"arithmetic"``, a prediction of what a ``"live"`` model
gives, or ``"transfer"`` to a case that the text does not treat. A question has ``options``, or asks for a number that
may be off by the share ``tolerance``. Its answer is a :mod:`check <core.lessons.checks>`. A wrong option names its
misconception and says why it is wrong; a wrong number does so in ``mistakes``: ``[{ answer = 5, misconception = "...",
because = "..." }]``. That sentence follows a wrong answer, else ``hint``, else ``because``, which follows a right one.

``[[again]]`` tables, last in the block, ask the same with another sentence or other numbers. What one leaves out is the
step's, but ``because`` and ``mistakes``, which speak of its numbers.

Lessons of ``ATLAS_LESSONS_DIR`` are a host's. One that a visitor opens from a file or a link is data: nothing in it is
read as Markdown, and its views and checks are held to the same rules.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from core import catalogue, checkpoints, links
from core.content import Content, names, parse, toml, whole
from core.errors import AtlasError, ContentUnusable
from core.lessons import FOLDER, MOST_STEPS, MOST_VIEW
from core.lessons.checks import AnyCheck
from core.quiz import Mistake, Option, Quiz, Wrong
from core.settings import ASSETS, settings

MOST_CHARS = 100_000
"""Characters of a lesson's file."""
MOST_OPTION = 400
"""Characters of an option, of its misconception, and of what is said against it."""
_NAME = re.compile(r"\d+-[a-z0-9-]{1,60}")
_BLOCK = re.compile(r"^\+\+\+\n(.*?)^\+\+\+$", re.MULTILINE | re.DOTALL)
_Line = Annotated[str, Field(min_length=1, max_length=400)]
_Text = Annotated[str, Field(max_length=4_000)]
T = TypeVar("T")


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class _Front(_Strict):
    title: _Line
    line: _Line
    minutes: Annotated[int, Field(ge=1, le=240)] = 15
    sources: Annotated[list[_Line], Field(max_length=20)] = []
    can: Annotated[list[_Line], Field(max_length=5)] = []
    recap: Annotated[list[_Line], Field(max_length=5)] = []


class Step(_Strict):
    """One step, or its question asked again."""

    title: _Line
    text: _Text
    """Markdown, where the lesson is the host's or ours."""
    view: Annotated[str, Field(max_length=MOST_VIEW)]
    asks: Literal["arithmetic", "live", "transfer"] | None = None
    """What the question takes."""
    question: _Line | None = None
    options: Annotated[list[Option], Field(max_length=12)] = []
    """In the order of the file; empty where the answer is a number."""
    tolerance: Annotated[float, Field(ge=0, le=0.5)] = 0.0
    mistakes: Annotated[list[Mistake], Field(max_length=12)] = []
    """Wrong numbers, where the answer is a number."""
    check: AnyCheck | None = None
    because: _Text = ""
    """Why the right answer is right."""
    hint: _Text = ""
    """What follows a wrong answer that has no sentence of its own."""
    covered: bool = False
    """Whether the view prints the answer, so that it is covered until somebody has answered."""
    note: _Text = ""
    """For an instructor."""
    again: Annotated[list[Step], Field(max_length=5)] = []
    """The same question with another sentence or other numbers."""

    @model_validator(mode="after")
    def _question_has_an_answer(self) -> Step:
        if any(not 0 < len(option.text) <= MOST_OPTION for option in self.options):
            raise ValueError(f"an option has 1 to {MOST_OPTION} characters")
        wrong: list[Wrong] = [*self.options, *self.mistakes]
        if any(max(len(each.misconception), len(each.because)) > MOST_OPTION for each in wrong):
            raise ValueError(f"what is said of an option has at most {MOST_OPTION} characters")
        if self.options and self.mistakes:
            raise ValueError("mistakes are wrong numbers; a wrong option says itself why it is wrong")
        if self.again and (self.check is None or any(variant.again for variant in self.again)):
            raise ValueError("only the question of a step is asked again")
        if (self.question is None) != (self.check is None):
            raise ValueError("a question needs a check, and a check a question")
        if len(self.options) == 1:
            raise ValueError("a question has no options, or at least two")
        if self.check is not None:
            if self.check.in_words != bool(self.options):
                raise ValueError("a check that answers with a text needs options, and one with a number has none")
            if missing := [text for text in self.check.among() if text not in {option.text for option in self.options}]:
                raise ValueError(f"the answer may be “{missing[0][:40]}”, which is no option")
        if self.covered and self.check is None:
            raise ValueError("a view is covered until its question is answered, and this step has none")
        urlsplit(self.view)  # a ValueError for what is no address
        return self

    @property
    def variants(self) -> tuple[Step, ...]:
        """Its question, and the same asked again, each with its view."""
        return self, *self.again

    @property
    def page(self) -> str:
        """The page of its view."""
        return self._current[0]

    @property
    def query(self) -> dict[str, str]:
        """The query of its view."""
        return self._current[1]

    @property
    def _current(self) -> tuple[str, dict[str, str]]:
        parts = urlsplit(self.view)
        page = parts.path.strip("/") or "home"
        return links.current(page, dict(parse_qsl(parts.query, keep_blank_values=True)))

    @property
    def path(self) -> str:
        """Path and query of its view, encoded anew: nothing else of an untrusted link gets into an address."""
        query = urlencode(self.query)
        return f"/{'' if self.page == 'home' else self.page}{f'?{query}' if query else ''}"

    @property
    def quiz(self) -> Quiz | None:
        """Its question."""
        if self.question is None:
            return None
        options, mistakes = tuple(self.options), tuple(self.mistakes)
        return Quiz(text=self.question, options=options, tolerance=self.tolerance, mistakes=mistakes)


@dataclass(frozen=True, slots=True)
class Lesson:
    """A lesson; :func:`refuse_missing_views` says whether its views exist."""

    slug: str
    """Its name in the link; empty for one that a visitor opened."""
    file: str
    title: str
    line: str
    minutes: int
    sources: tuple[str, ...]
    steps: tuple[Step, ...]
    can: tuple[str, ...] = ()
    """What one can do after it."""
    recap: tuple[str, ...] = ()
    trusted: bool = True
    """Ours, or the host's; otherwise its texts are data."""
    bundled: bool = False

    @property
    def pages(self) -> tuple[str, ...]:
        """The pages of its views, as the file names them."""
        return tuple(dict.fromkeys(variant.page for step in self.steps for variant in step.variants))


@dataclass(frozen=True, slots=True)
class Refused:
    """A file of the host, or an overlaid one, that is no lesson, and why."""

    slug: str
    reason: str


def lessons() -> tuple[Lesson | Refused, ...]:
    """The bundled lessons in their order, then those of ``ATLAS_LESSONS_DIR``, each read, its views not yet checked."""
    loaded: list[Lesson | Refused] = []
    for slug, load, bundled in _files():
        try:
            loaded.append(replace(from_content(load(), slug), bundled=bundled))
        except AtlasError as error:
            loaded.append(Refused(slug, str(error)))
    return tuple(loaded)


def _files() -> Iterator[tuple[str, Callable[[], Content], bool]]:
    bundled = [name for folder, name in names() if folder == FOLDER and _NAME.fullmatch(name)]
    for name in sorted(bundled, key=lambda name: int(name.split("-")[0])):
        yield name, partial(whole, FOLDER, name), True
    folder = settings().lessons_dir
    for path in sorted(folder.glob("*.md")) if folder and folder.is_dir() else ():
        slug = re.sub(r"[^a-z0-9]+", "-", path.stem.lower()).strip("-")
        if slug not in bundled:
            yield slug, partial(_parsed, path), False


def _parsed(path: Path) -> Content:
    try:
        return parse(path.read_text(encoding="utf-8")[:MOST_CHARS], path)
    except (OSError, UnicodeDecodeError) as error:
        raise ContentUnusable(f"{path.name} cannot be read as UTF-8 text.") from error


def from_text(text: str, name: str = "The lesson") -> Lesson:
    """A visitor's lesson.

    Raises:
        ContentUnusable: it is too long, or no lesson.
    """
    if len(text) > MOST_CHARS:
        raise ContentUnusable(f"{name} has {len(text):,} characters; a lesson has {MOST_CHARS:,} at most.")
    return replace(from_content(parse(text.replace("\r\n", "\n"), Path(name)), ""), trusted=False)


def from_file(path: Path) -> Lesson:
    """A host's lesson.

    Raises:
        ContentUnusable: the file cannot be read, or is no lesson.
    """
    return from_content(_parsed(path), "")


def from_content(words: Content, slug: str) -> Lesson:
    """A lesson of a parsed file.

    Raises:
        ContentUnusable: something does not fit; the message names file and step.
    """
    file = words.path.name
    front = _checked(_Front, {k: v for k, v in words.front.items() if k != "search"}, f"{file}: the front matter")
    if not 1 <= len(words.parts) <= MOST_STEPS:
        raise ContentUnusable(f"{file} has {len(words.parts)} steps “## …”; a lesson has 1 to {MOST_STEPS}.")
    steps = []
    for number, (title, part) in enumerate(words.parts.items(), 1):
        where = f"{file}, step {number} “{title[:60]}”"
        blocks = list(_BLOCK.finditer(part.text))
        if len(blocks) != 1:
            raise ContentUnusable(f"{where}: it needs one block between lines “+++”, with its view.")
        fields = toml(blocks[0][1], f"{where}: the block", part.line + part.text.count("\n", 0, blocks[0].start()))
        heading = {"title": title, "text": _BLOCK.sub("", part.text).strip()}
        common = {name: value for name, value in fields.items() if name not in _OWN} | heading
        if isinstance(again := fields.get("again"), list):
            fields["again"] = [common | table if isinstance(table, dict) else table for table in again]
        steps.append(_checked(Step, fields | heading, where))
    return Lesson(
        slug,
        file,
        front.title,
        front.line,
        front.minutes,
        tuple(front.sources),
        tuple(steps),
        can=tuple(front.can),
        recap=tuple(front.recap),
    )


_OWN = ("again", "because", "mistakes")
"""What a question asked again does not take from its step."""


def _checked(kind: type[T], fields: Mapping[str, Any], where: str) -> T:
    try:
        return kind(**fields)
    except ValidationError as error:
        first = error.errors()[0]
        name = "".join(f"{part}: " for part in [".".join(map(str, first["loc"]))] if part)
        raise ContentUnusable(f"{where}: {name}{first['msg'].removeprefix('Value error, ')}.") from None


def problems() -> Iterator[str]:
    """A sentence for each lesson of the host that is none, or lacks a view here; `core.links` must know all pages."""
    for slug, load, _ in _files():
        try:
            words = load()
            if not words.path.is_relative_to(ASSETS):
                refuse_missing_views(from_content(words, slug))
        except AtlasError as error:
            yield str(error)


def refuse_missing_views(lesson: Lesson) -> None:
    """Check that every view and every model of a lesson is here; `core.links` must know its pages.

    Raises:
        ContentUnusable: one is not; the message names file and step.
    """
    available = checkpoints.available()
    models = {spec.slug for spec in available} | {f"{spec.slug}:{part}" for spec in available for part in spec.parts}
    for number, step in enumerate(lesson.steps, 1):
        for variant in step.variants:
            unknown = [model for model in (variant.check.models() if variant.check else ()) if model not in models]
            problem = f"there is no model “{unknown[0][:40]}” here." if unknown else _view_problem(variant, models)
            if problem:
                raise ContentUnusable(f"{lesson.file}, step {number} “{step.title[:60]}”: {problem}")


def _view_problem(step: Step, models: Collection[str]) -> str | None:
    if step.page not in links.PAGES or step.page == FOLDER or not re.fullmatch(r"/[a-z-]*", urlsplit(step.view).path):
        return f"there is no page “{step.page[:40]}” for a view."
    choices: dict[str, Collection[str]] = {"model": models}
    if step.page in _BY_SYSTEM:
        choices["system"] = {system.slug for system in catalogue.systems()}
    _, refused = links.read_query(step.page, step.query, choices)
    return refused[0].sentence if refused else None


_BY_SYSTEM = frozenset({"encoder", "decoder", "encoder-decoder", "efficient", "catalogue"})
"""Pages whose parameter ``system`` is one of the catalogue."""
