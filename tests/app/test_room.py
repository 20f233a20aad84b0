"""Follow me, on the pages: an instructor and followers, each a session of its own."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from core import checkpoints, engine
from core import rooms as module
from core.checkpoints import own
from core.content import content
from core.errors import CheckpointUnavailable, RoomsUnavailable
from core.rooms import Rooms
from core.rooms.store import Memory
from core.settings import settings
from core.ui.page import css
from core.ui.seat import Kept
from core.ui.training import classroom, scratch
from tests.pages import html_of, link, opened, protos, shown, widget

WORDS = content("frame", "room")


@pytest.fixture(autouse=True)
def lead(monkeypatch: pytest.MonkeyPatch) -> Rooms:
    """The rooms of this test alone."""
    rooms = Rooms(Memory())
    monkeypatch.setattr(module, "in_memory", lambda key: rooms)
    return rooms


def leading(page: str = "glossary", **query: str) -> tuple[AppTest, str]:
    at = opened(page, **query)
    widget(at.button, WORDS.label("open")).click().run()
    return at, at.session_state["atlas.room"].code


def following(code: str) -> AppTest:
    return opened("home", room=code)


def test_followers_go_where_the_instructor_goes_leave_and_come_back() -> None:
    leads, code = leading("glossary", term="attention")
    follows = following(code.lower())
    assert follows.title[0].value == content("glossary").title
    assert link(follows) == {"term": "attention"}
    follows.switch_page("pages/glossary.py")  # AppTest does not notice that the page has changed
    leads.query_params["term"] = "softmax"
    leads.session_state["links.page"] = None  # as a link of the app leads there
    leads.run()
    follows.run()
    assert link(follows) == {"term": "softmax"}
    widget(follows.toggle, WORDS.label("follow")).set_value(False).run()
    leads.switch_page("pages/glossary.py").run()
    follows.run()
    assert follows.title[0].value == content("glossary").title
    widget(follows.toggle, WORDS.label("follow")).set_value(True).run()
    assert follows.title[0].value == content("glossary").title
    follows.switch_page("pages/glossary.py")
    widget(leads.button, WORDS.label("end")).click().run()
    follows.run()
    assert WORDS.part("Ended") in shown(follows)
    assert "atlas.room" not in follows.session_state


def test_a_question_is_asked_answered_and_revealed() -> None:
    leads, code = leading()
    follows = following(code)
    widget(leads.text_area, WORDS.label("options")).set_value("<b>one</b>\ntwo\n\ntwo")
    widget(leads.button, WORDS.label("send")).click().run()
    assert "<b>one</b>" not in html_of(follows.run())
    widget(follows.pills, WORDS.part("Which")).set_value("<b>one</b>").run()
    assert WORDS.part("Answered") in shown(follows)
    assert "1 answer" in html_of(leads.run())
    assert "100.0%" not in html_of(leads), "nothing is shown before it is revealed"
    widget(leads.button, WORDS.label("reveal")).click().run()
    for at in (leads, follows.run()):
        assert "&lt;b&gt;one&lt;/b&gt;" in html_of(at)
        assert "1 (100.0%)" in html_of(at)
        assert "0 (0.0%)" in html_of(at)
    widget(leads.button, WORDS.label("clear")).click().run()
    assert "atlas-question" not in html_of(follows.run()).replace(".atlas-question", "")


def test_a_wrong_code_and_a_store_that_is_away_are_sentences(lead: Rooms, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = following("zzzz")
    assert "There is no room “ZZZZ”" in shown(wrong)
    assert wrong.title[0].value
    assert "room" not in link(wrong)
    _, code = leading()
    follows = following(code)

    def away(*_: object) -> None:
        raise RoomsUnavailable("Rooms cannot be reached.")

    monkeypatch.setattr(lead, "version", away)
    follows.run()
    assert "Rooms cannot be reached" in shown(follows)
    monkeypatch.undo()
    assert "atlas.room" in follows.session_state


def test_a_reload_keeps_the_seat_and_a_lost_room_is_opened_again(lead: Rooms) -> None:
    leads, code = leading()
    follows = following(code)
    seats = [at.session_state["atlas.room"] for at in (leads, follows)]
    lead._store.delete(f"atlas:room:{code}", f"atlas:room:{code}:followers")  # the server was started anew
    back = [opened("catalogue") for _ in seats]
    for at, seat in zip(back, seats, strict=True):
        at.session_state["atlas.room.kept--sent"] = Kept(code=seat.code, token=seat.token, follower=seat.follower)
    back[1].run()
    assert WORDS.part("Waiting") in shown(back[1])
    back[0].run()
    assert lead.attend(code, seats[0].token)[0] == 0
    back[1].run()
    assert lead.attend(code, seats[0].token)[0] == 1
    assert back[1].title[0].value == back[0].title[0].value == content("catalogue").title


@pytest.mark.parametrize(("options", "box", "answer"), [("one\ntwo", "pills", "two"), ("", "text_input", "king")])
def test_an_answer_is_still_shown_to_whoever_comes_back_in_another_session(options: str, box: str, answer: str) -> None:
    leads, code = leading()
    widget(leads.text_area, WORDS.label("options")).set_value(options)
    widget(leads.button, WORDS.label("send")).click().run()
    follows = following(code)
    widget(getattr(follows, box), WORDS.part("Which")).set_value(answer).run()
    back = opened("catalogue")
    seat = follows.session_state["atlas.room"]
    back.session_state["atlas.room.kept--sent"] = Kept(code=code, token="", follower=seat.follower)
    back.run()
    assert widget(getattr(back, box), WORDS.part("Which")).value == answer
    assert WORDS.part("Answered") in shown(back)
    assert WORDS.part("Answered") not in shown(following(code))


def test_a_code_is_typed_and_a_full_or_ended_room_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    small_room = settings().model_copy(update={"max_followers": 1})
    monkeypatch.setattr(module, "settings", lambda: small_room)
    leads, code = leading("catalogue")

    def joining() -> AppTest:
        at = opened("glossary")
        widget(at.text_input, WORDS.label("code")).set_value(f" {code.lower()} ")
        return widget(at.button, WORDS.label("join")).click().run()  # type: ignore[no-any-return]

    follows = joining()
    assert follows.title[0].value == content("catalogue").title
    late = joining()
    assert f"Room {code} is full: 1 follow it." in shown(late)
    assert late.title[0].value == content("glossary").title
    widget(leads.button, WORDS.label("end")).click().run()
    assert f"There is no room “{code}”" in shown(joining())
    assert not [at.exception for at in (leads, follows, late) if at.exception]


def test_who_is_in_no_room_looks_at_none(lead: Rooms, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("version", "room", "attend"):
        monkeypatch.setattr(lead, name, pytest.fail)
    at = opened("glossary")
    assert not [proto for proto in protos(at, "html") if "atlas-room" in proto.body]


def test_a_follower_who_knows_the_code_does_not_lead_a_lost_room(lead: Rooms) -> None:
    leads, code = leading()
    lead._store.delete(f"atlas:room:{code}", "atlas:rooms")  # the server was started anew
    thief = opened("catalogue")
    thief.session_state["atlas.room.kept--sent"] = Kept(code=code, token="mine", follower="")
    thief.run()
    assert "Open a new one" in shown(thief)
    assert lead.room(code) is None
    leads.run()
    assert lead.attend(code, leads.session_state["atlas.room"].token) == (0, 0)


def test_who_leaves_and_joins_again_answers_once(lead: Rooms) -> None:
    leads, code = leading()
    widget(leads.text_area, WORDS.label("options")).set_value("one\ntwo")
    widget(leads.button, WORDS.label("send")).click().run()
    follows = following(code)
    widget(follows.pills, WORDS.part("Which")).set_value("one").run()
    token = leads.session_state["atlas.room"].token
    assert lead.attend(code, token) == (1, 1)
    widget(follows.button, WORDS.label("leave")).click().run()
    assert lead.attend(code, token) == (0, 0)
    follows.query_params["room"] = code
    follows.run()
    assert WORDS.part("Answered") not in shown(follows)
    widget(follows.pills, WORDS.part("Which")).set_value("two").run()
    assert lead.attend(code, token) == (1, 1)


def test_a_view_is_covered_until_its_follower_has_answered() -> None:
    leads, code = leading()
    widget(leads.text_area, WORDS.label("options")).set_value("one\ntwo")
    widget(leads.checkbox, WORDS.label("cover")).set_value(True)
    widget(leads.button, WORDS.label("send")).click().run()
    follows, other = following(code), following(code)
    hides = css("covered")
    assert hides in html_of(follows)
    widget(follows.pills, WORDS.part("Which")).set_value("one").run()
    assert hides not in html_of(follows)
    assert hides in html_of(other.run())
    widget(leads.button, WORDS.label("reveal")).click().run()
    assert hides not in html_of(other.run())
    assert hides not in html_of(leads)


CLASS = content("training", "classroom")
SMALL = {"depth": "1", "wide": "32", "parts": "1", "context": "32", "units": "characters"}


def models(at: AppTest) -> int:
    """How many models of a class the page has in its menu."""
    return sum(name.startswith(WORDS.label("model")) for name in widget(at.selectbox, "Live model").options)


def test_a_room_gathers_a_text_watches_one_training_and_has_its_model(
    lead: Rooms, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scratch, "STEPS", 20)
    leads, code = leading("training", **SMALL)
    follows = following(code)
    widget(leads.button, WORDS.label("gather")).click().run()
    assert link(leads)["from"] == "room"
    follows.switch_page("pages/training.py").run()
    follows.run()
    hostile = "<img src=x onerror=alert(1)>"
    widget(follows.text_area, CLASS.label("box")).set_value(f"{hostile}\nThe fox said **yes**.")
    widget(follows.button, CLASS.label("send")).click().run()
    assert CLASS.part("Sent", lines=2) in shown(follows)
    leads.run()
    assert CLASS.part("Gathered", lines=2, followers=1) in shown(leads)
    assert hostile not in str(leads.main), "nobody reads a line before all are there"
    widget(leads.button, CLASS.label("close")).click().run()
    box = widget(leads.text_area, CLASS.label("lines"))
    assert sorted(box.value.split("\n")) == [hostile, "The fox said **yes**."]
    assert "The room’s text has 5" in shown(leads), "too short to train on"
    box.set_value("The fox said **yes**.")
    widget(leads.selectbox, classroom.BESIDE.label).set_value("stories").run()
    assert lead.classroom.text(code, leads.session_state["atlas.room"].token) == "The fox said **yes**."
    follows.run()
    assert CLASS.part("Wait") in shown(follows)
    assert "fox" not in shown(follows)
    widget(leads.button, content("training", "scratch").label("train-here")).click().run()
    assert content("training", "scratch").part("Onward in class") in shown(leads)
    late = following(code)
    with monkeypatch.context() as patched:
        patched.setattr(engine, "run", None)
        patched.setattr("core.training.models.new_model", None)
        for at in (follows.run(), late.switch_page("pages/training.py").run()):
            assert content("training", "scratch").part("Onward in class") in shown(at)
            assert protos(at, "plotly_chart")
    own.forget(follows.session_state["atlas.room"].model)  # as in another process, which has it from the room
    for at in (leads, follows, late):
        at.switch_page("pages/decoder.py").run()
        assert models(at) == 1
    assert models(opened("decoder")) == 0
    with pytest.raises(CheckpointUnavailable, match="in its room alone"):
        checkpoints.get(own.CLASS)
    location = follows.session_state["atlas.room"].model
    widget(leads.button, WORDS.label("end")).click().run()
    for at in (leads, follows.run()):
        at.run()
        assert models(at) == 0
    assert own.find(location) is None
    assert not [at.exception for at in (leads, follows, late) if at.exception]
