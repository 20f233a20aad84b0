"""Rooms: an instructor leads, followers see the same view and answer questions; nobody has a name, nothing is kept.

A room is a code of four letters, the view that its instructor shows, and at most one question with its answers. It
lives in this process, or in Redis where ``ATLAS_REDIS_URL`` names one, so that the processes of an installation share
it; it is deleted when its instructor ends it or has been away for half an hour.

The content of a room comes from visitors: it is bounded, and validated wherever it is read. Who opened a room holds its
token; a follower is a random word that a tab has. The instructor's poll renews the room.
"""

from __future__ import annotations

import hmac
import secrets
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from itertools import accumulate
from typing import Annotated

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from core.errors import RoomRefused, RoomUnknown
from core.rooms.store import Memory, Store, redis_store
from core.settings import raised_with, settings
from core.words import JOINERS, graphemes

MAX_QUESTION = 200
"""The longest question, in characters."""
MAX_ANSWER = 40
"""The longest option and the longest free answer, in characters."""
OPTIONS = (2, 6)
"""The fewest and the most options of a question; one without any takes a free answer."""
_CLOSED = ConfigDict(extra="forbid")

Option = Annotated[str, Field(min_length=1, max_length=MAX_ANSWER)]
POLL = 2.0
"""Seconds between two looks of a tab at its room."""
AWAY = 150.0
"""Seconds without a sign of a follower, after which the place is free; browsers wake a hidden tab once a minute."""
KEEP = 1_800
"""Seconds that a room outlives the last sign of its instructor."""
ENDED = 300
"""Seconds for which an ended room says so to those who follow it."""
LETTERS = "BCDFGHJKLMNPQRSTVWXZ"
"""Letters of codes: no vowels, so that no code is a word, and no Y."""


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
    """``text`` on one line, without invisible characters except joiners, cut to ``most`` characters or fewer.

    No character is cut in two: emoji keep their joiners, letters their marks.
    """
    line = " ".join("".join(c if c.isprintable() or c in JOINERS else " " for c in text).split())
    ends = accumulate(map(len, graphemes(line[: 2 * most])))
    return line[: max((end for end in ends if end <= most), default=0)].strip(JOINERS + " ")


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


_ROOMS = "atlas:rooms"
_VIEW, _QUESTION = TypeAdapter(View), TypeAdapter(Question)


def _name(code: str, *parts: object) -> str:
    return ":".join(("atlas:room", code, *map(str, parts)))


def spelled(code: str) -> str:
    """A code as it was typed, without blanks, in capitals."""
    return "".join(code.split()).upper()[:8]


class Rooms:
    def __init__(self, store: Store) -> None:
        self._store = store

    def open(self, view: View, code: str | None = None, token: str | None = None) -> tuple[str, str]:
        """Open a room at ``view``: its code and the token of its instructor.

        With ``code`` and ``token``, a room that was lost with its store is opened anew; its followers stay.

        Raises:
            RoomRefused: as many rooms as the settings allow are open, or the code is another's.
            RoomsUnavailable: the store is away.
        """
        store, now = self._store, self._store.time()[0]
        store.zremrangebyscore(_ROOMS, 0, now - KEEP)
        if store.zcard(_ROOMS) >= (most := settings().max_rooms):
            raise RoomRefused(
                f"The limit of {most:,} open rooms is reached. A room becomes free when its instructor ends it. "
                f"{raised_with('max_rooms')}"
            )
        token = token or secrets.token_urlsafe(18)
        codes = [code] if code else ["".join(secrets.choice(LETTERS) for _ in range(4)) for _ in range(50)]
        for code in codes:
            if store.hsetnx(_name(code), "host", token):
                self._change(code, view=_VIEW.dump_json(view).decode())
                store.zadd(_ROOMS, {code: now})
                return code, token
        raise RoomRefused("No code is free for a new room. Try again.")

    def show(self, code: str, token: str, view: View) -> None:
        """Lead the followers to ``view``.

        Raises:
            RoomUnknown: the room is not there, or ``token`` is not its instructor's; so do the other methods.
            RoomsUnavailable: the store is away; so do the other methods.
        """
        self._lead(code, token)
        self._change(code, view=_VIEW.dump_json(view).decode())

    def ask(self, code: str, token: str, text: str, options: tuple[str, ...] = ()) -> None:
        """Ask ``text``, with 2 to 6 options or a free answer; the question before it goes.

        Raises:
            RoomRefused: no text, a single option, too many, or too long ones.
        """
        self._lead(code, token)
        try:
            question = Question(secrets.randbits(48), text, options)
        except ValidationError:
            question = None
        if question is None or len(set(options)) == 1:
            raise RoomRefused(
                f"A question needs a text, and either {OPTIONS[0]} to {OPTIONS[1]} options of up to 40 characters, one "
                "a line, or none, for a free answer."
            )
        self._forget_answers(code)
        self._change(code, question=_QUESTION.dump_json(question).decode())

    def reveal(self, code: str, token: str) -> None:
        """Show the answers to all; none is taken any more."""
        self._lead(code, token)
        if (question := self._question(code)) is not None:
            self._change(code, question=_QUESTION.dump_json(replace(question, revealed=True)).decode())

    def clear(self, code: str, token: str) -> None:
        """Take the question away, and delete its answers."""
        self._lead(code, token)
        self._forget_answers(code)
        self._change(code, question="")

    def end(self, code: str, token: str) -> None:
        """End the room: what it held is deleted, and followers read that it has ended."""
        self._lead(code, token)
        self._forget_answers(code)
        self._change(code, view="", question="")
        self._store.delete(_name(code, "followers"))
        self._store.zrem(_ROOMS, code)
        self._store.expire(_name(code), ENDED)

    def attend(self, code: str, token: str) -> tuple[int, int]:
        """Renew the room for its instructor: how many follow, and how many have answered the question."""
        self._lead(code, token)
        store, now, question = self._store, self._store.time()[0], self._question(code)
        for name in (_name(code), _name(code, "followers")):
            store.expire(name, KEEP)
        store.zadd(_ROOMS, {code: now})
        store.zremrangebyscore(_name(code, "followers"), 0, now - AWAY)
        answered = store.hlen(_name(code, "answers", question.number)) if question else 0
        return store.zcard(_name(code, "followers")), answered

    def join(self, code: str, follower: str) -> None:
        """Take a place as ``follower``, or keep it; do so more often than every ``AWAY`` seconds.

        Raises:
            RoomRefused: the room is full.
        """
        if not self._store.hget(_name(code), "view"):
            raise RoomUnknown(f"There is no room “{code}”. Check the code with your instructor.")
        now, followers = self._store.time()[0], _name(code, "followers")
        self._store.zremrangebyscore(followers, 0, now - AWAY)
        self._store.zadd(followers, {follower: now})
        self._store.expire(followers, KEEP)
        if self._store.zcard(followers) > (most := settings().max_followers):
            self._store.zrem(followers, follower)
            raise RoomRefused(f"Room {code} is full: {most:,} follow it. {raised_with('max_followers')}")

    def leave(self, code: str, follower: str) -> None:
        """Give the place back."""
        self._store.zrem(_name(code, "followers"), follower)

    def version(self, code: str) -> str | None:
        """The version of a room; None where there is none. This is all that a tab asks for until it changes."""
        return self._store.hget(_name(code), "version")

    def room(self, code: str) -> Room | None:
        """What a room holds now; None where it has ended or is not there."""
        fields = self._store.hgetall(_name(code))
        try:
            question = _QUESTION.validate_json(fields["question"]) if fields.get("question") else None
            return Room(fields["version"], _VIEW.validate_json(fields["view"]), question)
        except (KeyError, ValidationError):
            return None

    def answer(self, code: str, follower: str, question: Question, answer: str) -> bool:
        """Answer ``question``, or change the answer; False where it is answered no more."""
        now = self._question(code)
        if now is None or now.number != question.number or now.revealed or not 0 < len(answer) <= 40:
            return False
        name = _name(code, "answers", question.number)
        if (question.options and answer not in question.options) or self._store.hlen(name) > settings().max_followers:
            return False
        self._store.hset(name, mapping={follower: answer})
        self._store.expire(name, KEEP)
        return True

    def answers(self, code: str, question: Question) -> list[tuple[str, int]]:
        """The answers to ``question`` so far, as :func:`tally` counts them."""
        return tally(self._store.hgetall(_name(code, "answers", question.number)).values(), question.options)

    def _question(self, code: str) -> Question | None:
        room = self.room(code)
        return room.question if room else None

    def _lead(self, code: str, token: str) -> None:
        """Raise where ``token`` does not lead the room ``code``."""
        host = self._store.hget(_name(code), "host")
        if host is None or not hmac.compare_digest(host.encode(), token.encode()):
            raise RoomUnknown(f"There is no room “{code}” that this tab leads.")

    def _change(self, code: str, **fields: str) -> None:
        self._store.hset(_name(code), mapping={**fields, "version": secrets.token_hex(8)})
        self._store.expire(_name(code), KEEP)

    def _forget_answers(self, code: str) -> None:
        if (question := self._question(code)) is not None:
            self._store.delete(_name(code, "answers", question.number))


@cache
def in_memory() -> Rooms:
    return Rooms(Memory())


@cache
def _redis(url: str) -> Rooms:
    return Rooms(redis_store(url))


def rooms() -> Rooms:
    """The rooms of this installation, in Redis where ``ATLAS_REDIS_URL`` is set.

    Raises:
        RoomsUnavailable: the Python package that speaks with Redis is missing.
    """
    url = settings().redis_url
    return _redis(url) if url else in_memory()
