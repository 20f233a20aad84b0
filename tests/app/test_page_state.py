"""A page's state and its URL: links are taken over, written back, and set anew."""

import pytest
from streamlit.testing.v1 import AppTest

from core.ui import links


def page() -> None:
    import streamlit as st

    from core.ui.links import close_page, link_row, open_page

    state = open_page("decoder", {"system": ["gpt", "gpt-2"]})
    beams = st.slider("beams", 1, 8, state.number("beams", 4), key=state.key("beams"))
    text = st.text_input("text", state.text("text", "Once"), key=state.key("text"))
    if st.button("six", key=state.key("six")):
        beams = 6
    state.set(beams=beams, text=None if text == "Once" else text)
    link_row(state)
    close_page(state)


def fresh(**query: str) -> AppTest:
    at = AppTest.from_function(page, default_timeout=20)
    for name, value in query.items():
        at.query_params[name] = value
    return at.run()


def test_a_link_sets_the_widgets() -> None:
    at = fresh(beams="3", text="Long ago")
    assert (at.slider[0].value, at.text_input[0].value) == (3, "Long ago")
    assert not at.warning


def test_widgets_write_the_link() -> None:
    at = fresh()
    at.slider[0].set_value(6).run()
    assert at.query_params == {"beams": ["6"]} or at.query_params == {"beams": "6"}


def test_another_query_sets_the_widgets_anew() -> None:
    """What Back does: the same session, an earlier query."""
    at = fresh(beams="3")
    at.slider[0].set_value(6).run()
    at.query_params["beams"] = "2"
    at.run()
    assert at.slider[0].value == 2


def test_a_click_that_carries_the_url_of_the_view_before_is_not_taken_for_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow browser: the second click leaves before the URL that the first one wrote has arrived."""
    monkeypatch.setattr(links, "_IN_FLIGHT_SECONDS", 0.0)
    at = fresh(beams="3")
    at.slider[0].set_value(6).run()
    at.query_params["beams"] = "3"
    at.text_input[0].set_value("Later").run()
    assert (at.slider[0].value, at.text_input[0].value) == (6, "Later")
    at.query_params.clear()
    at.query_params["beams"] = "6"
    at.slider[0].set_value(7).run()
    assert (at.slider[0].value, at.text_input[0].value) == (7, "Later")


def test_back_to_the_view_before_is_taken_for_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same URL as above, with every widget as it was."""
    monkeypatch.setattr(links, "_IN_FLIGHT_SECONDS", 0.0)
    at = fresh(beams="3")
    at.slider[0].set_value(6).run()
    at.query_params["beams"] = "3"
    at.run()
    assert at.slider[0].value == 3


def test_back_right_after_a_button_is_taken_for_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """A button falls back to rest by itself, which is no click."""
    monkeypatch.setattr(links, "_IN_FLIGHT_SECONDS", 0.0)
    at = fresh(beams="3")
    next(button for button in at.button if button.label == "six").click().run()
    assert at.query_params["beams"] in ("6", ["6"])
    at.query_params["beams"] = "3"
    at.run()
    assert at.slider[0].value == 3


def test_a_refused_value_gets_a_sentence_shown_as_typed() -> None:
    at = fresh(seed="<img src=x>")
    assert not at.exception
    assert "seed" in at.warning[0].value
    assert "\\<img" in at.warning[0].value


def test_reset_returns_to_the_start() -> None:
    at = fresh(beams="3")
    next(button for button in at.button if button.label == "Reset").click().run()
    assert at.slider[0].value == 4
    assert not at.query_params


def test_a_long_text_is_packed_into_the_link() -> None:
    at = fresh()
    at.text_input[0].set_value("x" * 2001).run()
    assert at.text_input[0].value == "x" * 2001
    assert not at.caption
    (carried,) = [at.query_params["text"]] if isinstance(at.query_params["text"], str) else at.query_params["text"]
    assert carried.startswith("deflate:")
    assert fresh(text=carried).text_input[0].value == "x" * 2001


def test_a_text_too_long_for_a_link_is_kept_and_named() -> None:
    text = "".join(chr(0x4E00 + (i * 7919) % 20_000) for i in range(6_000))  # hardly anything comes twice
    at = fresh()
    at.text_input[0].set_value(text).run()
    assert at.text_input[0].value == text
    assert "too long for a link even when packed" in at.caption[0].value
    assert "text" not in at.query_params


def test_a_link_that_spells_out_a_default_stays_as_it_is_until_something_changes() -> None:
    """Rewriting it would add a step to the history from which Back leads to the same rewriting."""
    at = fresh(text="Once", beams="3")  # the page's own text
    assert dict(at.query_params) in ({"text": ["Once"], "beams": ["3"]}, {"text": "Once", "beams": "3"})
    at.slider[0].set_value(6).run()
    assert dict(at.query_params) in ({"beams": ["6"]}, {"beams": "6"})
    at.slider[0].set_value(4).run()
    assert not at.query_params
