"""CLIP on drawn shapes: the page of its system."""

from __future__ import annotations

import pytest

from tests.pages import FEW, described, opened, shown, widget


def test_images_captions_and_classes_are_drawn_and_the_prompt_changes_the_answer() -> None:
    at = opened("encoder", system="clip")
    assert not at.error
    assert "Cosines of captions and images" in shown(at)
    before = described(at)
    assert "Zero-shot classes of the image: circle" in before
    widget(at.text_input, "Prompt with {}").set_value("{}").run()
    assert described(at) != before
    assert "Accuracy by prompt" in shown(at)
    new = described(opened("encoder", system="clip", pairs="new"))
    assert "a picture of a red circle: 99%, 98%" in new


def test_own_words_are_classes_and_an_unknown_one_gets_a_sentence() -> None:
    at = opened("encoder", system="clip", classes="own", own="red ring, gray ring")
    assert "red ring" in described(at)
    widget(at.text_input, "Classes, separated by commas").set_value("red ring, dog").run()
    assert "has the word “dog”" in shown(at)
    assert "Cosines of captions and images" in shown(at)


@pytest.mark.parametrize("text", FEW.values(), ids=FEW)
def test_strange_classes_and_prompts_get_a_sentence(text: str) -> None:
    for query in ({"own": text}, {"prompt": text}):
        assert not opened("encoder", system="clip", classes="own", **query).exception


def test_a_guess_comes_first_and_old_links_open_the_model_that_they_name() -> None:
    at = opened("encoder", system="clip", cover="yes")
    assert "Zero-shot classes of the image: circle" not in described(at)
    at = opened("encoder", system="clip", model="minilm")
    assert "MiniLM" in shown(at)
