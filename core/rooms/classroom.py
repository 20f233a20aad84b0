"""A text that a room writes, and the model that is trained on it; both end with the room.

While its instructor gathers, each follower sends up to ten lines, which nobody reads. Closed, they are one text in
random order, which the instructor alone reads and removes lines from. Then one tab trains: what it shows, and at the
end its model, are texts here that whoever reads them validates. All is bounded, and a line has no name.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from core.errors import InputTooLong, InputUnusable, RoomRefused
from core.rooms.store import Store
from core.settings import raised_with, settings
from core.words import one_line

MOST_LINES, MOST_LINE = 10, 200
"""Lines that one follower sends, and the characters of each."""
MOST_SHOWN = 100_000
"""Characters of what a training shows."""
MOST_MODEL = 9_000_000
"""Characters of a packed model."""


class Classroom:
    """The gathered text and the model of each room.

    Args:
        store: where the rooms live.
        name: the name under which the store has a room, or a part of it.
        lead: raises where a token does not lead a room.
        change: sets fields of a room, which gives it another version.
        keep: seconds that a room outlives the last sign of its instructor.
    """

    def __init__(
        self,
        store: Store,
        name: Callable[..., str],
        lead: Callable[[str, str], None],
        change: Callable[..., None],
        keep: int,
    ) -> None:
        self._store, self._name, self._lead, self._change, self._keep = store, name, lead, change, keep

    def names(self, code: str) -> tuple[str, str]:
        """The names under which the store has a room's lines, and what became of them."""
        return self._name(code, "lines"), self._name(code, "class")

    def gather(self, code: str, token: str) -> None:
        """Take lines, beside those that were gathered before.

        Raises:
            RoomUnknown: the room is not there, or ``token`` is not its instructor's; so do the others that take one.
        """
        self._lead(code, token)
        self._change(code, gathers="open")

    def send(self, code: str, follower: str, text: str) -> int:
        """Send the lines of ``text`` in place of those that ``follower`` has sent; how many they are.

        Raises:
            RoomRefused: no lines are taken now, or those of as many followers as the settings allow are there.
            InputTooLong: too many lines, or too long ones.
            InputUnusable: no line.
        """
        lines = [line for raw in text.splitlines() if (line := one_line(raw, len(raw)))]
        if len(lines) > MOST_LINES:
            raise InputTooLong(f"You wrote {len(lines):,} lines, and {MOST_LINES} are the most. Leave some out.")
        for number, line in enumerate(lines, 1):
            if len(line) > MOST_LINE:
                raise InputTooLong(
                    f"Line {number} has {len(line):,} characters, and {MOST_LINE} are the most. Make two lines of it."
                )
        if not lines:
            raise InputUnusable("There is no line to send. Write one in the box.")
        name, _ = self.names(code)
        if self._store.hget(self._name(code), "gathers") != "open":
            raise RoomRefused("The room takes no lines at the moment. Your instructor can open it again.")
        if not self._store.hget(name, follower) and self._store.hlen(name) >= (most := settings().max_followers):
            raise RoomRefused(f"{most:,} have sent lines, and no more fit. {raised_with('max_followers')}")
        self._store.hset(name, mapping={follower: "\n".join(lines)})
        self._store.expire(name, self._keep)
        return len(lines)

    def sent(self, code: str, follower: str) -> list[str]:
        """The lines of ``follower`` that are still to be read."""
        raw = self._store.hget(self.names(code)[0], follower)
        return raw.split("\n") if raw else []

    def withdraw(self, code: str, follower: str) -> None:
        """Take back what the instructor has not read."""
        self._store.hdel(self.names(code)[0], follower)

    def counts(self, code: str, token: str) -> tuple[int, int]:
        """How many lines are to be read, and of how many followers."""
        self._lead(code, token)
        sent = self._store.hgetall(self.names(code)[0]).values()
        return sum(len(lines.split("\n")) for lines in sent), len(sent)

    def close(self, code: str, token: str) -> str:
        """Take no more lines; the text with those that came, in random order.

        Raises:
            InputTooLong: as :meth:`edit`; then it stays open.
        """
        self._lead(code, token)
        name, _ = self.names(code)
        sent = self._store.hgetall(name)
        lines = [line for raw in sent.values() for line in raw.split("\n")]
        random.shuffle(lines)
        before = self.text(code, token)
        text = "\n".join([*before.splitlines(), *lines])
        self.edit(code, token, text)
        self._change(code, gathers="closed")
        self._store.delete(name)
        return text

    def text(self, code: str, token: str) -> str:
        """What was gathered, as the instructor has left it."""
        self._lead(code, token)
        return self._store.hget(self.names(code)[1], "text") or ""

    def edit(self, code: str, token: str, text: str) -> None:
        """Replace the gathered text.

        Raises:
            InputTooLong: it is longer than a text to train on may be.
        """
        self._lead(code, token)
        if (size := len(text.encode())) > (most := settings().max_training_kb * 1_000):
            raise InputTooLong(
                f"The room’s text would have {size / 1_000:,.0f} kB, and {most / 1_000:,.0f} are the most. Remove "
                f"lines first. {raised_with('max_training_kb')}"
            )
        self._put(code, text=text)

    def show(self, code: str, token: str, shown: str) -> None:
        """Show all in the room where its training is.

        Raises:
            InputTooLong: it is more than a room holds.
        """
        self._lead(code, token)
        if len(shown) > MOST_SHOWN:
            raise InputTooLong("This training has too many measurements for the room. Train another model.")
        self._put(code, shown=shown)
        if self._store.hget(self._name(code), "trains") != "yes":
            self._change(code, trains="yes")

    def shown(self, code: str) -> str:
        """What the training shows; empty before it begins."""
        return self._store.hget(self.names(code)[1], "shown") or ""

    def share(self, code: str, token: str, location: str, packed: str) -> None:
        """Give all in the room the model that ``location`` names, in place of one before it.

        Raises:
            InputTooLong: it is more than a room holds.
        """
        self._lead(code, token)
        if len(packed) > MOST_MODEL:
            raise InputTooLong("This model is too large for the room. Choose fewer layers or a smaller width.")
        self._put(code, packed=packed)
        self._change(code, model=location, trains="")

    def packed(self, code: str) -> str:
        """The model of the room; empty where it has none."""
        return self._store.hget(self.names(code)[1], "packed") or ""

    def _put(self, code: str, **fields: str) -> None:
        _, name = self.names(code)
        self._store.hset(name, mapping=fields)
        self._store.expire(name, self._keep)
