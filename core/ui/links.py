"""A page's state and its URL, kept equal in both directions.

``open_page`` runs before any widget and decides whether the URL or the widgets set the state in this run. The URL does
in a session's first run of the page, after Back or Forward, and after a link from another page. The state is then read
from it, and ``epoch`` goes up: widget keys contain the epoch, so all widgets restart from the state. In every other run
the visitor has used a widget, and the URL is not read. It may be outdated: a click can leave the browser before the URL
that the previous click wrote has arrived there. Streamlit marks a rerun caused by Back or Forward
(``is_history_navigation``), so the two cases are never confused, however slow the browser or the server.

Streamlit does not mark a rerun caused by a link. Where a link leads to the page that it is on, the browser does not
change its URL either. So the app's links use :func:`page_link`, which marks those.

``close_page`` runs last. It sends the browser the state's URL if the browser had another one when it requested the run,
or was sent another one since. Each URL sent adds a step to the history; the browser ignores one that it has already.

The visitor's sentence (:class:`Sentence`) is what they typed last in a box that declares ``Text.sentence``. Every other
such box opens with it, unless a link or the visitor has set its text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NoReturn
from urllib.parse import urlencode

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import links
from core.content import content
from core.links.parameters import Value
from core.ui.component import Component, Message
from core.ui.page import NEWS, PRESENT, bare, base_path, plain, presenting, through_page_table
from core.ui.streamlit_internals import by_history, forget, widget_keys

_PAGE = "links.page"
_EPOCH = "links.epoch"
_LINKED = "go"
"""Marks the query of a link to the page that it is on; no URL of the app contains it."""
_SENTENCE = "links.sentence"
_LEFT = "links.left"
"""Values of views by page and query, left before a run could write what was typed there to their address."""
_MOST_LEFT = 20


@dataclass(slots=True)
class _Stored:
    """What the session stores of a page from run to run."""

    values: dict[str, Value]
    epoch: int
    link: dict[str, str]
    """The query of the state: exactly as the link had it until something changes."""
    sent: dict[str, str]
    """The query that the browser has, or will have once it receives what was sent."""
    shortest: dict[str, str] | None = None
    """The shortest query for the same state; None until a run has ended, since drawing the page can change it."""
    refused: tuple[str, ...] = ()
    memory: dict[str, object] = field(default_factory=dict)
    declined: dict[str, Value] = field(default_factory=dict)
    back: bool = False
    """Whether Back or Forward opened it: then it shows what its address says, and no sentence travels to it."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """The sentence that a visitor typed last; it travels to the text boxes that declare it (``Text.sentence``)."""

    text: str
    page: str
    name: str
    """The parameter in whose box it was typed."""


@dataclass(slots=True)
class PageState:
    """The values of one page in one run; change them through :meth:`set`."""

    page: str
    values: dict[str, Value]
    epoch: int
    memory: dict[str, object] = field(default_factory=dict)
    """Plain results that survive a rerun but not a navigation."""
    declined: dict[str, Value] = field(default_factory=dict)
    """Values that one section could not take, for others, until the visitor sets another."""
    helps: Mapping[str, str] = field(default_factory=dict)
    """Help texts of the controls, by parameter name."""
    above: DeltaGenerator | None = None
    """A container at the top of the page for warnings about its link."""
    travels: bool = True
    """Whether the visitor's sentence may arrive here."""
    entered: bool = False
    """Whether the visitor comes from another page in this run."""
    arrived: bool = False
    """Whether the sentence arrives in this run."""
    offers: dict[str, Any] = field(default_factory=dict)
    """What the foot of the page offers of each figure drawn in this run (:class:`core.ui.panel.Offer`)."""
    mends: bool = False
    """Whether the browser's URL is to be replaced, since it lacks what the view shows, or has what it refuses."""
    before: Mapping[str, str] = field(default_factory=dict)
    """The query of the page before, which the browser takes along if it receives it after the click."""
    replaces: bool = False
    """Whether the browser replaces its URL by one with the sentence, which adds no step to the history."""
    drawn: set[str] = field(default_factory=set)
    """The parts of contents that are drawn once a run, and have been."""

    def key(self, name: str) -> str:
        """A widget's key; it changes when a link or Back replaces the state."""
        return f"{self.page}.{self.epoch}.{name}"

    def set(self, **values: Value) -> None:
        """Store values of widgets."""
        self.values.update(values)

    def decline(self, name: str) -> None:
        """Take the default instead of a value, which other sections may take."""
        self.declined[name] = self.values.get(name)
        self.values[name] = None

    def text(self, name: str, default: str = "") -> str:
        """A text parameter, or ``default`` if neither the URL nor the visitor set it."""
        value = self.values.get(name)
        return default if value is None else str(value)

    def number(self, name: str, default: int = 0) -> int:
        """An integer parameter, or ``default`` if unset."""
        value = self.values.get(name)
        return value if isinstance(value, int) else default

    def real(self, name: str, default: float = 0.0) -> float:
        """A real parameter, or ``default`` if unset."""
        value = self.values.get(name)
        return float(value) if isinstance(value, int | float) else default

    def integers(self, name: str) -> tuple[int, ...]:
        """A list of integers, empty if unset."""
        value = self.values.get(name)
        return tuple(part for part in value if isinstance(part, int)) if isinstance(value, tuple) else ()

    def words(self, name: str) -> tuple[str, ...] | None:
        """A list of words; None if unset, which means all."""
        value = self.values.get(name)
        return tuple(str(part) for part in value) if isinstance(value, tuple) else None


class Presented(Message):
    """Which way the visitor wants the view from now on."""

    to: Literal["hall", "page"]


PRESENTATION: Component[Presented] = Component("present", Presented)


REDIRECT: Component[Message] = Component("redirect")
"""Lets the address of a view take the place of a link of before, without a step of Back."""


def read_mode(page: str) -> None:
    """Take over from the visitor, or from an address that speaks, whether ``page`` is presented; before all else."""
    asked = PRESENT in st.query_params
    elsewhere = st.session_state.get(_PAGE) != page
    said = PRESENTATION.sent(PRESENT + ".keys")
    if said is not None:
        st.session_state[PRESENT] = said.to == "hall"
    elif by_history() or (asked and (elsewhere or _LINKED in st.query_params)):
        st.session_state[PRESENT] = asked
    st.session_state.pop(NEWS, None)


def present() -> None:
    """Begin a presentation of the view; a callback."""
    st.session_state[PRESENT] = True


def mode_button() -> None:
    """The keys that begin and end a presentation, and its button *Exit*; unseen while nothing is presented.

    The same component says to screen readers what the main picture shows, when that has changed.
    """
    data = {"on": presenting(), "label": "Exit (Esc)", "news": st.session_state.get(NEWS, "")[:400]}
    with st.container(key="atlas-present"):
        PRESENTATION.draw(PRESENT + ".keys", data)


def open_page(page: str) -> PageState:
    """The page's state for this run; a warning names each value of the link that was refused."""
    through_page_table()
    address = st.query_params.to_dict()
    linked = address.pop(_LINKED, None) is not None
    query = {name: value for name, value in address.items() if name != PRESENT}  # that says how, not what is shown
    shown_by, moved = links.current(page, query)
    if (shown_by, moved) != (page, query):
        to = f"{base_path()}/{shown_by}?{urlencode(moved)}"
        REDIRECT.draw("links.redirect", {"path": f"{base_path()}/{page}", "old": query, "to": to})
        st.stop()
    stored: _Stored | None = st.session_state.get(_slot(page))
    elsewhere = st.session_state.get(_PAGE) != page
    if stored is not None and elsewhere:
        stored.sent = address
    if stored is not None and stored.shortest is None:
        stored.shortest = stored.link  # the run that read the link did not finish
    # A page opened from the sidebar has no query: the visitor returns to the last view of it.
    addressed = linked or by_history() or (elsewhere and bool(query))
    ahead = stored is not None and _is_ahead(page, stored)
    if stored is None or (addressed and query != stored.link):
        if stored is not None and ahead:
            _leave(page, stored)
        values, refused = links.read_query(page, query)
        left = st.session_state.get(_LEFT, {}).pop((page, urlencode(query)), None) if by_history() else None
        ahead = left is not None
        shown = None if _EPOCH in st.session_state else _epoch_shown(page)
        stored = _Stored(
            left or values,
            epoch=shown or st.session_state.get(_EPOCH, 0) + 1,
            link=query,
            sent=address if stored is None else stored.sent,
            # Where the browser shows the page already, its widgets may be ahead of its URL.
            shortest=links.write_query(page, values)[0] if ahead else None if shown is None else query,
            refused=tuple(refusal.sentence for refusal in refused),
        )
        st.session_state[_EPOCH] = stored.epoch
        st.session_state[_slot(page)] = stored
    if addressed or elsewhere:
        stored.back = by_history()
    former: _Stored | None = st.session_state.get(_slot(st.session_state.get(_PAGE, ""))) if elsewhere else None
    st.session_state[_PAGE] = page  # last: a run that ended earlier has not opened the page
    for sentence in stored.refused:
        # Without glossary links: such a sentence quotes the words of a URL (tab, epoch, rotary).
        st.warning(plain(f"{sentence} {words('Default instead')}"), icon=":material/link_off:")
    above = st.container()
    return PageState(
        page,
        dict(stored.values),
        stored.epoch,
        stored.memory,
        stored.declined,
        above=above,
        travels=not stored.back,
        entered=elsewhere and not by_history(),
        mends=ahead and by_history(),
        before=former.sent if former is not None and former.sent != address else {},
    )


def close_page(state: PageState) -> None:
    """Write the state to the URL if they differ."""
    stored: _Stored = st.session_state[_slot(state.page)]
    query, too_long = links.write_query(state.page, state.values)
    if state.values.get("tab") != stored.values.get("tab") and _is_ahead(state.page, stored):
        _leave(state.page, stored)
    stored.values = dict(state.values)
    if too_long:
        st.caption(words("Too long"))
    # A link may spell out defaults. It stays as it is: rewriting it would add a step to the history for no change.
    if stored.shortest is None and not stored.refused:
        stored.shortest = query
    if stored.shortest != query:
        stored.link, stored.shortest, stored.refused = query, query, ()
    link = stored.link | ({PRESENT: "1"} if presenting() else {})
    if state.replaces:  # see `keep_address`
        stored.link = stored.shortest = stored.sent = query
    elif not link == stored.sent == st.query_params.to_dict():
        stored.sent = link
        st.query_params.from_dict(link)
    forget(lambda key: _is_older(key, state.page, state.epoch))


def store(key: str, values: Mapping[str, Value], tab: Value = "") -> None:
    """Store values that the widget ``key`` has sent, before the end of the run that they start.

    Only a run that ends writes them to the URL, and a click on another section or page may interrupt it. A widget of an
    earlier epoch stores nothing, nor does one whose parameter the page does not have, nor a run that opens another
    section, ``tab``: Back finds the one before as it was left.
    """
    page, epoch, _ = key.split(".", 2)
    stored: _Stored | None = st.session_state.get(_slot(page))
    if stored is not None and str(stored.epoch) == epoch and tab in ("", stored.values.get("tab")):
        stored.values |= {name: value for name, value in values.items() if name in links.PAGES[page]}
        for name in values:
            stored.declined.pop(name, None)


def _is_ahead(page: str, stored: _Stored) -> bool:
    """Whether widgets have sent values since a run last wrote the page's URL."""
    return stored.shortest is not None and links.write_query(page, stored.values)[0] != stored.shortest


def _leave(page: str, stored: _Stored) -> None:
    """Keep the values of a view that is left for Back, whose address lacks some of them."""
    left = st.session_state.setdefault(_LEFT, {})
    left[page, urlencode(stored.link)] = stored.values
    while len(left) > _MOST_LEFT:
        left.pop(next(iter(left)))


def page_link(
    page: str,
    label: str,
    query: Mapping[str, str],
    *,
    icon: str | None = None,
    here: str | None = None,
    width: Literal["stretch", "content"] = "stretch",
) -> None:
    """Draw a link to a view of the app, on another page or on this one; the session continues.

    ``here`` is the page that the link is on, where :func:`open_page` has not run yet. In another page's frame the link
    opens in a tab of its own, as links in Markdown do.
    """
    if bare():
        path = f"{base_path()}/{'' if page == 'home' else page}"
        st.markdown(f"[{label}]({path}?{urlencode(query)})")
        return
    mark = {_LINKED: ""} if page == (here or st.session_state.get(_PAGE)) else {}
    st.page_link(f"pages/{page}.py", label=label, icon=icon, query_params={**query, **mark}, width=width)


def go_to(page: str, query: Mapping[str, str], *, here: str) -> NoReturn:
    """Leave ``here`` for a view of the app as by a link to it, and end this run; the query is read as any link's.

    The visitor's sentence does not travel there: the view is another person's.
    """
    forget_sentence()
    if page == here and _slot(page) in st.session_state:
        take_up(page, links.read_query(page, query)[0])
        st.rerun()
    st.session_state.pop(_slot(page), None)
    st.switch_page(f"pages/{page}.py", query_params=dict(query))


def shortest_query(page: str) -> dict[str, str]:
    """The shortest query for what ``page`` shows, or showed last."""
    stored: _Stored | None = st.session_state.get(_slot(page))
    values = links.read_query(page, st.query_params.to_dict())[0] if stored is None else stored.values
    return links.write_query(page, values)[0]


def _slot(page: str) -> str:
    return f"links.{page}"


def _epoch_shown(page: str) -> int | None:
    """The epoch of the widgets that the browser already shows in a session's first run; None if it shows none.

    A browser tab outlives its session when the server restarts, or after a long disconnection. Its next message is a
    click, which takes effect only if the widgets keep their keys.
    """
    matches = (re.match(rf"{re.escape(page)}\.(\d{{1,9}})\.", key) for key in widget_keys())
    return max((int(match[1]) for match in matches if match), default=None)


def words(part: str, /, **values: str) -> str:
    """A part of the content file about links, shared by all pages."""
    return content("frame", "links").part(part, **values)


def instead(state: PageState, sentence: str) -> None:
    """Warn that a value of the link is refused, and which one replaces it; for checks that only the page can make."""
    (state.above or st).warning(plain(sentence), icon=":material/link_off:")
    state.mends = True


def within(state: PageState, name: str, wanted: int, low: int, high: int, usual: int | None = None) -> int:
    """``wanted`` if it is from ``low`` to ``high``; otherwise ``usual`` or the nearer bound, with a warning."""
    if low <= wanted <= high:
        return wanted
    taken = usual if usual is not None else min(max(wanted, low), high)
    numbers = {"low": f"{low:,}", "high": f"{high:,}", "wanted": f"{wanted:,}", "taken": f"{taken:,}"}
    instead(state, words("Out of range", name=name, **numbers))
    return taken


def sections(state: PageState, titles: Mapping[str, str], default: str, groups: Mapping[str, str]) -> str:
    """Draw the row of a page's sections; return the selected one, which the URL stores as ``tab``.

    Args:
        titles: of the sections.
        groups: the title of each section's group. If there are any, a row of groups comes first, and the row of
            sections has those of the selected group.
    """
    chosen = state.text("tab", default)
    if groups:
        group = _row("Group", state.key("group"), {title: title for title in groups.values()}, groups[chosen])
        titles = {slug: title for slug, title in titles.items() if groups[slug] == group}
        chosen = chosen if chosen in titles else next(iter(titles))
    slot = f"tab.{groups[chosen]}" if groups else "tab"
    section = _row("Show", state.key(slot), titles, chosen) if len(titles) > 1 else chosen
    state.set(tab=section)
    return section


def _row(label: str, key: str, titles: Mapping[str, str], chosen: str) -> str:
    """Draw a row of choices, one of which is selected; return it."""
    selected = st.segmented_control(
        label,
        list(titles),
        format_func=titles.__getitem__,
        key=key,
        default=chosen,
        required=True,
        label_visibility="collapsed",
    )
    return str(selected)


def take_up(page: str, values: Mapping[str, Value], memory: Mapping[str, object] | None = None) -> None:
    """Make ``values`` the page's state from the next run on, as a link would; all widgets restart from them.

    For values that no link can carry, and for callbacks. The URL follows at the end of the run; ``memory`` survives the
    rerun.
    """
    stored: _Stored = st.session_state[_slot(page)]
    st.session_state[_EPOCH] = stored.epoch = st.session_state.get(_EPOCH, 0) + 1
    stored.values, stored.memory, stored.refused = dict(values), dict(memory or {}), ()
    if stored.shortest is None:
        stored.shortest = stored.link


def _is_older(key: str, page: str, epoch: int) -> bool:
    """Whether a key is of the page, and of another epoch."""
    owner, _, remainder = key.partition(".")
    number, dot, _ = remainder.partition(".")
    return owner == page and dot == "." and number.isdigit() and int(number) != epoch


def sentence_typed(text: str, page: str, name: str) -> None:
    """Make ``text`` the visitor's sentence; boxes of other pages that hold the one before it are open for this one."""
    former = travelling_sentence()
    st.session_state[_SENTENCE] = Sentence(text, page, name)
    if former is None:
        return
    for slot in list(st.session_state):
        stored = st.session_state.get(slot)  # a widget that is no longer drawn has a key, and no value
        if isinstance(stored, _Stored) and slot != _slot(page):
            held = (former.text, without_masks(former.text))
            stored.values = {key: None if value in held else value for key, value in stored.values.items()}


def travelling_sentence() -> Sentence | None:
    """The sentence that the visitor typed last."""
    sentence: Sentence | None = st.session_state.get(_SENTENCE)
    return sentence


def forget_sentence() -> None:
    """From now on, pages open with their samples again."""
    st.session_state.pop(_SENTENCE, None)


def without_masks(text: str) -> str:
    """``text`` without mask tokens and the spaces before them."""
    return re.sub(r"\s*(\[MASK\]|<mask>)", "", text, flags=re.IGNORECASE).strip()


ADDRESS: Component[Message] = Component("address")
COPY: Component[Message] = Component("copy")


def keep_address(state: PageState, section: str = "") -> None:
    """Let the browser store the view, which Home offers again, and put a sentence that has just arrived into the URL.

    Args:
        section: the one that is shown.
    """
    data: dict[str, object] = {"tab": section, "query": urlencode(links.write_query(state.page, state.values)[0])}
    if state.page != "home":
        data["page"] = state.page
    if state.mends or (state.arrived and state.entered):
        state.replaces = True
    if old := [st.query_params.to_dict()] * state.replaces + ([state.before] if state.before else []):
        data["old"] = tuple(map(urlencode, old))
    with st.container(key="atlas-address"):
        ADDRESS.draw(state.key("address"), data)


def copy_button(state: PageState) -> None:
    """The button that copies the link to this view."""
    COPY.draw(state.key("copy"))


def reset_button(state: PageState) -> None:
    """The button that restores the page's defaults."""
    if st.button("Reset", key=state.key("reset"), help=content("frame", "links").label("reset")):
        st.session_state.pop(_slot(state.page), None)
        for name in [str(key) for key in st.session_state if str(key).startswith(f"{state.page}.")]:
            del st.session_state[name]  # also what survives links and Back, such as guesses
        forget_sentence()
        st.query_params.clear()
        st.rerun()
