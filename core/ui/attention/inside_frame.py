"""What is chosen inside a frame: the page in it says so in a message, and the link keeps it.

A frame is not drawn anew for what was done inside it: it opens with what was chosen when its page was made. Where it is
made anew all the same, for another text or because its section was left, it opens with what is chosen by then.

A message is ``{atlas: <frame>, open: [numbers]}``; one from anywhere but a frame of this page is passed over, and so is
one with anything else in it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, NamedTuple

import streamlit as st

if TYPE_CHECKING:
    from core.ui.links import PageState

Frame = Literal["grid", "bertviz"]
MOST = 256
"""The largest number, and how many of them a message may hold."""

_JS = """
export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const state = parentElement.atlas || (parentElement.atlas = { sent: null });
  Object.assign(state, { frame: data.frame, now: String(data.now), send: setTriggerValue });
  if (state.listen) return;
  state.listen = (event) => {
    const frames = [...document.querySelectorAll("iframe")].map((frame) => frame.contentWindow);
    const { atlas, open } = event.data ?? {};
    if (atlas !== state.frame || !Array.isArray(open) || !frames.includes(event.source)) return;
    // Arrow keys go through many heads, and two clicks make one: what they end at counts.
    clearTimeout(state.waiting);
    state.waiting = setTimeout(() => {
      if (parentElement.isConnected && String(open) !== state.now) state.send("opened", { open });
    }, 500);
  };
  window.addEventListener("message", state.listen);
  return () => {
    window.removeEventListener("message", state.listen);
    state.listen = null;
  };
}
"""
_mount = st.components.v2.component("atlas_inside_frame", html="<span></span>", js=_JS)

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
    if not fits(kept["now"]):
        kept["now"] = ()
    sign = repr(about)
    if kept["sign"] != sign:
        kept["sign"], kept["drawn"] = sign, kept["now"]
    _mount(key=key, data={"frame": frame, "now": list(kept["now"])}, on_opened_change=_take(key, slot, fits), height=1)
    return Chosen(kept["drawn"], kept["now"])


def accepted(sent: object, fits: Callable[[Numbers], bool]) -> Numbers | None:
    """The numbers out of whatever the browser sent, empty for nothing chosen; None for anything else."""
    found = sent.get("open") if isinstance(sent, dict) else None
    if not isinstance(found, list) or len(found) > MOST:
        return None
    if any(type(number) is not int or not 1 <= number <= MOST for number in found):
        return None
    return tuple(found) if fits(tuple(found)) else None


def _take(key: str, slot: str, fits: Callable[[Numbers], bool]) -> Callable[[], None]:
    def take() -> None:
        found = accepted(getattr(st.session_state.get(key), "opened", None), fits)
        if found is not None and slot in st.session_state:
            st.session_state[slot]["now"] = found

    return take
