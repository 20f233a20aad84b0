"""The text of a page: ``assets/content/<page>/<section>.md``, parsed, checked and filled with a run's numbers.

A file starts with TOML front matter between two lines ``+++`` (``title``, ``line`` and the labels that the section
names), then come its parts, each under a heading ``## Name``::

    +++
    title = "Side by side"
    +++
    ## Try
    A sentence in another language.
    ## Notice
    The text is {{tokens}} tokens.

Search indexes the front matter's ``[[search]]`` rows: ``line`` describes the section, ``words`` are further
names, and ``query`` is the link's query where that is not the section itself::

    [[search]]
    line = "One prompt under several decoding strategies."
    words = ["greedy", "sampling"]

A part names the numbers of a run as ``{{name}}``. Placeholders take numbers and names of ours, never a visitor's text.
A host's file in ``ATLAS_CONTENT_DIR`` replaces the labels and parts that it has; a change shows in the next run.
A mistake in it costs no page: the bundled text is shown, the log says why, and :func:`overlay_problems` lists all.
"""

from __future__ import annotations

import logging
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any

from core.errors import ContentUnusable, SettingUnusable
from core.settings import settings

ROOT = Path(__file__).parents[1] / "assets" / "content"
_COUNTED = (
    "answers|beams|blocks|bytes|characters|dimensions|documents|edges|epochs|examples|heads|images|layers|"
    "lines|maps|masks|merges|models|nodes|pairs|paths|pieces|positions|predictions|questions|rounds|rows|runs|samples|"
    "seeds|segmentations|segments|sentences|spans|steps|systems|tasks|texts|tokens|words"
)
_ADJECTIVES = "(?:more|further|other|finished|generated|separate|source|target|top|random|different|longest|global)"
_PLACEHOLDER = re.compile(rf"\{{\{{([a-z_]+)\}}\}}(\**(?: {_ADJECTIVES})? (?:{_COUNTED})\b)?")
"""A placeholder, and the plural that it may count; after 1 that is a singular."""
_FENCE = "+++"
_NAME = re.compile(r"[a-z0-9-]+")
_Stored = tuple[Path, int]
"""A file, and when it was last changed, in nanoseconds."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a content file: its Markdown and the line number where it starts."""

    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Content:
    """The text of one page or section."""

    path: Path
    front: Mapping[str, Any]
    parts: Mapping[str, Part]

    @property
    def file(self) -> str:
        """Its folder and name, which say where it is: many pages have a file ``page.md``."""
        return "/".join(self.path.parts[-2:])

    @property
    def title(self) -> str:
        """The name in the navigation."""
        return self.label("title")

    def label(self, name: str) -> str:
        """A text of the front matter.

        Raises:
            ContentUnusable: the file has none of that name.
        """
        value = self.front.get(name)
        if not isinstance(value, str):
            raise ContentUnusable(f"{self.file}, line 1: the front matter lacks {name} = “…”; add it there.")
        return value

    def has(self, part: str) -> bool:
        """Whether the file has this part; Try and Notice are optional."""
        return part in self.parts

    def stands(self, part: str) -> bool:
        """Whether the file has this part, and the part needs no values."""
        return self.has(part) and not _PLACEHOLDER.search(self.parts[part].text)

    def part(self, name: str, /, **values: str | int | float) -> str:
        """The part as Markdown, with its placeholders replaced by ``values``.

        Raises:
            ContentUnusable: the file lacks the part, or a placeholder has no value.
        """
        stored = self.parts.get(name)
        if stored is None:
            raise ContentUnusable(f"{self.file} lacks the part “## {name}”; add it there. {_near(name, self.parts)}")

        def filled(match: re.Match[str]) -> str:
            if match[1] not in values:
                raise _no_placeholder(self, stored, match, values)
            value, noun = str(values[match[1]]), match[2] or ""
            return value + (noun.removesuffix("s") if value == "1" else noun)

        return _PLACEHOLDER.sub(filled, stored.text)


def content(page: str, section: str = "page") -> Content:
    """The text of a section, or of the page itself, with the labels and parts of the host's file in place of ours.

    Args:
        page: name of the folder, e.g. ``tokenizers``.
        section: name of the file, without its ending.

    Raises:
        ContentUnusable: there is no such file.
    """
    overlay, bundled = _files(page, section)
    ours = _read(*bundled) if bundled else None
    if ours is None:
        wanted = f"assets/content/{page}/{section}.md"
        raise ContentUnusable(f"There is no content file {wanted}: write one that begins with +++, title = “…”, +++.")
    return _overlaid(*overlay, *bundled) if overlay and bundled else ours


def whole(page: str, section: str) -> Content:
    """The host's file if there is one, else the bundled one: a lesson's steps are replaced together.

    Raises:
        ContentUnusable: there is no such file, or it cannot be parsed; the message names file and line.
    """
    stored = next(filter(None, _files(page, section)), None)
    if stored is None:
        raise ContentUnusable(f"There is no content file {page}/{section}.md.")
    return _read(*stored)


def _files(page: str, section: str) -> tuple[_Stored | None, _Stored | None]:
    """The host's and the bundled file, each with the time of its last change."""
    if not (_NAME.fullmatch(page) and _NAME.fullmatch(section)):
        raise ContentUnusable(f"“{page}/{section}” is not a name of a content file.")
    try:
        overlay = settings().content_dir
    except SettingUnusable:  # the page shows this error below its title, which is read here
        overlay = None
    return _stored(overlay, page, section), _stored(ROOT, page, section)


def _stored(root: Path | None, page: str, section: str) -> _Stored | None:
    path = root / page / f"{section}.md" if root else None
    try:
        return (path, path.stat().st_mtime_ns) if path else None
    except OSError:
        return None


def overlay_problems(root: Path) -> Iterator[str]:
    """A sentence for each file below ``root`` that replaces nothing, or that cannot replace what it names."""
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root)
        if path.is_dir() or any(part.startswith(".") for part in name.parts):
            continue
        bundled = ROOT / name
        if len(name.parts) != 2 or name.suffix != ".md" or not bundled.is_file():
            near = get_close_matches(name.as_posix(), [f"{page}/{section}.md" for page, section in names()], 1)
            yield f"{name} replaces no text of the Atlas{f'; did you mean {near[0]}?' if near else '.'}"
            continue
        try:
            theirs = parse_file(path)
            if not is_lesson(*name.with_suffix("").parts):  # it is read as a lesson, which reports more
                overlaid(parse_file(bundled), theirs)
        except ContentUnusable as error:
            yield f"{name.parent}/{error}"


def is_lesson(page: str, section: str) -> bool:
    """Whether a content file is a lesson, whose parts are steps: no other file's name begins with a number."""
    return page == "lessons" and section[:1].isdigit()


def overlaid(ours: Content, theirs: Content) -> Content:
    """Our file with the labels and parts of a host's.

    Raises:
        ContentUnusable: a label or a part that ours lacks, a label of another type, a placeholder without a value.
    """
    for name, value in theirs.front.items():
        standard = ours.front.get(name)
        if standard is None:
            raise ContentUnusable(f"{theirs.path.name}: {name} is no label of this text. {_near(name, ours.front)}")
        if type(value) is not type(standard):
            takes = (
                "a text in quotes"
                if isinstance(standard, str)
                else f"a {type(standard).__name__}, as in the bundled file"
            )
            raise ContentUnusable(f"{theirs.path.name}: {name} takes {takes}.")
    for name, part in theirs.parts.items():
        if name not in ours.parts and name not in _OPTIONAL:
            where = f"{theirs.path.name}, line {part.line - 1}"
            raise ContentUnusable(f"{where}: “## {name}” is no part of this text. {_near(name, ours.parts)}")
        allowed = {match[1] for match in _PLACEHOLDER.finditer(ours.parts[name].text)} if name in ours.parts else set()
        for match in _PLACEHOLDER.finditer(part.text):
            if match[1] not in allowed:
                raise _no_placeholder(theirs, part, match, allowed)
    return Content(theirs.path, {**ours.front, **theirs.front}, {**ours.parts, **theirs.parts})


_OPTIONAL = ("Try", "Notice")


def _near(name: str, names: Collection[str]) -> str:
    near = get_close_matches(name, names, 1)
    return f"Did you mean “{near[0]}”?" if near else f"It has: {', '.join(names) or 'none'}."


def _no_placeholder(file: Content, part: Part, match: re.Match[str], allowed: Collection[str]) -> ContentUnusable:
    line = part.line + part.text.count("\n", 0, match.start())
    return ContentUnusable(
        f"{file.file}, line {line}: “{match[0]}” is not a placeholder here; available: "
        f"{', '.join(sorted(allowed)) or 'none'}."
    )


def names() -> list[tuple[str, str]]:
    """Folder and name of every content file."""
    return sorted((path.parent.name, path.stem) for path in ROOT.glob("*/*.md"))


@lru_cache(maxsize=512)
def _read(path: Path, changed: int) -> Content:
    return parse_file(path)


@lru_cache(maxsize=512)
def _overlaid(theirs: Path, changed: int, ours: Path, ours_changed: int) -> Content:
    bundled = _read(ours, ours_changed)
    try:
        return overlaid(bundled, _read(theirs, changed))
    except ContentUnusable as error:
        logging.getLogger("atlas").warning("%s/%s The bundled text is shown.", theirs.parent.name, error)
        return bundled


def parse_file(path: Path) -> Content:
    """A file as :class:`Content`.

    Raises:
        ContentUnusable: it cannot be read, or not parsed.
    """
    try:
        return parse(path.read_text(encoding="utf-8"), path)
    except (OSError, UnicodeDecodeError) as error:
        raise ContentUnusable(f"{path.name} cannot be read as UTF-8 text: {error}.") from error


def toml(text: str, where: str, above: int) -> dict[str, Any]:
    """The TOML in a file, below its first ``above`` lines.

    Raises:
        ContentUnusable: it is not valid; the message names the line of the file.
    """
    try:
        return tomllib.loads("\n" * above + text)
    except tomllib.TOMLDecodeError as error:
        wrong = str(error)
    except RecursionError:
        wrong = f"it nests too deeply (below line {above})"
    except ValueError:  # as of an integer with thousands of digits
        wrong = f"it holds a number that is too long (below line {above})"
    raise ContentUnusable(f"{where} is not valid TOML: {wrong}.")


def parse(text: str, path: Path) -> Content:
    """A file's text as :class:`Content`.

    Raises:
        ContentUnusable: unfinished or invalid front matter, text before the first heading, a repeated part.
    """
    lines = text.removeprefix("\ufeff").splitlines()  # some editors begin a file with a byte order mark
    front: dict[str, Any] = {}
    start = 0
    if lines and lines[0].strip() == _FENCE:
        end = next((i for i, line in enumerate(lines[1:], 1) if line.strip() == _FENCE), None)
        if end is None:
            raise ContentUnusable(f"{path.name}, line 1: the front matter has no second line “{_FENCE}”.")
        front = toml("\n".join(lines[1:end]), f"{path.name}: the front matter", 1)
        start = end + 1
    parts: dict[str, Part] = {}
    name, begin, collected = "", 0, list[str]()
    for number, line in enumerate([*lines[start:], "## "], start + 1):
        if not line.startswith("## "):
            if not name and line.strip():
                raise ContentUnusable(f"{path.name}, line {number}: text before the first heading “## …”.")
            collected.append(line)
            continue
        if name:
            text = "\n".join(collected)
            parts[name] = Part(text.strip("\n"), begin + 1 + len(text) - len(text.lstrip("\n")))
        name, begin, collected = line[3:].strip(), number, []
        if name in parts:
            raise ContentUnusable(f"{path.name}, line {number}: the part “## {name}” occurs twice.")
    return Content(path, front, parts)
