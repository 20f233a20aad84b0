"""A tab's seat in a room: an instructor's or a follower's.

A tab's seat outlives a reload in the storage of that tab (``assets/components/seat``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import streamlit as st
from pydantic import Field

from core.rooms import Room, Rooms, View, rooms
from core.ui.component import Component, Message

SEAT = "atlas.room"
"""Where the session has it."""


class Kept(Message):
    """What a tab stores of its seat: an instructor's has a token, a follower's the word it answers under."""

    code: Annotated[str, Field(pattern=r"^[A-Z]{4}$")]
    token: Annotated[str, Field(pattern=r"^[\w-]{0,64}$")]
    follower: Annotated[str, Field(pattern=r"^[\w-]{0,64}$")]


STORAGE: Component[Kept] = Component("seat", Kept)


@dataclass(slots=True)
class Seat:
    """A tab's seat in a room; with a token, the instructor's."""

    code: str
    token: str = ""
    follower: str = ""
    room: Room | None = None
    """As it was at the last look."""
    view: View | None = None
    """An instructor's: what the page shows. A follower's: what the room showed at the last step."""
    sent: View | None = None
    """An instructor's: what the room shows."""
    following: bool = True
    renewed: float = 0.0
    missed: float | None = None
    """When a follower began to look for a room that is gone."""

    @property
    def model(self) -> str:
        """The location of the model that the room has trained."""
        return self.room.model if self.room else ""


def all_rooms() -> Rooms:
    """The rooms of this installation. Their tokens are signed with the key of Streamlit's cookies, which outlives a
    restart where the host sets it."""
    return rooms(st.get_option("server.cookieSecret"))


def find_seat() -> Seat | None:
    """The seat of this tab."""
    taken: Seat | None = st.session_state.get(SEAT)
    return taken
