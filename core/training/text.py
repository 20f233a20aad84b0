"""The text of a training: what is refused, which lines are held out, and the ready texts."""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass

from core.errors import InputTooLong, InputUnusable
from core.settings import raised_with, settings

FEWEST = 2_000
"""Characters of a text."""
_LEAST_COMPRESSED = 100
"""Bytes to which a text compresses at least: one that repeats itself has nothing to hold out."""
EVERY = 10
"""Each tenth line is held out."""
_FEWEST_LINES = 40
"""Of a text with fewer, such as a pasted page, each sentence is a line."""
_LONGEST_LINE = 1_000
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\ufffd]")


@dataclass(frozen=True, slots=True)
class Corpus:
    """Lines of a text, without empty ones; each is a document."""

    train: tuple[str, ...]
    held_out: tuple[str, ...]
    """Those of every tenth line that are not among ``train``."""

    @property
    def size(self) -> int:
        """Bytes to train on, line ends included."""
        return count_bytes(self.train)


def count_bytes(lines: tuple[str, ...]) -> int:
    """UTF-8 bytes of lines, each with its end."""
    return sum(len(line.encode()) + 1 for line in lines)


def read_upload(data: bytes) -> str:
    """The text of a file.

    Raises:
        InputUnusable: it is not UTF-8 text.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputUnusable(
            "This file is not text in UTF-8. Save it as plain text (.txt) and choose it again."
        ) from None
    return text


def split(text: str) -> Corpus:
    """Hold out every tenth line of a text.

    Raises:
        InputUnusable: it is too short, repeats itself, or is not text.
        InputTooLong: it is longer than the settings allow.
    """
    if len(_CONTROL.findall(text)) > len(text) / 1_000:
        raise InputUnusable("This is no text: it holds control characters. Paste plain text, or choose a .txt file.")
    text = _CONTROL.sub("", text).encode("utf-8", "replace").decode()
    if len(text.strip()) < FEWEST:
        raise InputUnusable(
            f"The text has {len(text.strip()):,} characters, and {FEWEST:,} are the fewest to train on. "
            "Paste more, such as a few pages, or choose a ready text."
        )
    if (size := len(text.encode())) > (most := settings().max_training_kb * 1_000):
        raise InputTooLong(
            f"The text has {size / 1_000:,.0f} kB, and {most / 1_000:,.0f} are the most. A part of it works. "
            f"{raised_with('max_training_kb')}"
        )
    if len(zlib.compress(text.encode())) < _LEAST_COMPRESSED:
        raise InputUnusable("The text says the same over and over, so there is nothing to learn. Paste a varied text.")
    return hold_out(_lines(text))


def _lines(text: str) -> list[str]:
    lines = [line for raw in text.splitlines() if (line := raw.strip())]
    if len(lines) < _FEWEST_LINES:
        lines = [sentence for line in lines for sentence in _SENTENCE_END.split(line)]
    return [line[at : at + _LONGEST_LINE] for line in lines for at in range(0, len(line), _LONGEST_LINE)]


def hold_out(lines: list[str]) -> Corpus:
    """Raises :class:`InputUnusable` where every held-out line stands in the rest, too."""
    train = tuple(line for number, line in enumerate(lines, 1) if number % EVERY)
    read = set(train)
    held_out = tuple(line for line in lines[EVERY - 1 :: EVERY] if line not in read)
    if not held_out:
        raise InputUnusable(
            "Every tenth line is held out to test the model, and here each of them stands in the rest, too. "
            "Paste a text with more different lines."
        )
    return Corpus(train, held_out)
