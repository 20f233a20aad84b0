"""A box of text that a link carries: what it begins with, what it means when it is emptied, and how it comes back.

A box begins with what the link says, else with its sample. The sample stays out of the link. A box that was emptied
stays empty, and the link says so (``text=``); Reset brings the sample back. The state is what is kept: a box that was
not drawn for a while, in another section, begins with what the state says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import streamlit as st

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from core.ui.links import PageState


def text_box(
    state: PageState,
    name: str,
    label: str,
    sample: str = "",
    *,
    key: str | None = None,
    place: DeltaGenerator | None = None,
    height: int | None = None,
    max_chars: int | None = None,
    help: str | None = None,
    placeholder: str | None = None,
    icon: str | None = None,
    width: int | Literal["stretch"] = "stretch",
    hidden_label: bool = False,
) -> str:
    """Draw the box of the parameter ``name``, a line or an area of ``height`` pixels; its text is in the state, too.

    Args:
        key: the widget's, where one parameter has several boxes, or a box another sample from time to time.
        icon: in a box of one line.
        place: where it stands; where the page has come to without it.
    """
    slot = state.key(key or name)
    where = st if place is None else place
    value = standing(state, name, sample, key=key)
    visibility: Literal["visible", "collapsed"] = "collapsed" if hidden_label else "visible"
    if height is None:
        typed = where.text_input(
            label,
            value,
            max_chars=max_chars,
            key=slot,
            help=help,
            placeholder=placeholder,
            icon=icon,
            width=width,
            label_visibility=visibility,
        )
    else:
        typed = where.text_area(
            label,
            value,
            height=height,
            max_chars=max_chars,
            key=slot,
            help=help,
            placeholder=placeholder,
            width=width,
            label_visibility=visibility,
        )
    text = str(typed or "")
    state.set(**{name: None if text == sample else text})
    return text


def standing(state: PageState, name: str, sample: str = "", *, key: str | None = None) -> str:
    """What stands in a box, also before it is drawn."""
    return str(st.session_state.get(state.key(key or name), state.text(name, sample)) or "")
