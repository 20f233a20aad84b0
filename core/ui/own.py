"""Which models of `core.checkpoints.own` a tab sees: those that its visitor has trained, and that of its room."""

from __future__ import annotations

import threading
from contextlib import suppress

import streamlit as st

from core.checkpoints import own
from core.checkpoints.spec import CheckpointSpec
from core.content import content
from core.errors import AtlasError
from core.turns import turns
from core.ui.seat import Seat, all_rooms, find_seat
from core.ui.streamlit_internals import session_id

_KEY = "own.models"
_unpacking = threading.Lock()
"""Held by who brings a room's model into this process: a class asks for it at once."""


def locations() -> dict[str, str]:
    """The locations of the models of this tab, by slug; none outside a run of a page."""
    if session_id() is None:
        return {}
    models = dict(st.session_state.get(_KEY, {}))
    if (seat := find_seat()) is not None and seat.model:
        with suppress(AtlasError):  # a page that needs it says that it is not there
            _bring(seat)
        models[own.CLASS] = seat.model
    return models


def _bring(seat: Seat) -> None:
    """Hold the model of a room in this process, whichever process has trained it."""
    if own.find(seat.model) is not None:
        return
    with turns.locked(_unpacking):
        if own.find(seat.model) is None and (packed := all_rooms().classroom.packed(seat.code)):
            from core.training.packed import unpacked

            own.keep(unpacked(packed, seat.model, own.CLASS, content("frame", "room").label("model")))


def show(slug: str, location: str) -> None:
    """Show the model held at ``location`` in the menus of this tab, under one of `own.SLUGS`."""
    st.session_state[_KEY] = st.session_state.get(_KEY, {}) | {slug: location}


def specs() -> tuple[CheckpointSpec, ...]:
    """The models that this tab sees."""
    return own.specs()


own.mine = locations
