"""What is chosen inside a frame: the page in it says so in a message, and the link keeps it.

A frame is not drawn anew for what was done inside it: it opens with what was chosen when its page was made. Where it is
made anew all the same, for another text or because its section was left, it opens with what is chosen by then.

A message is ``{atlas: <frame>, open: [numbers]}``; one from anywhere but a frame of this page is passed over, and so is
one with anything else in it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import streamlit as st
from pydantic import Field

from core.ui.component import Component, Message

if TYPE_CHECKING:
    from core.ui.links import PageState

Frame = Literal["grid", "bertviz"]
MOST = 256
"""The largest number, and how many of them a message may hold."""


class Opened(Message):
    """The numbers that are chosen inside the frame, empty for none."""

    open: Annotated[list[Annotated[int, Field(ge=1, le=MOST)]], Field(max_length=MOST)]


FRAME = Component("frame", Opened)

Numbers = tuple[int, ...]


class Chosen(NamedTuple):
    """What a frame opens with, and what is chosen in it now."""

    drawn: Numbers
    now: Numbers


def chosen_inside(
    frame: Frame,
    name: str,
    state: PageState,
    *,
    asked: Numbers,
    about: object,
    fits: Callable[[Numbers], bool],
    lacking: Callable[[Numbers], None],
) -> Chosen:
    """Listen to the frame; of the numbers that it sends, those that ``fits`` takes are chosen from then on.

    Args:
        name: of this choice among those of the page.
        asked: what a link asks for, or what was chosen in another section.
        about: what the frame's page is made of beside the choice; where it changes, the page is made anew.
        fits: whether numbers can be chosen here; called without any, too.
        lacking: told of numbers that a link asks for in vain; none are chosen then.
    """
    slot, key = state.key(f"{name}.opened"), state.key(f"{name}.watch")
    if key not in st.session_state:  # nothing listened in the run before: the section opens
        if not fits(asked):
            lacking(asked)
        st.session_state[slot] = {"sign": None, "now": asked, "drawn": ()}
    kept = st.session_state[slot]
    opened = FRAME.sent(key)
    if opened is not None and fits(tuple(opened.open)):
        kept["now"] = tuple(opened.open)
    if not fits(kept["now"]):
        kept["now"] = ()
    sign = repr(about)
    if kept["sign"] != sign:
        kept["sign"], kept["drawn"] = sign, kept["now"]
    FRAME.draw(key, {"frame": frame, "now": list(kept["now"])}, height=1)
    return Chosen(kept["drawn"], kept["now"])
