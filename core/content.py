"""The words of a page: ``assets/content/<page>/<section>.md``, read, checked and filled with a run's numbers.

A file begins with front matter in TOML between two lines ``+++`` (``title``, ``line``, whatever labels the section
names), then come its parts, each under a heading ``## Name``::

    +++
    title = "Side by side"
    +++
    ## Try
    A sentence in another language.
    ## Notice
    The text is {{tokens}} tokens.

What search finds of it are rows of the front matter: ``line`` says what is there, ``words`` are further names, and
``query`` is what the link carries where that is not the section itself::

    [[search]]
    line = "One prompt under several decoding strategies."
    words = ["greedy", "sampling"]

Numbers of a run stand in a part as ``{{name}}``. What a visitor typed never goes there: placeholders take numbers and
names of ours. A host that sets ``ATLAS_CONTENT_DIR`` overlays single files; a changed file shows with the next run.
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
    """One part of a file: Markdown, and the line on which it begins."""

    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Content:
    """The words of one page or section."""

    path: Path
    front: Mapping[str, Any]
    parts: Mapping[str, Part]

    @property
    def title(self) -> str:
        """What the navigation calls it."""
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
        """Whether the file has this part; Try and Notice need not be everywhere."""
        return part in self.parts

    def part(self, name: str, /, **values: str | int | float) -> str:
        """The part as Markdown, with ``values`` in the place of its placeholders.

        Raises:
            ContentUnusable: the file lacks the part, or it names a placeholder that the section does not know.
        """
        found = self.parts.get(name)
        if found is None:
            raise ContentUnusable(f"{self.path.name} lacks the part “## {name}”.")

        def filled(match: re.Match[str]) -> str:
            if match[1] not in values:
                at = found.line + found.text.count("\n", 0, match.start())
                known = ", ".join(sorted(values)) or "none"
                raise ContentUnusable(
                    f"{self.path.name}, line {at}: “{match[0]}” is no placeholder of this part; it knows: {known}."
                )
            return str(values[match[1]])

        return _PLACEHOLDER.sub(filled, found.text)


def content(page: str, section: str = "page") -> Content:
    """The words of a section, or of the page itself.

    Args:
        page: name of the folder, e.g. ``tokenizers``.
        section: name of the file, without its ending.

    Raises:
        ContentUnusable: there is no such file, or it cannot be read as one; the sentence names file and line.
    """
    if not (_NAME.fullmatch(page) and _NAME.fullmatch(section)):
        raise ContentUnusable(f"“{page}/{section}” is no name of a content file.")
    try:
        overlay = settings().content_dir
    except SettingUnusable:  # the page says so below its title, which comes from here
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
    """What the navigation calls a page; where an overlay cannot be read, which that page says, our own title."""
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
        ContentUnusable: front matter that does not end or is no TOML, text before the first heading, a part twice.
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
    name, begun, held = "", 0, list[str]()
    for number, line in enumerate([*lines[start:], "## "], start + 1):
        if not line.startswith("## "):
            if not name and line.strip():
                raise ContentUnusable(f"{path.name}, line {number}: text before the first heading “## …”.")
            held.append(line)
            continue
        if name:
            parts[name] = Part("\n".join(held).strip("\n"), begun + 1)
        name, begun, held = line[3:].strip(), number, []
        if name in parts:
            raise ContentUnusable(f"{path.name}, line {number}: the part “## {name}” stands twice.")
    return Content(path, front, parts)
