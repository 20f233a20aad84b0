"""The content of a room. All of it comes from visitors: it is bounded, and validated wherever it is read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Annotated

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

MAX_QUESTION = 200
"""The longest question, in characters."""
MAX_ANSWER = 40
"""The longest option and the longest free answer, in characters."""
OPTIONS = (2, 6)
"""The fewest and the most options of a question; one without any takes a free answer."""
_CLOSED = ConfigDict(extra="forbid")

Option = Annotated[str, Field(min_length=1, max_length=MAX_ANSWER)]


@dataclass(frozen=True, slots=True, config=_CLOSED)
class View:
    """A page and the query of its link; the page validates the query as that of any link."""

    page: Annotated[str, Field(pattern=r"^[a-z0-9-]{1,40}$")]
    query: Annotated[dict[str, Annotated[str, Field(max_length=8_000)]], Field(max_length=80)]


@dataclass(frozen=True, slots=True, config=_CLOSED)
class Question:
    """A question to the room, its options (none: a free answer), and whether the answers are shown."""

    number: int
    text: Annotated[str, Field(min_length=1, max_length=MAX_QUESTION)]
    options: Annotated[tuple[Option, ...], Field(max_length=OPTIONS[1])] = ()
    revealed: bool = False


@dataclass(frozen=True, slots=True, config=_CLOSED)
class Room:
    """The state shared by all in a room; each change increases its ``version``."""

    version: str
    view: View
    question: Question | None


def clean(text: str, most: int = MAX_ANSWER) -> str:
    """``text`` on one line, without invisible characters, cut after ``most`` characters."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())[:most].rstrip()


def tally(answers: Iterable[str], options: tuple[str, ...] = ()) -> list[tuple[str, int]]:
    """Each answer with its count.

    Options stand in their order, those that nobody chose included. Free answers that differ in case alone count as one,
    spelled as most spell it; the most frequent comes first.
    """
    spellings = Counter(answers)
    if options:
        return [(option, spellings[option]) for option in options]
    counts: Counter[str] = Counter()
    spelled: dict[str, str] = {}
    for spelling, count in spellings.most_common():
        counts[spelled.setdefault(spelling.casefold(), spelling)] += count
    return counts.most_common()
