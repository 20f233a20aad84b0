"""A page's state and its URL, kept equal in both directions.

``open_page`` runs before any widget. When the URL is not the one this page wrote last (a link was opened, Back was
pressed), the state is read anew from it and ``epoch`` goes up: widgets carry the epoch in their keys, so all of them
start afresh from the state. ``close_page`` runs last and writes the state to the URL, which also makes the browser's
history.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import streamlit as st

from core import links
from core.links import Value
from core.ui.forget import forget_older
from core.ui.page import plain, through_page_table

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

_IN_FLIGHT_SECONDS = 0.4
_UNSEEN_MOST = 8
_PLAIN = (str, int, float, bool, list, tuple, dict, type(None))


@dataclass(slots=True)
class PageState:
    """The values of one page in one run; change them through :meth:`set`."""

    page: str
    values: dict[str, Value]
    epoch: int
    memory: dict[str, object] = field(default_factory=dict)
    """Plain results that outlive a rerun but not a navigation."""
    above: DeltaGenerator | None = None
    """A place over the page for what is said of its link."""

    def key(self, name: str) -> str:
        """A widget's key; it changes when a link or Back sets the state anew."""
        return f"{self.page}.{self.epoch}.{name}"

    def set(self, **values: Value) -> None:
        """Take over what the widgets say."""
        self.values.update(values)

    def text(self, name: str, default: str = "") -> str:
        """A text parameter, or ``default`` where the URL and the visitor left it open."""
        value = self.values.get(name)
        return default if value is None else str(value)

    def number(self, name: str, default: int = 0) -> int:
        """An integer parameter, or ``default`` where it is open."""
        value = self.values.get(name)
        return value if isinstance(value, int) else default

    def real(self, name: str, default: float = 0.0) -> float:
        """A real parameter, or ``default`` where it is open."""
        value = self.values.get(name)
        return float(value) if isinstance(value, int | float) else default

    def integers(self, name: str) -> tuple[int, ...]:
        """A list of numbers, empty where it is open."""
        value = self.values.get(name)
        return tuple(part for part in value if isinstance(part, int)) if isinstance(value, tuple) else ()

    def words(self, name: str) -> tuple[str, ...] | None:
        """A list of words; None where it is open, which stands for all."""
        value = self.values.get(name)
        return tuple(str(part) for part in value) if isinstance(value, tuple) else None


def open_page(page: str, choices: Mapping[str, Collection[str]] | None = None) -> PageState:
    """The page's state for this run; says in a sentence what a link asked for in vain."""
    through_page_table()
    slot = f"links.{page}"
    kept = st.session_state.get(slot)
    if kept is not None and kept["said"] is None:
        kept["said"] = kept["query"]  # the run that read the link did not come to its end
    query = {name: st.query_params[name] for name in st.query_params}
    # Streamlit empties the query when the sidebar changes the page: coming back that way finds the view that was left.
    returned = not query and st.session_state.get("links.page") not in (None, page)
    st.session_state["links.page"] = page
    if kept is not None and returned:
        kept["query"] = kept["said"] = query
    elif kept is not None and query == kept["query"]:
        kept["unseen"].clear()
    if kept is None or (query != kept["query"] and not _stale(kept, query)):
        values, refused = links.read(page, query, choices)
        kept = {
            "page": page,
            "values": values,
            "epoch": st.session_state.get("links.epoch", 0) + 1,
            "query": query,
            "unseen": [],
            "at": 0.0,
            "widgets": {},
            "memory": {},
            "refused": tuple(refusal.sentence for refusal in refused),
            "said": None,  # the shortest query for the state, once the page has run to its end
        }
        st.session_state["links.epoch"] = kept["epoch"]
        st.session_state[slot] = kept
    for sentence in kept["refused"]:
        # No links: what such a sentence names are a link's own words (tab, epoch, rotary), as they would be typed.
        st.warning(plain(f"{sentence} The page shows its usual choice instead."), icon=":material/link_off:")
    return PageState(page, dict(kept["values"]), kept["epoch"], kept["memory"], st.container())


def close_page(state: PageState) -> None:
    """Write the state to the URL, where it differs from what stands there."""
    slot = st.session_state[f"links.{state.page}"]
    query, too_long = links.write(state.page, state.values)
    slot["values"] = dict(state.values)
    if too_long:
        st.caption("This text is too long for a link even when packed, so a link to this page leaves it out.")
    # A link may say the same in more words, with a default spelled out. Rewriting it would put a step into the history
    # from which Back leads to the longer link, which would be rewritten again: nobody could get past it.
    same = slot["said"] is None and not slot["refused"]
    changed = not same and query != (slot["said"] if slot["said"] is not None else slot["query"])
    slot["said"] = query
    if changed and query != slot["query"]:
        slot["unseen"] = [*slot["unseen"][1 - _UNSEEN_MOST :], slot["query"]]
        slot["query"], slot["at"], slot["refused"] = query, time.monotonic(), ()
        st.query_params.from_dict(query)
    slot["widgets"] = _widgets(state.page, state.epoch)
    forget_older(state.page, state.epoch)


def instead(state: PageState, sentence: str) -> None:
    """Say what a link asks for in vain, and what stands there instead; for what only the page itself can judge."""
    (state.above or st).warning(plain(sentence), icon=":material/link_off:")


def within(state: PageState, name: str, wanted: int, low: int, high: int, usual: int | None = None) -> int:
    """``wanted`` where it lies from ``low`` to ``high``; else ``usual``, or the nearer end, and a sentence."""
    if low <= wanted <= high:
        return wanted
    taken = usual if usual is not None else min(max(wanted, low), high)
    instead(state, f"“{name}” lies from {low:,} to {high:,} here, so {wanted:,} cannot be had. {taken:,} is taken.")
    return taken


def sections(state: PageState, titles: Mapping[str, str], default: str) -> str:
    """The row of a page's sections; the one to show, which the link carries as ``tab``."""
    section = st.segmented_control(
        "Show",
        list(titles),
        format_func=titles.__getitem__,
        key=state.key("tab"),
        default=state.text("tab", default),
        required=True,
        label_visibility="collapsed",
    )
    state.set(tab=section)
    return str(section)


def take_up(page: str, values: Mapping[str, Value], memory: Mapping[str, object] | None = None) -> None:
    """Make ``values`` the page's state from the next run on, as a link would; all widgets start afresh from them.

    For what no link can carry, and for callbacks; the URL follows when the page has run. ``memory`` outlives the rerun.
    """
    kept = st.session_state[f"links.{page}"]
    st.session_state["links.epoch"] = kept["epoch"] = st.session_state.get("links.epoch", 0) + 1
    kept["values"], kept["memory"], kept["refused"] = dict(values), dict(memory or {}), ()
    if kept["said"] is None:
        kept["said"] = kept["query"]


def _stale(kept: Mapping[str, Any], query: dict[str, str]) -> bool:
    """True when ``query`` is one that was replaced before the browser had seen its successor.

    A browser that is slow, or whose visitor clicks fast, sends a click with the URL of the view before: then a widget
    has changed since. Back sends that URL too, but with all widgets as they were. Within a moment after writing, it is
    taken for a click all the same, since a rerun of the app's own carries the old URL, too.
    """
    if query not in kept["unseen"]:
        return False
    before: dict[str, str] = kept["widgets"]
    touched = any(
        before.get(key) != shown and not _at_rest(st.session_state[key])
        for key, shown in _widgets(kept["page"], kept["epoch"]).items()
    )
    return touched or time.monotonic() - float(kept["at"]) < _IN_FLIGHT_SECONDS


def _widgets(page: str, epoch: int) -> dict[str, str]:
    """The plain values below this page's keys, in words that can be compared."""
    start = f"{page}.{epoch}."
    return {
        str(key): repr(value)
        for key, value in st.session_state.items()
        if str(key).startswith(start) and isinstance(value, _PLAIN)
    }


def _at_rest(value: object) -> bool:
    """True for what a button or a component's trigger falls back to by itself after the run that it started."""
    return all(_at_rest(part) for part in value.values()) if isinstance(value, dict) else not value


_COPY_JS = """
export default function (component) {
  const { parentElement } = component;
  const button = parentElement.querySelector("button");
  const status = parentElement.querySelector("[role=status]");
  button.onclick = async () => {
    const link = window.location.href;
    try {
      await navigator.clipboard.writeText(link);
      status.textContent = "Copied";
    } catch {
      const area = document.createElement("textarea");
      area.value = link;
      document.body.append(area);
      area.select();
      status.textContent = document.execCommand("copy") ? "Copied" : "Copy the address from the address bar";
      area.remove();
    }
    setTimeout(() => { status.textContent = ""; }, 3000);
  };
}
"""
_COPY_CSS = """
button { font: inherit; font-size: .9rem; color: var(--st-text-color); background: transparent; cursor: pointer;
  border: 1px solid var(--st-border-color); border-radius: var(--st-base-radius); padding: .4rem .75rem;
  white-space: nowrap; min-height: 2.5rem; }
button:hover, button:focus-visible { border-color: var(--st-primary-color); color: var(--st-primary-color); }
span { font-size: .85rem; margin-left: .5rem; color: var(--st-text-color); }
"""
_copy = st.components.v2.component(
    "atlas_copy_link",
    html='<button type="button">Copy link</button><span role="status"></span>',
    css=_COPY_CSS,
    js=_COPY_JS,
)


def link_row(state: PageState) -> None:
    """Buttons that copy the link to this view and that set the page back to its start."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        _copy(key=state.key("copy"))
        if st.button("Reset", key=state.key("reset"), help="Set this page back to its start"):
            st.session_state.pop(f"links.{state.page}", None)
            for name in [str(key) for key in st.session_state if str(key).startswith(f"{state.page}.")]:
                del st.session_state[name]  # also what outlives links and Back, such as guesses
            st.query_params.clear()
            st.rerun()
