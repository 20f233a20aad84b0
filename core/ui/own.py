"""Which models of `core.checkpoints.own` a tab sees: those that its visitor has trained."""

from __future__ import annotations

import streamlit as st

from core.checkpoints import own
from core.checkpoints.spec import CheckpointSpec
from core.ui.streamlit_internals import session_id

_KEY = "own.models"


def locations() -> dict[str, str]:
    """The locations of the visitor's models, by slug; none outside a run of a page."""
    return {} if session_id() is None else dict(st.session_state.get(_KEY, {}))


def show(slug: str, location: str) -> None:
    """Show the model held at ``location`` in the menus of this tab, under one of `own.SLUGS`."""
    st.session_state[_KEY] = locations() | {slug: location}


def specs() -> tuple[CheckpointSpec, ...]:
    """The models that this tab's visitor has trained."""
    return own.specs()


own.mine = locations
