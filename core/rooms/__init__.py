"""Rooms: an instructor leads, followers see the same view and answer questions; nobody has a name, nothing is kept.

A room is a code of four letters, the view that its instructor shows, at most one question with its answers, and what
it writes and trains together (:class:`~core.rooms.classroom.Classroom`). It lives in this process, or in Redis where
``ATLAS_REDIS_URL`` names one, so that the processes of an installation share it; it is deleted when its instructor ends
it or has been away for half an hour.

The content of a room comes from visitors: it is bounded, and validated wherever it is read. Who opened a room holds its
token; a follower is a random word that a tab has. The instructor's poll renews the room.

A token is made and signed here, for one code, and stored as its hash. So whoever reads the store leads no room, and a
room that was lost with its store is opened again by its own token alone, as long as the key is the same. What is new
has a place for a moment only, until its tab shows that it is still there; how many rooms one address opens, and how
many codes it tries, is bounded by the minute (:class:`Pace`).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError, model_validator
from pydantic.dataclasses import dataclass

from core.errors import RoomRefused, RoomUnknown
from core.quiz import Option, Quiz
from core.rooms.classroom import Classroom
from core.rooms.store import Memory, Store, redis_store
from core.settings import raised_with, settings

MAX_QUESTION = 200
"""The longest question, in characters."""
MAX_ANSWER = 40
"""The longest option and the longest free answer, in characters."""
OPTIONS = (2, 6)
"""The fewest and the most options of a question; one without any takes a free answer."""
_CLOSED = ConfigDict(extra="forbid")

POLL = 2.0
"""Seconds between two looks of a tab at its room."""
AWAY = 150.0
"""Seconds without a sign of a follower, after which the place is free; browsers wake a hidden tab once a minute."""
TRIAL = 20.0
"""Seconds for which a new follower has a place without a further sign: a tab gives one after some seconds."""
FIRST = 60.0
"""Seconds that a new room outlives its opening without a sign of its instructor."""
OPENED, JOINED, WRONG = 10, 10, 60
"""In a minute: rooms that one address opens, rooms that one tab joins, codes without a room that one address tries."""
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
    """A question to the room: with options, or for a free answer."""

    number: int
    quiz: Quiz
    covered: bool = False
    """Whether a follower's view is covered until it is answered."""
    revealed: bool = False
    """Whether the answers are shown."""

    @model_validator(mode="after")
    def _fits(self) -> Question:
        texts = self.quiz.texts
        if not 0 < len(self.quiz.text) <= MAX_QUESTION or len(texts) > OPTIONS[1] or len(set(texts)) != len(texts):
            raise ValueError("the question, or the number of its options")
        if len(texts) == 1 or not all(0 < len(text) <= MAX_ANSWER for text in texts):
            raise ValueError("its options")
        return self


@dataclass(frozen=True, slots=True, config=_CLOSED)
class Room:
    """The state shared by all in a room; each change increases its ``version``."""

    version: str
    view: View
    question: Question | None
    gathers: Literal["", "open", "closed"] = ""
    """Whether lines of a text are taken, or were."""
    trains: bool = False
    """Whether a model is trained on it."""
    model: Annotated[str, Field(pattern=r"^([0-9a-f]{32}-\d{1,9}-room)?$")] = ""
    """The location of that model, once all may use it."""


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


_SIGNATURE = 43
"""Characters of the signature at the end of a token."""


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def _name(code: str, *parts: object) -> str:
    return ":".join(("atlas:room", code, *map(str, parts)))


def spelled(code: str) -> str:
    """A code as it was typed, without blanks, in capitals."""
    return "".join(code.split()).upper()[:8]


class Pace:
    """At most ``most`` acts a minute of each who acts; ``""`` is nobody and not counted."""

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._clock = most, clock
        self._acts: dict[str, deque[float]] = {}

    def full(self, who: str) -> bool:
        """Whether ``who`` has to wait."""
        acts = self._acts.get(who)
        return acts is not None and len(acts) == self._most and acts[0] > self._clock() - 60

    def count(self, who: str) -> None:
        """One more act of ``who``; those who have not acted for a minute are forgotten."""
        if who:
            now = self._clock()
            for other in [name for name, acts in list(self._acts.items()) if acts[-1] < now - 60]:
                self._acts.pop(other, None)
            self._acts.setdefault(who, deque(maxlen=self._most)).append(now)


class Rooms:
    """The rooms of a store; ``key`` signs tokens.

    ``address`` and ``tab`` of its methods are those of the visitor, as far as they are known.
    """

    def __init__(self, store: Store, key: str = "") -> None:
        self._store = store
        self._key = (key or secrets.token_hex()).encode()
        self._opened, self._joined, self._wrong = Pace(OPENED), Pace(JOINED), Pace(WRONG)
        self.classroom = Classroom(store, _name, self._lead, self._change, KEEP)

    def open(self, view: View, address: str = "") -> tuple[str, str]:
        """Open a room at ``view``: its code and the token of its instructor.

        Raises:
            RoomRefused: as many rooms as the settings allow are open, or too many were just opened from here.
            RoomsUnavailable: the store is away.
        """
        if self._opened.full(address):
            raise RoomRefused(f"More than {OPENED} rooms were opened from your network. Try again in a minute.")
        self._opened.count(address)
        for _ in range(50):
            code = "".join(secrets.choice(LETTERS) for _ in range(4))
            word = secrets.token_urlsafe(12)
            if self._open(view, code, token := word + self._signature(code, word), FIRST):
                return code, token
        raise RoomRefused("No code is free for a new room. Try again.")

    def open_again(self, view: View, code: str, token: str) -> None:
        """Open a room that was lost with its store, under its code; its followers stay.

        Raises:
            RoomUnknown: the token was not made here for this code, or the code is another's now.
            RoomRefused: as many rooms as the settings allow are open.
        """
        word, signature = token[:-_SIGNATURE], token[-_SIGNATURE:]
        signed = hmac.compare_digest(signature.encode(), self._signature(code, word).encode())
        if not (signed and self._open(view, code, token, KEEP)):
            raise RoomUnknown(f"There is no room “{code}” any more. Open a new one.")

    def _signature(self, code: str, word: str) -> str:
        digest = hmac.digest(self._key, f"{code}:{word}".encode(), "sha256")
        return base64.urlsafe_b64encode(digest).decode().rstrip("=")

    def _open(self, view: View, code: str, token: str, seconds: float) -> bool:
        """Whether the code was free: then the room is there, for so many seconds without a sign of its instructor."""
        store, now = self._store, self._store.time()[0]
        store.zremrangebyscore(_ROOMS, 0, now - KEEP)
        if store.zcard(_ROOMS) >= (most := settings().max_rooms):
            raise RoomRefused(
                f"The limit of {most:,} open rooms is reached. A room becomes free when its instructor ends it. "
                f"{raised_with('max_rooms')}"
            )
        if not store.hsetnx(_name(code), "host", _hash(token)):
            return False
        self._change(code, view=_VIEW.dump_json(view).decode())
        store.expire(_name(code), int(seconds))
        store.zadd(_ROOMS, {code: now - KEEP + seconds})
        return True

    def show(self, code: str, token: str, view: View) -> None:
        """Lead the followers to ``view``.

        Raises:
            RoomUnknown: the room is not there, or ``token`` is not its instructor's; so do the other methods.
            RoomsUnavailable: the store is away; so do the other methods.
        """
        self._lead(code, token)
        self._change(code, view=_VIEW.dump_json(view).decode())

    def ask(self, code: str, token: str, text: str, options: tuple[str, ...] = (), *, covered: bool = False) -> None:
        """Ask ``text``, with 2 to 6 options or a free answer; the question before it goes.

        Raises:
            RoomRefused: no text, a single option, too many, or too long ones.
        """
        self._lead(code, token)
        try:
            quiz = Quiz(text=text, options=tuple(Option(text=option) for option in options), most=MAX_ANSWER)
            question = Question(secrets.randbits(48), quiz, covered)
        except ValidationError:
            raise RoomRefused(
                f"A question needs a text, and either {OPTIONS[0]} to {OPTIONS[1]} options of up to 40 characters, one "
                "a line, or none, for a free answer."
            ) from None
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
        self._change(code, view="", question="", gathers="", trains="", model="")
        self._store.delete(_name(code, "followers"), *self.classroom.names(code))
        self._store.zrem(_ROOMS, code)
        self._store.expire(_name(code), ENDED)

    def attend(self, code: str, token: str) -> tuple[int, int]:
        """Renew the room for its instructor: how many follow, and how many have answered the question."""
        self._lead(code, token)
        store, now, question = self._store, self._store.time()[0], self._question(code)
        for name in (_name(code), _name(code, "followers"), *self.classroom.names(code)):
            store.expire(name, KEEP)
        store.zadd(_ROOMS, {code: now})
        store.zremrangebyscore(_name(code, "followers"), 0, now - AWAY)
        answered = store.hlen(_name(code, "answers", question.number)) if question else 0
        return store.zcard(_name(code, "followers")), answered

    def join(self, code: str, follower: str, address: str = "", tab: str = "") -> None:
        """Take a place as ``follower``, for ``TRIAL`` seconds, or keep it, for ``AWAY`` seconds each time.

        Raises:
            RoomRefused: the room is full, or this address or tab has tried too often.
        """
        if self._wrong.full(address) or self._joined.full(tab):
            raise RoomRefused("Too many codes were tried from here. Try again in a minute.")
        if not self._store.hget(_name(code), "view"):
            self._wrong.count(address)
            self._joined.count(tab)
            raise RoomUnknown(f"There is no room “{code}”. Check the code with your instructor.")
        now, followers = self._store.time()[0], _name(code, "followers")
        self._store.zremrangebyscore(followers, 0, now - AWAY)
        if self._store.zadd(followers, {follower: now}):
            self._joined.count(tab)
            self._store.zadd(followers, {follower: now - AWAY + TRIAL})
        self._store.expire(followers, KEEP)
        if self._store.zcard(followers) > (most := settings().max_followers):
            self._store.zrem(followers, follower)
            raise RoomRefused(f"Room {code} is full: {most:,} follow it. {raised_with('max_followers')}")

    def leave(self, code: str, follower: str) -> None:
        """Give the place back, and take back the answer to a question that is still open, and lines still unread."""
        self._store.zrem(_name(code, "followers"), follower)
        self.classroom.withdraw(code, follower)
        if (question := self._question(code)) is not None and not question.revealed:
            self._store.hdel(_name(code, "answers", question.number), follower)

    def version(self, code: str) -> str | None:
        """The version of a room; None where there is none. This is all that a tab asks for until it changes."""
        return self._store.hget(_name(code), "version")

    def room(self, code: str) -> Room | None:
        """What a room holds now; None where it has ended or is not there."""
        fields = self._store.hgetall(_name(code))
        try:
            question = _QUESTION.validate_json(fields["question"]) if fields.get("question") else None
            view, gathers, trains = _VIEW.validate_json(fields["view"]), fields.get("gathers", ""), fields.get("trains")
            return Room(fields["version"], view, question, gathers, trains == "yes", fields.get("model", ""))  # type: ignore[arg-type]
        except (KeyError, ValidationError):
            return None

    def answer(self, code: str, follower: str, question: Question, answer: str) -> bool:
        """Answer ``question``, or change the answer; False where it is answered no more."""
        now = self._question(code)
        if now is None or now.number != question.number or now.revealed or not 0 < len(answer) <= 40:
            return False
        name = _name(code, "answers", question.number)
        texts = question.quiz.texts
        if (texts and answer not in texts) or self._store.hlen(name) > settings().max_followers:
            return False
        self._store.hset(name, mapping={follower: answer})
        self._store.expire(name, KEEP)
        return True

    def given(self, code: str, follower: str, question: Question) -> str | None:
        """What ``follower`` has answered, also in a session before this one."""
        return self._store.hget(_name(code, "answers", question.number), follower)

    def answers(self, code: str, question: Question) -> list[tuple[str, int]]:
        """The answers to ``question`` so far, as :func:`tally` counts them."""
        return tally(self._store.hgetall(_name(code, "answers", question.number)).values(), question.quiz.texts)

    def _question(self, code: str) -> Question | None:
        room = self.room(code)
        return room.question if room else None

    def _lead(self, code: str, token: str) -> None:
        """Raise where ``token`` does not lead the room ``code``."""
        host = self._store.hget(_name(code), "host")
        if host is None or not hmac.compare_digest(host, _hash(token)):
            raise RoomUnknown(f"There is no room “{code}” that this tab leads.")

    def _change(self, code: str, **fields: str) -> None:
        self._store.hset(_name(code), mapping={**fields, "version": secrets.token_hex(8)})
        self._store.expire(_name(code), KEEP)

    def _forget_answers(self, code: str) -> None:
        if (question := self._question(code)) is not None:
            self._store.delete(_name(code, "answers", question.number))


@cache
def in_memory(key: str) -> Rooms:
    return Rooms(Memory(), key)


@cache
def _redis(url: str, key: str) -> Rooms:
    return Rooms(redis_store(url), key)


def rooms(key: str) -> Rooms:
    """The rooms of this installation, in Redis where ``ATLAS_REDIS_URL`` is set; ``key`` signs their tokens.

    Raises:
        RoomsUnavailable: the Python package that speaks with Redis is missing.
    """
    url = settings().redis_url
    return _redis(url, key) if url else in_memory(key)
