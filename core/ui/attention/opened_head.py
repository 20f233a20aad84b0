"""Which head is open in the grid: the page in its frame says so, and the link keeps it.

The frame is not drawn anew for what was done inside it: it opens with the head that was open when its map was made.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import streamlit as st

from core.attention.trace import AttentionMap
from core.attention.views.recipe import SHOWN
from core.ui.notices import warned

if TYPE_CHECKING:
    from core.ui.links import PageState

_JS = """
export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const state = parentElement.atlas || (parentElement.atlas = { sent: null });
  Object.assign(state, { now: String(data.now), send: setTriggerValue });
  if (state.listen) return;
  state.listen = (event) => {
    const frames = [...document.querySelectorAll("iframe")].map((frame) => frame.contentWindow);
    if (event.data?.atlas !== "grid" || !Array.isArray(event.data.open) || !frames.includes(event.source)) return;
    // Arrow keys go through many heads: the one that they end at counts.
    clearTimeout(state.waiting);
    const open = event.data.open;
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
_mount = st.components.v2.component("atlas_opened_head", html="<span></span>", js=_JS)
_NONE: tuple[int, ...] = ()


def opened_head(shown: AttentionMap, about: tuple[object, ...], state: PageState) -> tuple[int | None, int | None]:
    """Layer and head, from 0, that the grid of ``shown`` opens with; reads and writes open.

    Args:
        about: what beside the page's parameters the map hangs on.
    """
    slot, key = state.key("maps.opened"), state.key("maps.watch")
    kept: dict[str, Any] = st.session_state.setdefault(slot, {"sign": None, "now": state.integers("open")})
    if kept["now"] and not _there(kept["now"], shown):
        if kept["sign"] is None:
            numbers = ", ".join(map(str, kept["now"]))
            warned(
                f"There is no head “{numbers}” here: “open” takes a layer up to {shown.layers} and a head up to "
                f"{shown.heads}. All heads are shown.",
                icon=":material/link_off:",
            )
        kept["now"] = _NONE
    sign = repr((about, [state.values.get(name) for name in SHOWN["all"] if name != "open"]))
    if kept["sign"] != sign:
        kept["sign"], kept["drawn"] = sign, kept["now"]
    _mount(key=key, data={"now": list(kept["now"])}, on_opened_change=_take(key, slot), height=1)
    state.set(open=tuple(kept["now"]))
    drawn = kept["drawn"]
    return (drawn[0] - 1, drawn[1] - 1) if drawn else (None, None)


def accepted(sent: object) -> tuple[int, ...] | None:
    """Layer and head out of whatever the browser sent, empty for none open; None for anything else."""
    found = sent.get("open") if isinstance(sent, dict) else None
    if not isinstance(found, list) or len(found) not in (0, 2):
        return None
    if any(type(number) is not int or not 1 <= number <= 256 for number in found):
        return None
    return tuple(found)


def _there(open_: tuple[int, ...], shown: AttentionMap) -> bool:
    return len(open_) == 2 and 1 <= open_[0] <= shown.layers and 1 <= open_[1] <= shown.heads


def _take(key: str, slot: str) -> Callable[[], None]:
    def take() -> None:
        found = accepted(getattr(st.session_state.get(key), "opened", None))
        if found is not None and slot in st.session_state:
            st.session_state[slot]["now"] = found

    return take
