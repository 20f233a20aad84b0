"""A page's state and its URL, kept equal in both directions.

``open_page`` runs before any widget and decides who speaks in this run: the address or the widgets. The address speaks
where a page is come to by it: in a session's first run of the page, after Back or Forward, and by a link from another
page. Then the state is read anew from it and ``epoch`` goes up: widgets carry the epoch in their keys, so all of them
start afresh from the state. In every other run the visitor has used a widget of the page, and the address is not read
at all. It may be an old one, because a click can leave the browser before the address that the click before it wrote
has arrived there; the state is the session's. Streamlit says which of the two it is: a rerun that Back or Forward asks
for is marked (``is_history_navigation``), so neither is ever taken for the other, however slow a browser or a server.

Streamlit does not mark the rerun that a link asks for, and where the link leads to the page on which it stands, the
browser does not take its address over either. So links of the app go through :func:`page_link`, which marks those.

``close_page`` runs last. It tells the browser the state's address where the browser said another one when it asked for
the run, or was told another one since; which also makes the history's steps. The browser passes over what it has.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.state.common import user_key_from_element_id

from core import links
from core.content import content
from core.links import Value
from core.ui.component import Component, Message
from core.ui.page import plain, through_page_table

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

_PAGE = "links.page"
_EPOCH = "links.epoch"
_LINKED = "go"
"""Marks the query of a link to the page on which it stands; no address of the app has it."""


@dataclass(slots=True)
class _Stored:
    """What the session stores of a page from run to run."""

    values: dict[str, Value]
    epoch: int
    link: dict[str, str]
    """The query that stands for the state; a link's own words until something changes."""
    sent: dict[str, str]
    """The query that the browser has, or will have when what was sent arrives there."""
    shortest: dict[str, str] | None = None
    """The shortest query for the same state; None until a run has come to its end, since a page makes choices, too."""
    refused: tuple[str, ...] = ()
    memory: dict[str, object] = field(default_factory=dict)


@dataclass(slots=True)
class PageState:
    """The values of one page in one run; change them through :meth:`set`."""

    page: str
    values: dict[str, Value]
    epoch: int
    memory: dict[str, object] = field(default_factory=dict)
    """Plain results that outlive a rerun but not a navigation."""
    helps: Mapping[str, str] = field(default_factory=dict)
    """What the controls say on hover, by the name of their parameter."""
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


def open_page(page: str) -> PageState:
    """The page's state for this run; says in a sentence what a link asked for in vain."""
    through_page_table()
    query = st.query_params.to_dict()
    linked = query.pop(_LINKED, None) is not None
    stored: _Stored | None = st.session_state.get(_slot(page))
    elsewhere = st.session_state.get(_PAGE) != page
    if stored is not None and elsewhere:
        stored.sent = query
    if stored is not None and stored.shortest is None:
        stored.shortest = stored.link  # the run that read the link did not come to its end
    # From the sidebar one comes without a query, and finds the view that was left.
    addressed = linked or by_history() or (elsewhere and bool(query))
    if stored is None or (addressed and query != stored.link):
        values, refused = links.read(page, query)
        shown = None if _EPOCH in st.session_state else _epoch_shown(page)
        stored = _Stored(
            values,
            epoch=shown or st.session_state.get(_EPOCH, 0) + 1,
            link=query,
            sent=query if stored is None else stored.sent,
            # Where the browser shows the page already, its widgets may say more than its address.
            shortest=None if shown is None else query,
            refused=tuple(refusal.sentence for refusal in refused),
        )
        st.session_state[_EPOCH] = stored.epoch
        st.session_state[_slot(page)] = stored
    st.session_state[_PAGE] = page  # last: a run that ends before it has not come here
    for sentence in stored.refused:
        # No links: what such a sentence names are a link's own words (tab, epoch, rotary), as they would be typed.
        st.warning(plain(f"{sentence} {words('Default instead')}"), icon=":material/link_off:")
    return PageState(page, dict(stored.values), stored.epoch, stored.memory, above=st.container())


def close_page(state: PageState) -> None:
    """Write the state to the URL, where it differs from what stands there."""
    stored: _Stored = st.session_state[_slot(state.page)]
    query, too_long = links.write(state.page, state.values)
    stored.values = dict(state.values)
    if too_long:
        st.caption(words("Too long"))
    # A link may say the same in more words, with a default spelled out. It stays as it is, since rewriting it would put
    # a step into the history that shows nothing new.
    if stored.shortest is None and not stored.refused:
        stored.shortest = query
    if stored.shortest != query:
        stored.link, stored.shortest, stored.refused = query, query, ()
    if not stored.link == stored.sent == st.query_params.to_dict():
        stored.sent = stored.link
        st.query_params.from_dict(stored.link)
    _forget_older(state.page, state.epoch)


def page_link(
    page: str, label: str, query: Mapping[str, str], *, icon: str | None = None, here: str | None = None
) -> None:
    """A link to a view of the app, on another page or on this one; the session goes on.

    ``here`` is the page on which it stands, where no :func:`open_page` has told that yet.
    """
    mark = {_LINKED: ""} if page == (here or st.session_state.get(_PAGE)) else {}
    st.page_link(f"pages/{page}.py", label=label, icon=icon, query_params={**query, **mark})


def by_history() -> bool:
    """True in a run that the browser's Back or Forward asked for."""
    run = get_script_run_ctx()
    return run is not None and run.is_history_navigation


def _slot(page: str) -> str:
    return f"links.{page}"


def _epoch_shown(page: str) -> int | None:
    """The epoch of the widgets that the browser shows already, in the first run of a session; None where it shows none.

    A browser outlives the session when the server is started anew, or when it was away for long. Its next message is a
    click, which counts as long as the widgets keep their keys.
    """
    run = get_script_run_ctx()
    keys = (user_key_from_element_id(w.id) or "" for w in (run.session_state.get_widget_states() if run else ()))
    matches = (re.match(rf"{re.escape(page)}\.(\d{{1,9}})\.", key) for key in keys)
    return max((int(match[1]) for match in matches if match), default=None)


def words(part: str, /, **values: str) -> str:
    """A part of what is said of links on every page."""
    return content("frame", "links").part(part, **values)


def instead(state: PageState, sentence: str) -> None:
    """Say what a link asks for in vain, and what stands there instead; for what only the page itself can judge."""
    (state.above or st).warning(plain(sentence), icon=":material/link_off:")


def within(state: PageState, name: str, wanted: int, low: int, high: int, usual: int | None = None) -> int:
    """``wanted`` where it lies from ``low`` to ``high``; else ``usual``, or the nearer end, and a sentence."""
    if low <= wanted <= high:
        return wanted
    taken = usual if usual is not None else min(max(wanted, low), high)
    numbers = {"low": f"{low:,}", "high": f"{high:,}", "wanted": f"{wanted:,}", "taken": f"{taken:,}"}
    instead(state, words("Out of range", name=name, **numbers))
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
    stored: _Stored = st.session_state[_slot(page)]
    st.session_state[_EPOCH] = stored.epoch = st.session_state.get(_EPOCH, 0) + 1
    stored.values, stored.memory, stored.refused = dict(values), dict(memory or {}), ()
    if stored.shortest is None:
        stored.shortest = stored.link


def _forget_older(page: str, epoch: int) -> None:
    """Drop what the session holds under the keys of the page's earlier epochs; for the end of a run.

    Streamlit drops the old widgets' values, but keeps what it knows of each, callbacks and all that these refer to, for
    as long as the session lasts; and it keeps values that were put into the session under such a key.

    What a browser still sends for such a widget is then passed over, as for any that does not exist.
    """
    context = get_script_run_ctx()
    if context is None:
        return
    # There is no public way to these. They go first: without them no callback meets a value that is gone.
    known = context.session_state._state._new_widget_state.widget_metadata
    for widget in [widget for widget in known if _older(widget.split("-", 2)[-1], page, epoch)]:
        del known[widget]
    for key in [str(key) for key in st.session_state if _older(str(key), page, epoch)]:
        del st.session_state[key]


def _older(key: str, page: str, epoch: int) -> bool:
    owner, _, rest = key.partition(".")
    number, dot, _ = rest.partition(".")
    return owner == page and dot == "." and number.isdigit() and int(number) != epoch


COPY: Component[Message] = Component("copy")


def link_row(state: PageState) -> None:
    """Buttons that copy the link to this view and that set the page back to its start."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        COPY.draw(state.key("copy"))
        if st.button("Reset", key=state.key("reset"), help=content("frame", "links").label("reset")):
            st.session_state.pop(_slot(state.page), None)
            for name in [str(key) for key in st.session_state if str(key).startswith(f"{state.page}.")]:
                del st.session_state[name]  # also what outlives links and Back, such as guesses
            st.query_params.clear()
            st.rerun()
