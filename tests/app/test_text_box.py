"""A box of text that a link carries: it begins with a sample, and one that was emptied stays empty."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from tests.app.history import back
from tests.pages import link, opened


def page() -> None:
    import streamlit as st

    from core.ui.links import close_page, link_row, open_page
    from core.ui.param import Text

    state = open_page("decoder")
    box = Text(name="text", label="Text", default="Once")

    def take() -> None:
        st.session_state[state.key("text")] = "Long ago"

    st.caption(f"before: {box.standing(state)}")
    if not st.checkbox("elsewhere"):
        st.caption(f"after: {box.draw(state)}")
    st.button("sample", on_click=take)
    link_row(state)
    close_page(state)


def fresh(**query: str) -> AppTest:
    at = AppTest.from_function(page, default_timeout=20)
    for name, value in query.items():
        at.query_params[name] = value
    return at.run()


def says(at: AppTest, text: str) -> bool:
    told = [f"before: {text}".strip(), f"after: {text}".strip()]
    return at.text_input[0].value == text and [caption.value.strip() for caption in at.caption] == told


def press(at: AppTest, label: str) -> AppTest:
    return next(button for button in at.button if button.label == label).click().run()


def test_a_box_begins_with_its_sample_which_stays_out_of_the_link() -> None:
    at = fresh()
    assert says(at, "Once")
    assert says(at.text_input[0].set_value("Twice").run(), "Twice")
    assert link(at) == {"text": "Twice"}
    assert says(at.text_input[0].set_value("Once").run(), "Once")
    assert link(at) == {}


def test_an_emptied_box_stays_empty_in_the_link_and_reset_brings_the_sample_back() -> None:
    at = fresh()
    at.text_input[0].set_value("").run()
    assert says(at, "")
    assert link(at) == {"text": ""}
    assert says(fresh(text=""), "")
    assert says(back(at, text="Twice"), "Twice")
    assert says(back(at, text=""), "")
    assert says(press(at, "Reset"), "Once")
    assert link(at) == {}


def test_a_box_that_was_away_begins_with_what_was_typed() -> None:
    at = fresh()
    at.text_input[0].set_value("").run()
    at.checkbox[0].check().run()
    assert not at.text_input
    at.checkbox[0].uncheck().run()
    assert says(at, "")


def test_a_sample_that_is_clicked_stands_in_the_box() -> None:
    at = press(fresh(text=""), "sample")
    assert says(at, "Long ago")
    assert link(at) == {"text": "Long ago"}


@pytest.mark.parametrize(
    ("branch", "query", "labels"),
    [
        ("encoder", {"demo": "passes", "model": "atlas-albert", "text": ""}, ["Sentence with [MASK]"]),
        ("encoder", {"demo": "parts", "model": "atlas-deberta", "text": ""}, ["Sentence, perhaps"]),
        ("encoder", {"demo": "pairs", "model": "atlas-bert", "first": "", "second": ""}, ["First", "Candidate"]),
        ("encoder", {"demo": "translation", "model": "atlas-xlm", "first": "", "second": ""}, ["English", "French"]),
        ("encoder", {"demo": "beside", "model": "atlas-distilbert", "text": ""}, ["Sentence with [MASK]"]),
        ("encoder", {"model": "atlas-electra", "text": ""}, ["Sentence"]),
        ("efficient", {"demo": "hashing", "model": "atlas-reformer", "text": ""}, ["Text, up to"]),
    ],
)
def test_an_emptied_box_of_a_page_comes_back_empty_and_the_page_asks_for_text(
    branch: str, query: dict[str, str], labels: list[str]
) -> None:
    at = opened(branch, **query)
    for label in labels:
        (box,) = [box for box in (*at.text_input, *at.text_area) if box.label.startswith(label)]
        assert box.value == ""
    assert at.warning[0].value.startswith(("There is no text", "There is no second sentence"))
