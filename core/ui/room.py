"""Follow me: the strip above the page of whoever is in a room, and the way into one at the page's foot.

The strip looks at its room every :data:`core.rooms.POLL` seconds, in a fragment: a follower's look compares one
version. The page runs again only where the instructor has gone to another view. Who is in no room runs nothing of this.
A presentation shows of the strip the question alone (``atlas-rest`` of :mod:`core.ui.section`).

A room whose server or store was started anew is opened again under its code by the instructor's tab. Whatever a room
carries is another person's text: a view's query is read as that of any link, all else is escaped.
"""

from __future__ import annotations

import secrets
import time
from contextlib import suppress
from html import escape
from urllib.parse import urlsplit

import streamlit as st

from core import links
from core.checkpoints import own
from core.content import content
from core.errors import AtlasError, RoomRefused, RoomsUnavailable, RoomUnknown
from core.rooms import MAX_ANSWER, MAX_QUESTION, POLL, TRIAL, Question, View, spelled
from core.ui.links import go_to, shortest_query
from core.ui.page import css, plain, site
from core.ui.quiz import ask
from core.ui.seat import SEAT, STORAGE, Seat, all_rooms, find_seat
from core.ui.streamlit_internals import session_id
from core.words import one_line

_SAID, _LEFT, _KEPT = "atlas.room.said", "atlas.room.left", "atlas.room.kept"
_GATHERS = "atlas.room.gathers"
"""Whether the instructor has just begun to gather a text, and goes to where it comes."""
RENEW = 30.0
"""Seconds between two signs of a follower."""
GRACE = 60.0
"""Seconds for which a follower looks for a room that is gone without having ended."""
MOST_ROWS = 10
"""Different free answers that are shown; the others are counted together."""
_STYLE = css("room")


def _here() -> tuple[str, str]:
    """The visitor's address, where it is known, else the tab; and the tab."""
    tab = session_id() or ""
    return st.context.ip_address or tab, tab


def words(part: str, /) -> str:
    """A part of the content file of rooms."""
    return content("frame", "room").part(part)


def label(name: str) -> str:
    """A label of that file."""
    return content("frame", "room").label(name)


def room(page: str) -> None:
    """Draw the strip of a tab that is in a room; call it before ``page`` runs."""
    kept, code = STORAGE.sent(_KEPT), st.query_params.get("room")
    if code is not None:
        del st.query_params["room"]
        if (now := find_seat()) is None or now.code != spelled(code):
            _enter(Seat(spelled(code), follower=secrets.token_urlsafe(9)))
    elif kept is not None and find_seat() is None:
        _enter(Seat(kept.code, kept.token, kept.follower), back=True)
    seat = find_seat()
    if (said := st.session_state.pop(_SAID, None)) is not None:
        st.info(plain(said), icon=":material/groups:")
    if seat is not None and seat.token:
        _instructor(seat, page)
    elif seat is not None:
        _follower(seat, page)
    if st.session_state.pop(_GATHERS, False):
        go_to("training", {"from": "room"}, here=page)
    stored = {"code": seat.code, "token": seat.token, "follower": seat.follower} if seat else None
    with st.sidebar:
        STORAGE.draw(_KEPT, {"seat": stored, "left": bool(st.session_state.get(_LEFT))})


def lead(page: str) -> None:
    """Lead an instructor's followers to what ``page`` shows; call it when the page has run."""
    if (seat := find_seat()) is not None and seat.token:
        seat.view = _view(page)
        try:
            _send(seat)
        except AtlasError:
            return  # the strip says it at its next look, and sends the view again


def _view(page: str) -> View:
    """The view on the page now: what the shortest link to it carries."""
    return View(page, shortest_query(page) if page in links.PAGES else {})


def _send(seat: Seat) -> None:
    if seat.view is not None and seat.view != seat.sent:
        all_rooms().show(seat.code, seat.token, seat.view)
        seat.sent = seat.view


def _enter(seat: Seat, back: bool = False) -> None:
    """Take a seat. A tab that comes ``back`` to it may find its room, or the store, gone for a moment."""
    try:
        if not seat.token:
            address, tab = _here()  # a class comes back from one address at once, when its server was started anew
            all_rooms().join(seat.code, seat.follower, "" if back else address, tab)
            seat.renewed = time.monotonic() - RENEW + TRIAL / 4  # a place is kept by a second sign
    except (RoomUnknown, RoomsUnavailable) as error:
        if not back:
            _leave(str(error))
            return
    except AtlasError as error:
        _leave(str(error))
        return
    if (before := find_seat()) is not None and before.follower:
        with suppress(AtlasError):  # that place expires
            all_rooms().leave(before.code, before.follower)
    st.session_state[SEAT] = seat
    st.session_state.pop(_LEFT, None)


def _leave(said: str | None = None) -> None:
    """Leave the room; an instructor ends it."""
    seat = st.session_state.pop(SEAT, None)
    st.session_state[_LEFT] = True
    if said is not None:
        st.session_state[_SAID] = said
    try:
        if seat is not None and (seat.token or said == words("Ended")):
            own.forget(seat.model)
        if seat is not None and seat.token:
            all_rooms().end(seat.code, seat.token)
        elif seat is not None:
            all_rooms().leave(seat.code, seat.follower)
    except AtlasError:
        return  # it expires


def door(page: str, place: str = "foot") -> None:
    """Draw the way to join or open a room, closed; a tab that is in one has its strip instead."""
    if find_seat() is not None:
        return
    closed = st.expander if place == "foot" else st.popover  # the foot's menu is a popover itself
    with closed(label("title"), icon=":material/groups:", key=f"atlas.room.door.{place}"):
        st.caption(words("Door"))
        box = f"atlas.room.code.{place}"
        with st.form(f"atlas.room.join.{place}", border=False):
            st.text_input(label("code"), "", max_chars=8, key=box)
            st.form_submit_button(label("join"), on_click=_join, args=(box,))
        st.button(label("open"), key=f"atlas.room.open.{place}", on_click=_open, args=(page,))


def _join(box: str) -> None:
    if code := spelled(st.session_state[box]):
        _enter(Seat(code, follower=secrets.token_urlsafe(9)))


def _open(page: str) -> None:
    try:
        view = _view(page)
        code, token = all_rooms().open(view, _here()[0])
    except AtlasError as error:
        st.session_state[_SAID] = str(error)
        return
    _enter(Seat(code, token, view=view, sent=view))


def _follower(seat: Seat, page: str) -> None:
    st.html(_STYLE)
    with st.container(key="atlas-room"):
        with st.container(horizontal=True, vertical_alignment="center", key="atlas-rest-room"):
            st.html(_name(seat.code), width="content")
            following = st.toggle(label("follow"), value=seat.following, key="atlas.room.follow")
            st.button(label("leave"), on_click=_leave)
        if following and not seat.following:
            seat.view = None
        seat.following = following
        _watch(page)


@st.fragment(run_every=POLL)
def _watch(page: str) -> None:
    """A follower's poll: open the view that the room shows, and draw its question."""
    seat = find_seat()
    if seat is None or seat.token:
        return
    try:
        if not _look(seat):
            _leave(words("Ended"))
            st.rerun()
    except AtlasError as error:
        if isinstance(error, RoomRefused):
            _leave(str(error))
            st.rerun()
        st.caption(plain(str(error)))
    if seat.room is None:
        return
    if seat.following and seat.room.view != seat.view:
        seat.view = seat.room.view
        if seat.view != _view(page) and links.exists(seat.view.page):
            go_to(seat.view.page, seat.view.query, here=page)
    if seat.room.question is not None:
        _answer(seat, seat.room.question)


def _look(seat: Seat) -> bool:
    """Read the room where its version has changed; False once it has ended, or was looked for in vain for long."""
    now, store = time.monotonic(), all_rooms()
    version = store.version(seat.code)
    if version is None:
        seat.missed = seat.missed or now
        seat.renewed = 0.0
        st.caption(words("Waiting"))
        return now - seat.missed < GRACE
    seat.missed = None
    if seat.room is None or seat.room.version != version:
        seat.room = store.room(seat.code)
    if seat.room is not None and now - seat.renewed > RENEW:
        store.join(seat.code, seat.follower)
        seat.renewed = now
    return seat.room is not None


def _answer(seat: Seat, question: Question) -> None:
    st.html(_question(question))
    if question.revealed:
        _bars(seat.code, question)
        return
    key = f"atlas.room.answer.{seat.follower}.{question.number}"
    if f"{key}.given" not in st.session_state:  # a session ends after a long cut, the tab's seat does not
        try:
            st.session_state[f"{key}.given"] = all_rooms().given(seat.code, seat.follower, question)
        except AtlasError as error:
            st.caption(plain(str(error)))
            return
    stored: str | None = st.session_state[f"{key}.given"]
    answer = one_line(str(ask(question.quiz, key, initial=stored, titled=True) or ""), MAX_ANSWER)
    if answer and answer != stored:
        try:
            if all_rooms().answer(seat.code, seat.follower, question, answer):
                st.session_state[f"{key}.given"] = stored = answer
            else:
                st.caption(words("Closed"))
        except AtlasError as error:
            st.caption(plain(str(error)))
    if stored:
        st.caption(words("Answered"))
    elif question.covered:
        # In one element: Streamlit keeps a style alone beside the page, where a fragment does not take it back
        st.html(f"{css('covered')}<p role='status'>{escape(words('Covered'))}</p>")


def _instructor(seat: Seat, page: str) -> None:
    st.html(_STYLE)
    with st.container(key="atlas-room"):
        with st.container(horizontal=True, vertical_alignment="center", key="atlas-rest-room"):
            st.html(_name(seat.code), width="content")
            with st.popover(label("show")):
                _show(seat.code)
            with st.popover(label("ask")):
                _question_form()
            st.button(label("gather"), help=words("Gather"), on_click=_gather)
            st.button(label("end"), on_click=_leave)
        _attend(page)


def _gather() -> None:
    """Take lines of a text, where all see what becomes of it."""
    if (seat := find_seat()) is None:
        return
    try:
        all_rooms().classroom.gather(seat.code, seat.token)
        st.session_state[_GATHERS] = True
    except AtlasError as error:
        st.session_state[_SAID] = str(error)


def _show(code: str) -> None:
    """Code, QR code and link, to be projected."""
    import segno

    link = f"{site()}/?room={code}"
    picture = segno.make(link, error="m").svg_data_uri(scale=8, border=4, light="white")
    st.html(
        f'<div class="atlas-room-show"><div class="atlas-code">{code}</div>'
        f'<img src="{picture}" alt="{escape(label("qr"))}"><div>{escape(link)}</div></div>'
    )
    if urlsplit(link).hostname in ("localhost", "127.0.0.1", "::1"):
        st.caption(words("Localhost"))


def _question_form() -> None:
    with st.form("atlas.room.ask", border=False):
        st.text_input(label("text"), words("Which"), max_chars=MAX_QUESTION, key="atlas.room.text")
        st.text_area(label("options"), "", max_chars=400, help=label("options_help"), key="atlas.room.options")
        st.checkbox(label("cover"), value=False, help=label("cover_help"), key="atlas.room.cover")
        st.form_submit_button(label("send"), on_click=_ask)


def _ask() -> None:
    """Ask the question in the form."""
    if (seat := find_seat()) is None:
        return
    text, options, covered = (st.session_state[f"atlas.room.{name}"] for name in ("text", "options", "cover"))
    lines = (one_line(line, MAX_QUESTION) for line in options.split("\n"))
    options = tuple(dict.fromkeys(filter(None, lines)))
    try:
        all_rooms().ask(seat.code, seat.token, one_line(text, MAX_QUESTION), options, covered=covered)
    except AtlasError as error:
        st.session_state[_SAID] = str(error)


@st.fragment(run_every=POLL)
def _attend(page: str) -> None:
    """An instructor's poll: count followers and answers, and send the view."""
    seat = find_seat()
    if seat is None or not seat.token:
        return
    try:
        try:
            followers, answered = all_rooms().attend(seat.code, seat.token)
        except RoomUnknown:  # it was lost with its server or store
            all_rooms().open_again(view := seat.view or _view(page), seat.code, seat.token)
            seat.view = seat.sent = view
            followers, answered = all_rooms().attend(seat.code, seat.token)
        _send(seat)
        seat.room = all_rooms().room(seat.code)
    except RoomRefused as error:
        _leave(str(error))
        st.rerun()
    except AtlasError as error:
        st.caption(plain(str(error)))
        return
    question = seat.room.question if seat.room else None
    counts = _count(followers, "follower", "followers")
    if question is None:
        with st.container(key="atlas-rest-count"):
            st.html(f"<div>{counts}</div>")
        return
    st.html(f"<div>{counts} · {_count(answered, 'one_answer', 'answers')}</div>{_question(question)}")
    if question.revealed:
        _bars(seat.code, question)
    with st.container(horizontal=True):
        if not question.revealed:
            st.button(label("reveal"), on_click=_tell, args=("reveal",), type="primary")
        st.button(label("clear"), on_click=_tell, args=("clear",))


def _tell(what: str) -> None:
    """Reveal or clear the question."""
    if (seat := find_seat()) is None:
        return
    try:
        (all_rooms().reveal if what == "reveal" else all_rooms().clear)(seat.code, seat.token)
    except AtlasError:
        return  # the strip says it at its next look


def _bars(code: str, question: Question) -> None:
    """The answers as bars, which are a table."""
    try:
        rows = all_rooms().answers(code, question)
    except AtlasError:
        return  # the look at the room has said it
    total = sum(count for _, count in rows) or 1
    shown, others = rows[:MOST_ROWS], sum(count for _, count in rows[MOST_ROWS:])
    named = [(escape(answer), count) for answer, count in shown] + (
        [(f"({label('others')})", others)] if others else []
    )
    body = "".join(
        f'<tr><th scope="row">{answer}</th><td><span style="width: {100 * count / total:.1f}%"></span></td>'
        f"<td>{count} ({100 * count / total:.1f}%)</td></tr>"
        for answer, count in named
    )
    st.html(f'<table class="atlas-bars" aria-label="{escape(label("table"))}">{body}</table>')


def _name(code: str) -> str:
    return f'<span>{label("room")} <span class="atlas-code">{escape(code)}</span></span>'


def _question(question: Question) -> str:
    return f'<p class="atlas-question" role="status">{escape(question.quiz.text)}</p>'


def _count(number: int, singular: str, plural: str) -> str:
    return f"{number:,} {label(singular if number == 1 else plural)}"
