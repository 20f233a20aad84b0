"""Reads the corpus line by line and splits it into training and held-out text.

The split is a function of the text alone: a unit (a line, a book's title, an English sentence) is held out if its
eight-byte BLAKE2b digest, as an integer, is a multiple of ``every``. So equal units are on the same side.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from core.errors import AtlasError
from lab.recipe import SourceFile

TITLE = "=== "
"""The prefix of a line of ``stories.txt`` with the title of a book."""

_SENTENCE_END = re.compile(r"(?<=[.!?])([\"']?)\s+(?=[\"']?[A-Z])")
_WORD = re.compile(r"\w+")


class CorpusError(AtlasError):
    """The corpus folder or one of its files is missing, empty, or not text."""


@dataclass(frozen=True, slots=True)
class Item:
    """A line, a sentence or a paragraph; of a pair, both sides."""

    text: str
    held_out: bool
    other: str = ""
    """Second side of a tab-separated pair."""
    document: str = ""
    """Title of the book of the text."""
    line: int = 0
    """Line number, from 1."""


def normalized(text: str) -> str:
    """The words of a text in lower case; lines with equal words count as equal."""
    return " ".join(_WORD.findall(text.lower()))


def held_out(unit: str, every: int) -> bool:
    """Whether a unit is held out, as about one in ``every`` is; a function of its words alone."""
    digest = hashlib.blake2b(normalized(unit).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") % every == 0


def sentences(paragraph: str) -> list[str]:
    """The sentences of a paragraph: split after ``.``, ``!`` or ``?`` (and a closing quote) before a capital."""
    pieces: list[str] = []
    start = 0
    for match in _SENTENCE_END.finditer(paragraph):
        pieces.append(paragraph[start : match.end(1)].strip())
        start = match.end()
    pieces.append(paragraph[start:].strip())
    return [piece for piece in pieces if piece]


def open_file(corpus: Path, name: str) -> Path:
    """The path of a corpus file. Raises `CorpusError` where it or the folder is missing."""
    path = corpus / name
    if not corpus.is_dir():
        raise CorpusError(f"There is no corpus folder {corpus}. Give the folder of the training text with --corpus.")
    if not path.is_file():
        raise CorpusError(f"The corpus file {name} is missing in {corpus}. Give its folder with --corpus.")
    return path


def lines(corpus: Path, name: str) -> Iterator[str]:
    """The lines of a corpus file without line breaks.

    Raises:
        CorpusError: the file is missing, cannot be read, or is not UTF-8; then the message names the line.
    """
    path = open_file(corpus, name)
    complete_lines = 0
    try:
        with path.open("rb") as stream:
            for line in stream:
                yield line.decode("utf-8").rstrip("\r\n")
                complete_lines += 1
    except UnicodeDecodeError as error:
        where = f"line {complete_lines + 1} of {path}"
        raise CorpusError(
            f"The corpus has to be UTF-8, but {where} is not. Convert that file and try again."
        ) from error
    except OSError as error:
        raise CorpusError(f"The corpus file {path} cannot be read: {error.strerror or error}.") from error


def items_of(corpus: Path, source: SourceFile, *, every: int, books_every: int = 25) -> Iterator[Item]:
    """The items of a source. Stories are held out by book, pairs by their first side, other lines one by one."""
    book = ""
    for number, text in enumerate(lines(corpus, source.file), start=1):
        if source.last is not None and number > source.last:
            return
        if text.startswith(TITLE):
            book = text[len(TITLE) :]
            continue
        if number < source.first or not text.strip():
            continue
        text, _, other = text.partition("\t")
        out = held_out(book, books_every) if book else held_out(text, every)
        if not source.sentences:
            yield Item(text, out, other, book, number)
            continue
        cut = sentences(text)
        for start in range(0, len(cut), source.group):
            yield Item(" ".join(cut[start : start + source.group]), out, other, book, number)


def check(corpus: Path, sources: Sequence[SourceFile]) -> None:
    """Check, before anything expensive, that each source has text in its range of lines.

    Raises:
        CorpusError: the first unusable source, and the reason.
    """
    for source in sources:
        path = open_file(corpus, source.file)
        if not path.stat().st_size:
            raise CorpusError(f"The corpus file {path} is empty.")
        if next(items_of(corpus, source, every=2), None) is None:
            span = (
                f"in lines {source.first} to {source.last or 'the last'}"
                if source.first > 1 or source.last
                else "in it"
            )
            raise CorpusError(f"The corpus file {path} has no text {span}.")


def require(count: int, what: str, sources: Sequence[SourceFile]) -> None:
    """Raise `CorpusError` where ``count`` is 0: no text for ``what`` ("training", "measuring")."""
    if not count:
        names = ", ".join(dict.fromkeys(source.file for source in sources))
        raise CorpusError(f"The corpus is too small: of {names}, no text that fits the recipe is left for {what}.")


def held_out_books(folder: Path) -> dict[str, str]:
    """The first 100,000 characters of each held-out book, by title."""
    books: dict[str, list[str]] = {}
    for item in items_of(folder, SourceFile("stories.txt"), every=100):
        if item.held_out:
            books.setdefault(item.document, []).append(item.text)
    return {name: "\n".join(lines)[:100_000] + "\n" for name, lines in books.items()}
