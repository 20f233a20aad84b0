"""The button that starts a measurement on this machine; where the host wants none, the sentence that says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import session
from core.content import content
from core.ui.glossary import terms


def measure_button(
    label: str,
    key: str,
    on_click: Callable[..., None] | None = None,
    args: tuple[Any, ...] = (),
    *,
    at: DeltaGenerator | None = None,
    **more: Any,
) -> bool:
    """Draw the button in ``at``, or where the page stands; return whether it was clicked."""
    if not session.may_measure():
        (at or st).caption(terms(content("frame", "links").part("Measuring is off")))
        return False
    return (at or st).button(label, icon=":material/timer:", key=key, on_click=on_click, args=args, **more)
