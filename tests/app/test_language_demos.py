"""The two demos as scripts: they run, keep what was chosen, and answer bad input with a sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core import checkpoints, session
from core.figures.predictions import bars_alt, prediction_bars
from core.language.types import Decoding
from core.theme import LIGHT
from core.ui.chips import Clicked, text_color_on
from core.ui.demos.decoding import effective
from tests.pages import opened, protos, shown, stop_after, widget


@pytest.fixture
def fill_mask_page(checkpoint_dir: Path, open_tables: None) -> AppTest:
    return opened("encoder", model="dir-tiny-bert")


@pytest.fixture
def generate_page(checkpoint_dir: Path, open_tables: None) -> AppTest:
    return opened("decoder", model="dir-tiny-gpt2", text="The cat", length="6")


def _html(page: AppTest) -> str:
    return " ".join(element.value for element in page.get("html"))


def _pick(page: AppTest, key: str, *positions: int) -> AppTest:
    """What the browser's chips send, without a browser."""
    page.session_state[f"{key}--sent"] = Clicked(selected=list(positions))
    return page.run()


def test_the_example_is_answered_at_once(fill_mask_page: AppTest) -> None:
    assert "The capital of France is" in _html(fill_mask_page)
    assert len(fill_mask_page.dataframe[0].value) == 6
    assert "text" not in fill_mask_page.query_params


def test_a_probe_is_one_click_away(fill_mask_page: AppTest) -> None:
    next(g for g in fill_mask_page.get("button_group") if g.label == "Ten probes").set_value("Syntax").run()
    assert fill_mask_page.text_input[0].value == "I put [MASK] fork down on the table."
    assert any("determiner" in caption.value for caption in fill_mask_page.caption)


def test_clicked_words_are_masked_and_survive_an_edit(fill_mask_page: AppTest) -> None:
    fill_mask_page.text_input[0].set_value("The cat sat on the mat.").run()
    assert "click a word" in fill_mask_page.warning[0].value
    _pick(fill_mask_page, "encoder.1.mask.chips", 2)
    assert fill_mask_page.query_params["mask"][0] == "2"
    assert set(fill_mask_page.dataframe[0].value["original"]) == {"cat"}
    fill_mask_page.text_input[0].set_value("And the cat sat on the mat.").run()
    assert fill_mask_page.query_params["mask"][0] == "3"
    assert set(fill_mask_page.dataframe[0].value["original"]) == {"cat"}


def test_positions_outside_the_sentence_are_ignored(fill_mask_page: AppTest) -> None:
    _pick(fill_mask_page, "encoder.1.mask.chips", 3, 99)
    assert fill_mask_page.query_params["mask"][0] == "3"


def test_markup_in_a_sentence_is_text(fill_mask_page: AppTest) -> None:
    page = fill_mask_page.text_input[0].set_value("</script><script>alert(1)</script> [MASK]").run()
    assert "<script>" not in _html(page)
    assert "&lt;script&gt;alert(1)" in _html(page)


def test_all_probes_are_measured(fill_mask_page: AppTest) -> None:
    next(toggle for toggle in fill_mask_page.toggle if toggle.label == "Run the probes").set_value(True).run()
    assert len(fill_mask_page.dataframe[1].value) == 10


def _ids(page: AppTest) -> list[int]:
    """The generated tokens."""
    return [int(number) for frame in page.dataframe if "step" in frame.value for number in frame.value["id"]]


def test_generation_fills_the_page(generate_page: AppTest) -> None:
    assert len(_ids(generate_page)) == 6
    assert "The cat" in _html(generate_page)


def test_another_token_is_taken_at_a_step(generate_page: AppTest) -> None:
    before = _ids(generate_page)
    _pick(generate_page, "decoder.1.step.path", 2)
    assert generate_page.query_params["step"][0] == "3"
    _pick(generate_page, f"decoder.1.candidates.other.2.{before[2]}", 4)
    forced = [int(number) for number in "".join(generate_page.query_params["forced"]).split(".")]
    assert forced[:2] == before[:2]
    assert forced[2] != before[2]
    assert _ids(generate_page)[:3] == forced
    next(button for button in generate_page.button if button.label == "Generate").click().run()
    assert "forced" not in generate_page.query_params
    assert _ids(generate_page) == before


@pytest.mark.parametrize("rules", ["greedy", "beam"])
def test_a_text_that_is_stopped_goes_on(
    rules: str, checkpoint_dir: Path, open_tables: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = {"model": "dir-tiny-gpt2", "text": "The cat", "length": "6", "strategy": rules}
    ids = _ids(opened("decoder", **query))
    session.results.clear()
    with monkeypatch.context() as patched:
        stop_after(patched, lambda step: step.index == 2)
        page = opened("decoder", **query)
    assert "Stopped." in shown(page)
    assert len(_ids(page)) == 3
    assert rules == "beam" or _ids(page) == ids[:3]
    widget(page.button, "Continue").click().run()
    assert "Stopped." not in shown(page)
    assert _ids(page) == ids
    assert not [button for button in page.button if button.label in ("Stop", "Continue")]


def test_only_the_settings_of_the_strategy_are_shown(generate_page: AppTest) -> None:
    strategy = "Decoding strategy"
    assert not generate_page.slider
    next(g for g in generate_page.get("button_group") if g.label == strategy).set_value("sample").run()
    assert [slider.label for slider in generate_page.slider] == ["Temperature", "Top-p"]
    generate_page.slider[0].set_value(0.7).run()
    next(g for g in generate_page.get("button_group") if g.label == strategy).set_value("beam").run()
    assert not generate_page.slider
    assert "".join(generate_page.query_params["temperature"]) == "0.7"  # hidden settings keep their values


def test_a_path_of_another_vocabulary_is_left_out(checkpoint_dir: Path, open_tables: None) -> None:
    page = opened("decoder", model="dir-tiny-gpt2", length="4", forced="999999", step="3")
    assert "chosen by hand are dropped" in page.warning[0].value
    assert len(_ids(page)) == 4


def test_a_token_that_leaves_a_character_incomplete_is_explained(checkpoint_dir: Path, open_tables: None) -> None:
    byte, letter = checkpoints.load("dir-tiny-gpt2").tokenizer.convert_tokens_to_ids(["\u00c3", "a"])  # C3 begins “é”
    page = opened("decoder", model="dir-tiny-gpt2", length="4", forced=f"{byte}.{letter}")
    assert "only some bytes of a character" in shown(page)


def test_the_chip_of_an_unknown_token_names_the_word_and_why(checkpoint_dir: Path, open_tables: None) -> None:
    page = opened("encoder", model="dir-tiny-bert", text=f"the 🤖 {'x' * 101} [MASK]")
    rows = [json.loads(proto.json).get("tokens") for proto in protos(page, "bidi_component")]
    titles = " ".join(chip["title"] for chip in next(row for row in rows if row))
    assert "“🤖” is not in the vocabulary" in titles
    assert "xxx…” is longer than 100 characters" in titles


def test_settings_that_are_not_used_change_nothing() -> None:
    assert effective(Decoding(temperature=2, seed=3)) == effective(Decoding())
    assert effective(Decoding("beam", temperature=2)) == Decoding("beam")
    assert effective(Decoding("sample", temperature=2, beams=7)) == Decoding("sample", temperature=2)


def test_bars_label_what_they_show() -> None:
    figure = prediction_bars(["<b>", "##s"], [0.6, 0.004], "#0072B2", chosen=1, theme=LIGHT)
    assert list(figure.layout.yaxis.ticktext) == ["&lt;b&gt;  ", "<b>▸ ##s</b>  "]
    assert list(figure.data[0].text) == ["60.0%", "0.40%"]
    assert bars_alt(["a"], [0.5], "Guesses") == "Guesses: a 50.0%."


def test_text_on_an_accent_can_be_read() -> None:
    assert [text_color_on(c) for c in ("#0072B2", "#CC79A7", "#000000", "#ffffff")] == [
        "#ffffff",
        "#000000",
        "#ffffff",
        "#000000",
    ]


def test_a_number_stands_at_the_end_of_the_longer_bar() -> None:
    own, processed = prediction_bars(["was", "lived"], [0.3, 0.06], "#0072B2", processed=[0.57, 0.0], theme=LIGHT).data
    assert list(own.text) == ["", "6.0% → 0.0%"]
    assert list(processed.text) == ["30.0% → 57.0%", ""]
