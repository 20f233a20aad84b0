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
A host that sets ``ATLAS_CONTENT_DIR`` overlays single files; a changed file is read in the next run.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from core.errors import ContentUnusable, SettingUnusable
from core.settings import settings

ROOT = Path(__file__).parents[1] / "assets" / "content"
_PLACEHOLDER = re.compile(r"\{\{([a-z_]+)\}\}")
_FENCE = "+++"
_NAME = re.compile(r"[a-z0-9-]+")


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
            raise ContentUnusable(f"{self.path.name}, line 1: the front matter lacks {name} = “…”.")
        return value

    def has(self, part: str) -> bool:
        """Whether the file has this part; Try and Notice are optional."""
        return part in self.parts

    def part(self, name: str, /, **values: str | int | float) -> str:
        """The part as Markdown, with its placeholders replaced by ``values``.

        Raises:
            ContentUnusable: the file lacks the part, or a placeholder has no value.
        """
        stored = self.parts.get(name)
        if stored is None:
            raise ContentUnusable(f"{self.path.name} lacks the part “## {name}”.")

        def filled(match: re.Match[str]) -> str:
            if match[1] not in values:
                at = stored.line + stored.text.count("\n", 0, match.start())
                available = ", ".join(sorted(values)) or "none"
                raise ContentUnusable(
                    f"{self.path.name}, line {at}: “{match[0]}” is not a placeholder here; available: {available}."
                )
            return str(values[match[1]])

        return _PLACEHOLDER.sub(filled, stored.text)


def content(page: str, section: str = "page") -> Content:
    """The text of a section, or of the page itself.

    Args:
        page: name of the folder, e.g. ``tokenizers``.
        section: name of the file, without its ending.

    Raises:
        ContentUnusable: there is no such file, or it cannot be parsed; the message names file and line.
    """
    if not (_NAME.fullmatch(page) and _NAME.fullmatch(section)):
        raise ContentUnusable(f"“{page}/{section}” is not a name of a content file.")
    try:
        overlay = settings().content_dir
    except SettingUnusable:  # the page shows this error below its title, which is read here
        overlay = None
    for root in (overlay, ROOT) if overlay else (ROOT,):
        path = root / page / f"{section}.md"
        try:
            changed = path.stat().st_mtime_ns
        except OSError:
            continue
        return _read(path, changed)
    raise ContentUnusable(f"There is no content file {page}/{section}.md.")


def page_title(page: str) -> str:
    """A page's name in the navigation; the bundled one where an overlay is unreadable, which the page reports."""
    try:
        return content(page).title
    except ContentUnusable:
        path = ROOT / page / "page.md"
        return _read(path, path.stat().st_mtime_ns).title


def names() -> list[tuple[str, str]]:
    """Folder and name of every content file."""
    return sorted((path.parent.name, path.stem) for path in ROOT.glob("*/*.md"))


@lru_cache(maxsize=512)
def _read(path: Path, changed: int) -> Content:
    try:
        return parse(path.read_text(encoding="utf-8"), path)
    except (OSError, UnicodeDecodeError) as error:
        raise ContentUnusable(f"{path.name} cannot be read as UTF-8 text: {error}.") from error


def parse(text: str, path: Path) -> Content:
    """A file's text as :class:`Content`.

    Raises:
        ContentUnusable: unfinished or invalid front matter, text before the first heading, a repeated part.
    """
    lines = text.splitlines()
    front: dict[str, Any] = {}
    start = 0
    if lines and lines[0].strip() == _FENCE:
        end = next((i for i, line in enumerate(lines[1:], 1) if line.strip() == _FENCE), None)
        if end is None:
            raise ContentUnusable(f"{path.name}, line 1: the front matter has no second line “{_FENCE}”.")
        try:
            front = tomllib.loads("\n".join(lines[1:end]))
        except tomllib.TOMLDecodeError as error:
            raise ContentUnusable(f"{path.name}: the front matter is not valid TOML: {error}.") from error
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
            parts[name] = Part("\n".join(collected).strip("\n"), begin + 1)
        name, begin, collected = line[3:].strip(), number, []
        if name in parts:
            raise ContentUnusable(f"{path.name}, line {number}: the part “## {name}” occurs twice.")
    return Content(path, front, parts)
