"""What is chosen inside a frame: the page in it says so in a message, and the link keeps it.

A frame is not drawn anew for what was done inside it: it opens with what was chosen when its page was made. Where it is
made anew all the same, for another text or because its section was left, it opens with what is chosen by then.

A message is ``{atlas: <frame>, open: [numbers]}``; one from anywhere but a frame of this page is passed over, and so is
one with anything else in it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import streamlit as st
from pydantic import Field

from core.ui.component import Component, Message
from core.ui.notices import warning

if TYPE_CHECKING:
    from core.ui.links import PageState

MOST = 256
"""The largest number, and how many of them a message may hold."""


class Opened(Message):
    """The numbers that are chosen inside the frame, empty for none."""

    open: Annotated[list[Annotated[int, Field(ge=1, le=MOST)]], Field(max_length=MOST)]


FRAME = Component("frame", Opened)

Numbers = tuple[int, ...]


def chosen_inside(
    frame: str,
    name: str,
    state: PageState,
    *,
    linked: Numbers,
    about: object,
    fits: Callable[[Numbers], bool],
    missing: str,
) -> tuple[Numbers, Numbers]:
    """What the frame opens with, and what is chosen in it now, of which only ``fits`` decides whether it can be.

    Args:
        frame: as its messages name it, ``grid`` or ``bertviz``.
        name: of this choice among those of the page.
        linked: what a link carries, or what was chosen in another section.
        about: what the frame's page is made of beside the choice; where it changes, the page is made anew.
        fits: whether numbers can be chosen here; called without any, too.
        missing: the sentence on numbers of a link that do not fit; none are chosen then.
    """
    slot, key = state.key(f"{name}.opened"), state.key(f"{name}.watch")
    if key not in st.session_state:  # nothing listened in the run before: the section opens
        if not fits(linked):
            warning(missing, icon=":material/link_off:")
        st.session_state[slot] = {"about": None, "now": linked, "drawn": ()}
    memory = st.session_state[slot]
    message = FRAME.sent(key)
    if message is not None and fits(tuple(message.open)):
        memory["now"] = tuple(message.open)
    if not fits(memory["now"]):
        memory["now"] = ()
    if memory["about"] != repr(about):
        memory["about"], memory["drawn"] = repr(about), memory["now"]
    FRAME.draw(key, {"frame": frame, "now": list(memory["now"])}, height=1)
    return memory["drawn"], memory["now"]
