"""The text that a room writes and the model it shares; on the store of one process, by night on Redis."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from core.errors import AtlasError, InputTooLong, InputUnusable, RoomRefused, RoomUnknown
from core.rooms import Rooms, View
from core.rooms.classroom import MOST_MODEL, MOST_SHOWN
from core.rooms.store import Memory, Store

pytestmark = pytest.mark.usefixtures("fresh_settings")
LOCATION = "0" * 32 + "-400-room"


@pytest.fixture
def store() -> Store:
    return Memory()


def gathering(store: Store) -> tuple[Rooms, str, str]:
    rooms = Rooms(store)
    code, token = rooms.open(View("training", {}))
    rooms.classroom.gather(code, token)
    return rooms, code, token


def test_the_lines_of_all_become_one_text_that_the_instructor_shortens(store: Store) -> None:
    rooms, code, token = gathering(store)
    room = rooms.classroom
    assert room.send(code, "a", " One fox. \n\n\tTwo foxes.\u2028Three.") == 3
    assert room.send(code, "b", "A bear.") == 1
    assert room.send(code, "a", "One fox.\nTwo foxes.") == 2, "in place of the first three"
    assert room.sent(code, "a") == ["One fox.", "Two foxes."]
    assert room.counts(code, token) == (3, 2)
    assert room.text(code, token) == "", "nothing is read while lines come"
    assert sorted(room.close(code, token).split("\n")) == ["A bear.", "One fox.", "Two foxes."]
    with pytest.raises(RoomRefused, match="takes no lines"):
        room.send(code, "c", "Late.")
    room.edit(code, token, "One fox.\nA bear.")
    assert Rooms(store).classroom.text(code, token) == "One fox.\nA bear."
    room.gather(code, token)
    assert room.sent(code, "a") == []
    room.send(code, "c", "Late.")
    assert room.close(code, token) == "One fox.\nA bear.\nLate.", "what was removed does not come back"


@pytest.mark.parametrize(
    ("text", "refusal", "words"),
    [
        ("\n".join("abcdefghijk"), InputTooLong, "You wrote 11 lines, and 10 are the most"),
        ("short\n" + "x" * 201, InputTooLong, "Line 2 has 201 characters, and 200 are the most"),
        ("x" * 3_000_000, InputTooLong, "Line 1 has 3,000,000 characters"),
        (" \n\t\n\u200b\x00", InputUnusable, "There is no line to send"),
    ],
    ids=["many", "long", "huge", "empty"],
)
def test_too_much_or_nothing_is_refused_and_what_was_sent_stays(
    store: Store, text: str, refusal: type[AtlasError], words: str
) -> None:
    rooms, code, _ = gathering(store)
    rooms.classroom.send(code, "a", "A fox.")
    with pytest.raises(refusal, match=words):
        rooms.classroom.send(code, "a", text)
    assert rooms.classroom.sent(code, "a") == ["A fox."]


def test_what_is_no_text_in_a_line_is_dropped(store: Store) -> None:
    rooms, code, token = gathering(store)
    rooms.classroom.send(code, "a", "</script>\x00\x1b[31m \u202eabc\u202c\r\x0b<|endoftext|> שלום 👩\u200d👧")
    assert sorted(rooms.classroom.close(code, token).split("\n")) == [
        "</script> [31m abc",
        "<|endoftext|> שלום 👩\u200d👧",
    ]


def test_a_room_has_the_lines_of_as_many_as_may_follow_and_who_leaves_takes_them_back(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ATLAS_MAX_FOLLOWERS", "2")
    rooms, code, token = gathering(store)
    for follower in ("a", "b"):
        rooms.classroom.send(code, follower, "A fox.")
    with pytest.raises(RoomRefused, match=r"2 have sent lines.*ATLAS_MAX_FOLLOWERS"):
        rooms.classroom.send(code, "c", "A fox.")
    rooms.classroom.send(code, "b", "A bear.")
    rooms.leave(code, "a")
    assert rooms.classroom.counts(code, token) == (1, 1)
    rooms.classroom.send(code, "c", "A fox.")


def test_a_text_longer_than_one_to_train_on_stays_open(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATLAS_MAX_TRAINING_KB", "10")
    rooms, code, token = gathering(store)
    rooms.classroom.edit(code, token, "é" * 4_999)
    rooms.classroom.send(code, "a", "A fox.")
    with pytest.raises(InputTooLong, match=r"would have 10 kB, and 10 are the most\. Remove lines"):
        rooms.classroom.close(code, token)
    rooms.classroom.edit(code, token, "é")
    assert rooms.classroom.close(code, token) == "é\nA fox."


def test_all_see_the_training_and_get_its_model_also_who_comes_later(store: Store) -> None:
    rooms, code, token = gathering(store)
    other = Rooms(store)
    assert other.classroom.shown(code) == other.classroom.packed(code) == ""
    versions = [other.version(code)]
    rooms.classroom.close(code, token)
    rooms.classroom.show(code, token, "first")
    room = other.room(code)
    assert room is not None
    assert (room.gathers, room.trains, room.model) == ("closed", True, "")
    rooms.classroom.show(code, token, "second")
    assert other.version(code) == room.version not in versions, "followers read the room once a training, not a point"
    assert other.classroom.shown(code) == "second"
    rooms.classroom.share(code, token, LOCATION, "weights")
    room = other.room(code)
    assert room is not None
    assert (room.trains, room.model, other.classroom.packed(code)) == (False, LOCATION, "weights")
    for refused, text in ((rooms.classroom.show, "x" * (MOST_SHOWN + 1)),):
        with pytest.raises(InputTooLong):
            refused(code, token, text)
    with pytest.raises(InputTooLong, match="fewer layers"):
        rooms.classroom.share(code, token, LOCATION, "x" * (MOST_MODEL + 1))


def test_only_the_token_reads_lines_trains_and_shares(store: Store) -> None:
    rooms, code, token = gathering(store)
    rooms.classroom.send(code, "a", "A fox.")
    acts: list[Callable[[str, str], object]] = [
        rooms.classroom.gather,
        rooms.classroom.counts,
        rooms.classroom.close,
        rooms.classroom.text,
        lambda code, token: rooms.classroom.edit(code, token, "x"),
        lambda code, token: rooms.classroom.show(code, token, "x"),
        lambda code, token: rooms.classroom.share(code, token, LOCATION, "x"),
    ]
    for act in acts:
        with pytest.raises(RoomUnknown):
            act(code, "guessed")
    assert rooms.classroom.counts(code, token) == (1, 1)


def test_all_of_it_ends_with_the_room() -> None:
    now = [1e5]
    for ends in ("by the instructor", "by itself"):
        store = Memory(lambda: now[0])
        rooms, code, token = gathering(store)
        rooms.classroom.send(code, "a", "A fox.")
        rooms.classroom.edit(code, token, "secret")
        rooms.classroom.share(code, token, LOCATION, "weights")
        if ends == "by itself":
            now[0] += 1_801
        else:
            rooms.end(code, token)
        assert rooms.classroom.sent(code, "a") == []
        assert rooms.classroom.packed(code) == rooms.classroom.shown(code) == ""
        assert "secret" not in str(vars(store))
        assert "weights" not in str(vars(store))
    rooms, code, token = gathering(store)
    rooms.classroom.share(code, token, LOCATION, "weights")
    for _ in range(3):
        now[0] += 1_000
        rooms.attend(code, token)
    assert rooms.classroom.packed(code) == "weights", "a room that goes on keeps its model"
