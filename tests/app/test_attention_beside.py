"""Three models side by side: filled at once, words and heads travel in the link, one refusal leaves the others."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core.attention.word_maps import strongest, word_attention
from core.checkpoints.spec import Checkpoint
from core.errors import InputUnusable
from tests.app.test_attention_page import page
from tests.pages import shown, widget

TINY = "dir-tiny-bert,dir-tiny-gpt2,dir-tiny-t5"


def beside(**query: str) -> AppTest:
    return page(tab="beside", **query)


def test_it_opens_with_a_map_of_each_kind_and_a_word_in_all() -> None:
    at = beside()
    assert not at.warning
    assert len(at.get("plotly_chart")) == 5  # three maps, the bars, the cross map
    assert "Live model" not in [box.label for box in at.selectbox]
    assert "**What “it” attends to**" in shown(at)
    assert "upper right of the decoder is gray" in shown(at)
    assert not at.query_params.get("at")
    # The heads are those with the most weight on the token before, in every model.
    from core import checkpoints

    for slug in ("minilm", "atlas-gpt-2"):
        best = strongest(word_attention(checkpoints.load(slug), "The cat sat."), "previous")
        assert best is not None
        boxes = [box.value for box in at.selectbox if box.key and f".{slug}." in box.key]
        assert boxes == [best[0] + 1, best[1] + 1]


def test_models_words_and_heads_travel_in_the_link(checkpoint_dir: Path) -> None:
    at = beside(beside=TINY, text="The cat sat on the mat.", word="2", at="2.1.0.0.1.2")
    assert not at.warning
    assert "**What “cat” attends to**" in shown(at)
    heads = {box.key: box.value for box in at.selectbox if box.label in ("Layer", "Head")}
    # three models, and each number of a head that is not the strongest one's
    assert re.search(r"Settings \([3-7] changed\)", str([menu.proto.popover.label for menu in at.get("popover")]))
    assert [value for key, value in heads.items() if "bert" in str(key)] == [2, 1]
    assert [value for key, value in heads.items() if "t5" in str(key)] == [1, 2]
    widget(at.selectbox, "Encoder").set_value("minilm").run()
    assert at.query_params["beside"] == "minilm,dir-tiny-gpt2,dir-tiny-t5"
    assert at.query_params.get("at", "").startswith("0.0.") or "at" not in at.query_params


def test_another_kind_of_head_starts_with_the_strongest(checkpoint_dir: Path) -> None:
    at = beside(beside=TINY, text="The cat sat.", at="2.1.2.1.2.1")
    widget(at.selectbox, "Heads with the most").set_value("next").run()
    assert at.query_params["role"] == "next"
    assert "at" not in at.query_params
    assert "never has weight on the token after" in shown(at)


def test_one_model_that_cannot_leaves_the_others(checkpoint_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from core.ui.attention import side_by_side as section

    real = section.word_maps.word_attention

    def without(checkpoint: Checkpoint, text: str, task: str | None) -> object:
        if checkpoint.spec.slug == "dir-tiny-gpt2":
            raise InputUnusable("No places here.")
        return real(checkpoint, text, task)

    monkeypatch.setattr(section.word_maps, "word_attention", without)
    at = beside(beside=TINY, text="The cat sat.")
    assert at.warning[0].value == "No places here\\."
    assert len(at.get("plotly_chart")) >= 3


def test_heads_of_more_models_than_there_are_places_are_named(checkpoint_dir: Path) -> None:
    assert "at" in beside(beside=TINY, text="The cat sat.", at="1.2.3.4.5.6.7").warning[0].value


def test_of_a_long_text_a_part_stands_side_by_side() -> None:
    text = "The cat sat on the mat and the dog ran. " * 6  # 66 words and marks
    at = beside(text=text)
    assert not at.warning
    assert "This text has 66 words and punctuation marks" in shown(at)
    assert widget(at.number_input, "to word").value == 40
    assert "window" not in at.query_params
    widget(at.number_input, "From word").set_value(60).run()
    assert not at.warning
    assert at.query_params["window"] == "60.66"
    assert len(at.get("plotly_chart")) == 5
    for window in ("900.1", "0.0", "7", "66.1"):
        at = beside(text=text, window=window)
        assert not at.warning
