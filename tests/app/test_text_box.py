"""Boxes of text, and the sentence of a visitor that travels between them."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from core.ui.demos.fill_mask import TEXT as MASKED
from core.ui.masks.controls import SENTENCE
from tests.app.history import back
from tests.pages import link, opened, shown


def page() -> None:
    import streamlit as st

    from core.ui.links import close_page, keep_address, open_page, reset_button
    from core.ui.param import Text

    state = open_page("decoder")
    box = Text(name="text", label="Text", default="Once")

    def take() -> None:
        st.session_state[state.key("text")] = "Long ago"

    st.caption(f"before: {box.standing(state)}")
    if not st.checkbox("elsewhere"):
        st.caption(f"after: {box.draw(state)}")
    st.button("sample", on_click=take)
    keep_address(state)
    reset_button(state)
    close_page(state)


def fresh(**query: str) -> AppTest:
    at = AppTest.from_function(page, default_timeout=120)
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


SENTENCE_LABEL = "Sentence"
TYPED, BARE = "My dog ate the [MASK] again.", "My dog ate the again."


def typed() -> AppTest:
    """A session whose visitor typed a sentence under Tokenizers."""
    at = opened("tokenizers")
    return at.text_input[0].set_value(TYPED).run()


def to(at: AppTest, page: str, **query: str) -> AppTest:
    at.switch_page(f"pages/{page}.py")
    at.query_params.clear()
    for name, value in query.items():
        at.query_params[name] = value
    return at.run()


def box(at: AppTest, label: str) -> str:
    return next(str(box.value) for box in (*at.text_area, *at.text_input) if box.label == label)


def test_a_typed_sentence_travels_with_its_mask_only_to_models_that_predict_it() -> None:
    at = to(typed(), "encoder")
    assert box(at, MASKED.label) == TYPED
    assert "Your sentence, from Tokenizers" in shown(at)
    at = to(at, "objectives", tab="masks")
    assert box(at, SENTENCE_LABEL) == BARE
    assert at.run().query_params["text"] == BARE  # a link from here is exact


def test_the_sample_comes_back_and_a_link_keeps_its_own_text() -> None:
    at = to(typed(), "objectives", tab="masks", text="A cat.")
    assert box(at, SENTENCE_LABEL) == "A cat."
    assert "Your sentence" not in shown(at)
    at = to(typed(), "objectives", tab="masks")
    next(button for button in at.button if button.label == "Use the sample").click().run()
    assert box(at, SENTENCE_LABEL) == SENTENCE
    assert "text" not in at.query_params
    assert box(to(at, "encoder"), MASKED.label) == MASKED.default


def test_a_newer_sentence_replaces_the_one_that_travelled() -> None:
    at = to(typed(), "objectives", tab="masks")
    newer = "Her cat slept."
    next(box for box in at.text_input if box.label == SENTENCE_LABEL).set_value(newer).run()
    at = to(at, "tokenizers")
    assert at.text_input[0].value == newer
    at = to(at, "encoder")
    assert box(at, MASKED.label) == newer


def test_a_long_text_is_no_sentence() -> None:
    at = opened("tokenizers")
    at.text_input[0].set_value("word " * 100).run()
    assert box(to(at, "encoder"), MASKED.label) == MASKED.default
