"""The visitor's sentence: typed on one page, it stands on the next, and stays away where a link brings its own."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest

from core.ui.demos.fill_mask import TEXT as MASKED
from core.ui.masks.controls import SENTENCE
from tests.pages import opened, shown

SENTENCE_LABEL = "Sentence"
TYPED, BARE = "My dog ate the [MASK] again.", "My dog ate the again."


def typed() -> AppTest:
    """A session whose visitor typed a sentence under Tokenizers."""
    at = opened("tokenizers")
    return at.text_area[0].set_value(TYPED).run()


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
    assert at.text_area[0].value == newer
    at = to(at, "encoder")
    assert box(at, MASKED.label) == newer


def test_a_long_text_is_no_sentence() -> None:
    at = opened("tokenizers")
    at.text_area[0].set_value("word " * 100).run()
    assert box(to(at, "encoder"), MASKED.label) == MASKED.default
