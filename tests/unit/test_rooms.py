"""Rooms: who leads, who follows, what is asked, and how they end; on the store of one process, by night on Redis."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

import pytest

from core import rooms as module
from core.errors import RoomRefused, RoomsUnavailable, RoomUnknown
from core.rooms import MAX_ANSWER, Rooms, View, spelled, tally
from core.rooms.store import REST, Guarded, Memory, Store
from core.words import one_line

ENCODER = View("encoder", {"text": "<b>A [MASK]</b>", "layer": "3"})


pytestmark = pytest.mark.usefixtures("fresh_settings")


@pytest.fixture
def store() -> Store:
    return Memory()


def test_followers_see_what_the_instructor_shows_until_the_room_ends(store: Store) -> None:
    here, there = Rooms(store), Rooms(store)  # two processes
    code, token = here.open(ENCODER)
    assert len(code) == 4
    there.join(code, "a")
    first = there.room(code)
    assert first is not None
    assert (first.view, first.question, first.version) == (ENCODER, None, there.version(code))
    here.show(code, token, View("timeline", {}))
    second = there.room(code)
    assert second is not None
    assert second.view == View("timeline", {})
    assert there.version(code) == second.version != first.version
    there.join(code, "b")
    there.join(code, "a")
    assert here.attend(code, token) == (2, 0)
    there.leave(code, "a")
    assert here.attend(code, token) == (1, 0)
    here.end(code, token)
    assert there.room(code) is None
    assert there.version(code) not in (None, second.version), "its followers learn that it has ended"
    assert store.zcard("atlas:rooms") == store.zcard(f"atlas:room:{code}:followers") == 0


@pytest.mark.parametrize(
    ("options", "given", "counted"),
    [
        ((), {"a": "King", "b": "king", "c": "king", "d": "son"}, [("king", 3), ("son", 1)]),
        (("5.3", "<i>"), {"a": "<i>", "b": "<i>", "c": "other"}, [("5.3", 0), ("<i>", 2)]),
    ],
)
def test_a_question_is_answered_until_it_is_revealed(
    store: Store, options: tuple[str, ...], given: dict[str, str], counted: list[tuple[str, int]]
) -> None:
    lead = Rooms(store)
    code, token = lead.open(ENCODER)
    lead.ask(code, token, "Which?", options)
    room = lead.room(code)
    assert room is not None
    assert (question := room.question) is not None
    for name, answer in given.items():
        assert lead.answer(code, name, question, answer) == (not options or answer in options)
    assert lead.answer(code, "a", question, given["a"]), "again, or another one"
    assert not lead.answer(code, "z", question, "x" * 41)
    assert not lead.answer(code, "z", question, "")
    assert lead.attend(code, token)[1] == sum(count for _, count in counted)
    lead.reveal(code, token)
    room = lead.room(code)
    assert room is not None
    assert room.question is not None
    assert room.question.revealed
    assert not lead.answer(code, "late", question, given["a"])
    assert lead.answers(code, question) == counted
    lead.ask(code, token, "Another?")
    assert not lead.answer(code, "late", question, given["a"]), "that one is gone"
    assert lead.answers(code, question) == tally((), options)
    lead.clear(code, token)
    room = lead.room(code)
    assert room is not None
    assert room.question is None


@pytest.mark.parametrize(
    ("text", "options"),
    [("", ()), ("x" * 201, ()), ("x", ("a",)), ("x", tuple("abcdefg")), ("x", ("a", "b" * 41)), ("x", ("a", "a"))],
)
def test_a_question_has_a_text_and_two_to_six_short_options_or_none(
    store: Store, text: str, options: tuple[str, ...]
) -> None:
    lead = Rooms(store)
    code, token = lead.open(ENCODER)
    with pytest.raises(RoomRefused, match="2 to 6 options"):
        lead.ask(code, token, text, options)


def test_who_leaves_takes_the_answer_back_until_all_are_shown(store: Store) -> None:
    lead = Rooms(store)
    code, token = lead.open(ENCODER)
    lead.ask(code, token, "Which?", ("a", "b"))
    question = lead.room(code).question  # type: ignore[union-attr]
    assert question is not None
    for name in ("one", "other"):
        lead.join(code, name)
        assert lead.answer(code, name, question, "a")
    lead.leave(code, "one")
    assert lead.answers(code, question) == [("a", 1), ("b", 0)]
    lead.reveal(code, token)
    lead.leave(code, "other")
    assert lead.answers(code, question) == [("a", 1), ("b", 0)]


def test_only_the_token_leads_and_a_wrong_code_is_none(store: Store) -> None:
    lead = Rooms(store)
    code, _ = lead.open(ENCODER)
    acts: list[Callable[[str, str], object]] = [
        lambda code, token: lead.show(code, token, ENCODER),
        lambda code, token: lead.ask(code, token, "?"),
        lead.reveal,
        lead.clear,
        lead.end,
        lead.attend,
    ]
    for act in acts:
        for room, token in ((code, "guessed"), ("ÄÖÜ?", "guessed")):
            with pytest.raises(RoomUnknown):
                act(room, token)
    with pytest.raises(RoomUnknown, match="There is no room “AAAA”"):
        lead.join("AAAA", "a")
    assert lead.version("AAAA") is lead.room("AAAA") is None
    with pytest.raises(RoomRefused):
        lead.open_again(ENCODER, code, "guessed")


def test_a_full_room_and_a_full_server_say_so(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATLAS_MAX_ROOMS", "2")
    lead = Rooms(store)
    code, token = lead.open(ENCODER)
    for number in range(200):
        lead.join(code, str(number))
    with pytest.raises(RoomRefused, match=r"200 follow it. .*ATLAS_MAX_FOLLOWERS"):
        lead.join(code, "one more")
    lead.join(code, "7")
    lead.leave(code, "7")
    lead.join(code, "one more")
    assert lead.attend(code, token)[0] == 200
    lead.open(ENCODER)
    with pytest.raises(RoomRefused, match=r"limit of 2 open rooms.*ATLAS_MAX_ROOMS"):
        lead.open(ENCODER)
    lead.end(code, token)
    lead.open(ENCODER)


def test_who_is_silent_for_long_gives_the_place_back(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1e5]
    monkeypatch.setenv("ATLAS_MAX_FOLLOWERS", "1")
    lead = Rooms(Memory(lambda: now[0]))
    code, token = lead.open(ENCODER)
    lead.attend(code, token)
    for _ in range(2):
        lead.join(code, "gone")
    now[0] += module.AWAY - 1
    with pytest.raises(RoomRefused, match="is full"):
        lead.join(code, "new")
    now[0] += 2
    lead.join(code, "new")
    assert lead.attend(code, token)[0] == 1


def test_a_lost_room_is_opened_again_under_its_code(store: Store) -> None:
    lead = Rooms(store)
    code, token = lead.open(ENCODER)
    before = lead.version(code)
    store.delete(f"atlas:room:{code}", "atlas:rooms")
    lead.open_again(ENCODER, code, token)
    assert lead.version(code) not in (None, before)
    assert lead.attend(code, token) == (0, 0)


def test_a_lost_room_is_not_taken_over_by_whoever_knows_its_code(store: Store) -> None:
    lead = Rooms(store, "the host's secret")
    (code, token), (other, _) = lead.open(ENCODER), lead.open(ENCODER)
    store.delete(f"atlas:room:{code}", f"atlas:room:{other}", "atlas:rooms")
    for guessed in ("", "mine", "x" * 59, token[:-1] + "-", token[:16], token[16:], token.swapcase()):
        with pytest.raises(RoomUnknown, match="Open a new one"):
            lead.open_again(ENCODER, code, guessed)
    with pytest.raises(RoomUnknown):
        lead.open_again(ENCODER, other, token)
    with pytest.raises(RoomUnknown):
        Rooms(store).open_again(ENCODER, code, token)
    Rooms(store, "the host's secret").open_again(ENCODER, code, token)
    assert re.fullmatch(r"[\w-]{59}", token), "as a tab keeps it"


def test_the_store_holds_no_token(store: Store) -> None:
    code, token = Rooms(store).open(ENCODER)
    assert token not in str(store.hgetall(f"atlas:room:{code}"))


def test_one_address_opens_few_rooms_a_minute_and_those_that_nobody_leads_go(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [1e5]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(module, "Pace", partial(module.Pace, clock=lambda: now[0]))
    lead = Rooms(Memory(lambda: now[0]))
    code, token = lead.open(ENCODER, "10.0.0.1")
    lead.attend(code, token)
    for _ in range(module.OPENED - 1):
        lead.open(ENCODER, "10.0.0.1")
    with pytest.raises(RoomRefused, match="10 rooms were opened from your network"):
        lead.open(ENCODER, "10.0.0.1")
    lead.open(ENCODER, "10.0.0.2")
    assert lead._store.zcard("atlas:rooms") == module.OPENED + 1
    now[0] += 61
    assert lead.room(code) is not None
    lead.open(ENCODER, "10.0.0.1")
    assert lead._store.zcard("atlas:rooms") == 2, "the one that is led, and the new one"


def test_ghosts_give_their_places_back_in_seconds() -> None:
    now = [1e5]
    lead = Rooms(Memory(lambda: now[0]))
    code, token = lead.open(ENCODER)
    lead.join(code, "stays")
    for number in range(199):
        lead.join(code, str(number))
    now[0] += 5
    lead.join(code, "stays")
    with pytest.raises(RoomRefused, match="is full"):
        lead.join(code, "late")
    now[0] += module.TRIAL
    lead.join(code, "late")
    assert lead.attend(code, token)[0] == 2


def test_codes_are_tried_in_vain_only_so_often(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1e5]
    monkeypatch.setattr(module, "Pace", partial(module.Pace, clock=lambda: now[0]))
    lead = Rooms(store)
    code, _ = lead.open(ENCODER)
    for number in range(module.WRONG):
        with pytest.raises(RoomUnknown):
            lead.join("AAAA", "a", "10.0.0.1", f"tab {number // 5}")
    with pytest.raises(RoomRefused, match="Too many codes"):
        lead.join(code, "a", "10.0.0.1", "another tab")
    lead.join(code, "b", "10.0.0.2", "tab")
    for number in range(module.JOINED - 1):
        lead.join(code, f"ghost {number}", "10.0.0.2", "tab")
    with pytest.raises(RoomRefused, match="Too many codes"):
        lead.join(code, "one more", "10.0.0.2", "tab")
    lead.join(code, "b", "10.0.0.2", "yet another")
    now[0] += 61
    lead.join(code, "a", "10.0.0.1", "another tab")


def test_what_the_store_holds_is_read_with_care(store: Store) -> None:
    lead = Rooms(store)
    code, _ = lead.open(ENCODER)
    for field, value in (
        ("view", '{"page": "../x", "query": {}}'),
        ("view", '{"page": "x", "query": {"a": 1}, "more": 2}'),
        ("view", "null"),
        ("question", '{"number": 1, "text": "x", "options": ["' + "y" * 50 + '", "z"]}'),
        ("question", "no JSON"),
    ):
        store.hset(f"atlas:room:{code}", mapping={"view": '{"page": "x", "query": {}}', "question": ""})
        assert lead.room(code) is not None
        store.hset(f"atlas:room:{code}", mapping={field: value})
        assert lead.room(code) is None, value


def test_in_memory_a_room_goes_half_an_hour_after_its_instructor() -> None:
    now = [0.0]
    lead = Rooms(Memory(lambda: now[0]))
    code, token = lead.open(ENCODER)
    lead.attend(code, token)
    lead.join(code, "a")
    now[0] += module.KEEP - 1
    lead.attend(code, token)
    now[0] += module.KEEP - 1
    assert lead.room(code) is not None
    now[0] += 2
    assert lead.room(code) is None
    assert not lead._store._data.keys() - {"atlas:rooms"}  # type: ignore[attr-defined]


def test_a_store_that_is_away_is_a_sentence_and_is_not_asked_at_every_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    now, calls, away = [0.0], list[str](), [True]
    monkeypatch.setattr("core.rooms.store.time.monotonic", lambda: now[0])

    class Client:
        def hget(self, name: str, key: str) -> str:
            calls.append(name)
            if away[0]:
                raise ConnectionError
            return "1"

    lead = Rooms(Guarded(Client(), ConnectionError))  # type: ignore[arg-type]
    for _ in range(2):
        with pytest.raises(RoomsUnavailable, match="cannot be reached"):
            lead.version("BCDF")
    assert len(calls) == 1
    away[0] = False
    now[0] += REST
    assert lead.version("BCDF") == "1"


def test_codes_and_answers_are_cleaned() -> None:
    assert spelled(" b c\ndf ") == "BCDF"
    assert one_line("  a\u202e \x00 b\n", MAX_ANSWER) == "a b"
    assert one_line("x" * 50, MAX_ANSWER) == "x" * 40
    assert one_line("👩\u200d👩\u200d👧 می\u200cخواهم\u200d", MAX_ANSWER) == "👩\u200d👩\u200d👧 می\u200cخواهم"
    assert one_line("x" * 38 + "👩\u200d👩", MAX_ANSWER) == "x" * 38, "no character is cut in two"
