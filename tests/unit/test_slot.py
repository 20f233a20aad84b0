"""A slot: the link's value, what a visitor changes, whose it is, and what is written to the link."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from streamlit.testing.v1 import AppTest

from core import links
from tests.app.history import back

SCRIPT = """
import streamlit as st
from streamlit.runtime.pages_manager import PagesManager
from core.links import parameters, register
from core.ui.links import close_page, open_page
from core.ui.param import Carried
from core.ui.slot import Slot

PagesManager.uses_pages_directory = False
ORDER = Carried(name="order", label="Order", as_=parameters.Integers(high=9, most=9))
register("trial", {"order": ORDER.carried})
state = open_page("trial")
text = st.text_input("text", "abc", key=state.key("text"))
kept = lambda former, order: order[:len(text)] if text.startswith(former) else None
slot = Slot(
    state,
    ORDER,
    (0, 1, 2),
    owner=text,
    refusal=lambda order: f"{len(order)} numbers do not fit." if len(order) > len(text) else "",
    carry=kept,
)
st.button("turn", on_click=slot.set, args=((2, 1, 0),))
st.button("clear", on_click=slot.set, args=((),))
st.button("usual", on_click=slot.set, args=((0, 1, 2),))
if st.button("break"):
    slot.set((1, 1))
    st.stop()
st.write(repr(slot.get()))
close_page(state)
"""


@pytest.fixture(autouse=True)
def _trial_page_is_forgotten() -> Iterator[None]:
    yield
    links.PAGES.pop("trial", None)


def opened(**query: str) -> AppTest:
    at = AppTest.from_string(SCRIPT, default_timeout=60)
    for name, value in query.items():
        at.query_params[name] = value
    return at.run()


def order(at: AppTest) -> str:
    assert not at.exception
    return str(at.markdown[-1].value).strip("`")


def press(at: AppTest, label: str) -> AppTest:
    return next(button for button in at.button if button.label == label).click().run()


def written(at: AppTest) -> str | None:
    value = at.query_params.get("order")
    return value[0] if isinstance(value, list) else value


def test_a_link_opens_it_and_its_default_is_not_written() -> None:
    assert order(opened()) == "(0, 1, 2)"
    at = opened(order="2.0.1")
    assert order(at) == "(2, 0, 1)"
    press(at, "turn")
    assert (order(at), written(at)) == ("(2, 1, 0)", "2.1.0")
    press(at, "usual")
    assert (order(at), written(at)) == ("(0, 1, 2)", None)


def test_an_empty_value_is_no_default() -> None:
    at = press(opened(), "clear")
    assert (order(at), written(at)) == ("()", "")
    assert order(opened(order="")) == "()"


def test_what_does_not_fit_is_refused_in_a_sentence_and_not_after_a_change_of_the_owner() -> None:
    at = opened(order="3.2.1.0")
    assert (order(at), [w.value for w in at.warning]) == ("(0, 1, 2)", ["4 numbers do not fit\\."])
    at = opened(order="2.1.0")
    at.text_input[0].set_value("ab").run()
    assert (order(at), len(at.warning)) == ("(0, 1, 2)", 0)


def test_another_owner_resets_it_or_keeps_what_remains() -> None:
    at = opened(order="2.1.0")
    at.text_input[0].set_value("abcd").run()
    assert (order(at), written(at)) == ("(2, 1, 0)", "2.1.0")
    at.text_input[0].set_value("xyz").run()
    assert (order(at), written(at)) == ("(0, 1, 2)", None)


def test_back_shows_the_values_of_its_address() -> None:
    at = press(opened(order="2.0.1"), "turn")
    assert order(back(at, order="2.0.1")) == "(2, 0, 1)"


def test_a_change_survives_a_run_that_does_not_end() -> None:
    at = press(opened(), "break")
    assert order(at.run()) == "(1, 1)"
