"""In class: a room gathers one text, watches one training on it, and then has its model in the menus of all.

The instructor's tab trains (`core.ui.training.scratch`). A follower's tab sends lines, and draws what the room has of
the training; it computes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

import streamlit as st

from core.content import content
from core.errors import AtlasError, InputUnusable
from core.rooms import POLL
from core.rooms.classroom import MOST_LINE, MOST_LINES
from core.training import watched
from core.training.ready import READY, ready
from core.training.sample import Parts
from core.training.setup import Objective, Point
from core.training.text import FEWEST
from core.ui.glossary import sentences, warning
from core.ui.param import Choice
from core.ui.seat import Seat, all_rooms, find_seat
from core.ui.section import View

if TYPE_CHECKING:
    from core.training.train import Training

ROOM = "room"
"""The room's text, among those to train on."""
ALONE = "alone"
_TEXT, _SAID = "room.text", "training.classroom.said"
BESIDE = Choice(name="beside", label="Ready text", options={}, width=225, hide_label=True)
LOOK = 5.0
"""Seconds between two looks of a follower at the training; each draws the loss, which takes 14 ms of a processor."""
Samples = Sequence[tuple[int, Parts]]


class Draw(Protocol):
    """Draws a training."""

    def __call__(
        self, points: Sequence[Point], samples: Samples, counted: Sequence[float], *, growing: bool = False
    ) -> None: ...


def offered(texts: Mapping[str, str]) -> dict[str, str]:
    """The texts to train on, with the room's where this tab has a seat."""
    return {**texts, **({ROOM: content("training", "classroom").label("text")} if find_seat() else {})}


def text(view: View, draw: Draw, onward: Callable[[Objective, Parts], None]) -> str | None:
    """The room's text, in the tab that trains on it. In all others, and until it is gathered, None: all is drawn then.

    Args:
        draw: draws a training.
        onward: says where the room's model is seen.

    Raises:
        InputUnusable: it is too short to train on.
    """
    if (seat := find_seat()) is None:
        return None
    texts, view = view.words.front["texts"], replace(view, words=content("training", "classroom"))
    if not seat.token:
        _follow(view, seat, draw, onward)
        return None
    if _phase(seat).gathers == "open":
        _count(view)
        close = view.state.key("room.close")
        st.button(
            view.words.label("close"), key=close, type="primary", on_click=_close, args=(seat, view.state.key(_TEXT))
        )
        _said()
        return None
    return _gathered(view, seat, texts)


def _gathered(view: View, seat: Seat, texts: Mapping[str, str]) -> str | None:
    """What the instructor has left of the lines, and the ready text that it is added to."""
    words, room = view.words, all_rooms().classroom
    before = room.text(seat.code, seat.token)
    if not before:
        view.say("None gathered")
        return None
    names = {name: f"{words.label('with')}: {texts[name]}" for name in READY if name in texts}
    with view.controls():
        beside = BESIDE.with_(options={ALONE: words.label("alone"), **names}).draw(view.state)
    with st.expander(words.label("review")):
        view.note("Review")
        key = view.state.key(_TEXT)
        st.session_state.setdefault(key, before)
        left = st.text_area(words.label("lines"), key=key, height=300, persist_state="page")
    if left != before:
        room.edit(seat.code, seat.token, left)
    whole = f"{left}\n{ready(beside)}" if beside in READY else left
    if len(whole.strip()) < FEWEST:
        raise InputUnusable(
            f"The room’s text has {len(whole.strip()):,} characters, and {FEWEST:,} are the fewest to train on. Gather "
            "more lines, or add a ready text."
        )
    return whole


def _close(seat: Seat, key: str) -> None:
    """Read the lines that have come."""
    try:
        all_rooms().classroom.close(seat.code, seat.token)
        st.session_state.pop(key, None)
    except AtlasError as error:
        st.session_state[_SAID] = str(error)


def _send(seat: Seat, key: str) -> None:
    """Send what stands in a follower's box."""
    try:
        all_rooms().classroom.send(seat.code, seat.follower, st.session_state[key])
    except AtlasError as error:
        st.session_state[_SAID] = str(error)


def _said() -> None:
    """Say once why that was refused."""
    if (said := st.session_state.pop(_SAID, None)) is not None:
        warning(said, icon=":material/info:")


@st.fragment(run_every=POLL)
def _count(view: View) -> None:
    """How much has come, while it comes."""
    if (seat := find_seat()) is None or not seat.token:
        return
    with sentences():
        lines, followers = all_rooms().classroom.counts(seat.code, seat.token)
        view.say("Gathered", lines=lines, followers=followers)


def tell(training: Training, samples: Samples, counted: Sequence[float]) -> None:
    """Show the room where the training is. It goes on where the room cannot be reached."""
    if (seat := find_seat()) is not None and seat.token:
        shown = watched.write(training.points, samples, tuple(counted), training.setup.objective)
        with suppress(AtlasError):
            all_rooms().classroom.show(seat.code, seat.token, shown)


def share(training: Training, samples: Samples, counted: Sequence[float]) -> None:
    """Give the model as it is to all in the room, unless they have it."""
    from core.training.packed import packed

    location = f"{training.location}-room"
    if (seat := find_seat()) is not None and seat.token and seat.model != location:
        tell(training, samples, counted)
        all_rooms().classroom.share(seat.code, seat.token, location, packed(training))
        seat.room = all_rooms().room(seat.code)


def _follow(view: View, seat: Seat, draw: Draw, onward: Callable[[Objective, Parts], None]) -> None:
    """A follower's page: a box, then what the training has shown."""
    phase = _phase(seat)
    if phase.gathers == "open":
        _box(view, seat)
    elif phase.trains:
        view.note("Goes")
    elif phase.model:
        with sentences():
            shown = watched.read(all_rooms().classroom.shown(seat.code))
            if shown is not None:
                draw(shown.points, shown.samples, shown.counted)
                onward(shown.objective, shown.samples[-1][1])
    else:
        view.say("Wait" if phase.gathers else "Not asked")
    _watch(view, phase, draw)


class _Phase(NamedTuple):
    """What a room does with its text."""

    gathers: str = ""
    trains: bool = False
    model: str = ""


def _phase(seat: Seat | None) -> _Phase:
    room = seat.room if seat else None
    return _Phase(room.gathers, room.trains, room.model) if room else _Phase()


@st.fragment(run_every=LOOK)
def _watch(view: View, phase: _Phase, draw: Draw) -> None:
    """A follower's look at the training, and at what the room does next."""
    seat = find_seat()
    if _phase(seat) != phase:
        st.rerun()
    if seat is not None and phase.trains and phase.gathers != "open":
        with sentences():
            shown = watched.read(all_rooms().classroom.shown(seat.code))
            if shown is not None:
                draw(shown.points, shown.samples, shown.counted, growing=True)


def _box(view: View, seat: Seat) -> None:
    """A follower's box for lines."""
    words, room, key = view.words, all_rooms().classroom, view.state.key("room.lines")
    view.say("Write", most=MOST_LINES, characters=MOST_LINE)
    with st.form(view.state.key("room.form"), border=False):
        st.text_area(
            words.label("box"),
            "\n".join(room.sent(seat.code, seat.follower)),
            height=260,
            max_chars=2 * MOST_LINES * MOST_LINE,
            placeholder=words.label("hint"),
            key=key,
            persist_state="page",
        )
        st.form_submit_button(words.label("send"), on_click=_send, args=(seat, key))
    _said()
    with sentences():
        if sent := room.sent(seat.code, seat.follower):
            view.note("Sent", lines=len(sent))
