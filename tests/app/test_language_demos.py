"""The two demos as scripts: they run, keep what was chosen, and answer bad input with a sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.figures.predictions import bars_alt, guess_bars, percent
from core.language.types import Decoding
from core.theme import LIGHT
from core.ui.chips import accepted, on_colour
from core.ui.demos.decoding import effective
from tests.app.test_branches import opened


def _generate_page() -> None:
    import streamlit as st

    from core import checkpoints
    from core.language.types import Decoding
    from core.ui.demos.generate import generate_demo

    kept = st.session_state.setdefault(
        "kept", {"text": "The cat", "decoding": Decoding(max_new_tokens=6), "forced": (), "step": None}
    )
    found = generate_demo(checkpoints.get("dir-tiny-gpt2"), **kept, key="demo")
    st.session_state["kept"] = {
        "text": found.text,
        "decoding": found.decoding,
        "forced": found.forced,
        "step": found.step,
    }
    st.session_state["found"] = found


@pytest.fixture
def fill_mask_page(checkpoint_dir: Path, open_tables: None) -> AppTest:
    return opened("encoder", model="dir-tiny-bert")


@pytest.fixture
def generate_page(checkpoint_dir: Path) -> AppTest:
    return AppTest.from_function(_generate_page, default_timeout=60).run()


def _html(page: AppTest) -> str:
    return " ".join(element.value for element in page.get("html"))


def _pick(page: AppTest, key: str, *positions: int) -> AppTest:
    """What the browser's chips send, without a browser."""
    page.session_state[f"{key}--chips"] = {"count": 1, "picked": list(positions)}
    return page.run()


def test_the_example_is_answered_at_once(fill_mask_page: AppTest) -> None:
    assert not fill_mask_page.exception
    assert "The capital of France is" in _html(fill_mask_page)
    assert len(fill_mask_page.dataframe[0].value) == 6
    assert "text" not in fill_mask_page.query_params


def test_a_probe_is_one_click_away(fill_mask_page: AppTest) -> None:
    next(g for g in fill_mask_page.get("button_group") if g.label == "Ten probes").set_value("Syntax").run()
    assert not fill_mask_page.exception
    assert fill_mask_page.text_area[0].value == "I put [MASK] fork down on the table."
    assert any("determiner" in caption.value for caption in fill_mask_page.caption)


def test_clicked_words_are_masked_and_survive_an_edit(fill_mask_page: AppTest) -> None:
    fill_mask_page.text_area[0].set_value("The cat sat on the mat.").run()
    assert "click a word" in fill_mask_page.warning[0].value
    _pick(fill_mask_page, "encoder.1.mask.chips", 2)
    assert fill_mask_page.query_params["mask"][0] == "2"
    assert set(fill_mask_page.dataframe[0].value["stood there"]) == {"cat"}
    fill_mask_page.text_area[0].set_value("And the cat sat on the mat.").run()
    assert fill_mask_page.query_params["mask"][0] == "3"
    assert set(fill_mask_page.dataframe[0].value["stood there"]) == {"cat"}


@pytest.mark.parametrize("sent", [None, "2", [1], {}, {"selected": "2", "count": 1}, {"selected": [1], "count": "1"}])
def test_what_no_chip_would_send_is_ignored(sent: Any) -> None:
    assert accepted(sent) is None


def test_positions_outside_the_sentence_are_ignored(fill_mask_page: AppTest) -> None:
    assert accepted({"selected": [3, "4", True, -1, 99], "count": 2}) == {"count": 2, "picked": [3, -1, 99]}
    _pick(fill_mask_page, "encoder.1.mask.chips", 3, -1, 99)
    assert not fill_mask_page.exception
    assert fill_mask_page.query_params["mask"][0] == "3"


@pytest.mark.parametrize("text", ["", "   ", "x" * 100_000, "cat " * 200, "🤖🤖🤖", "no mask here", "\x00\x01"])
def test_bad_input_gets_a_sentence_and_stays_in_the_box(fill_mask_page: AppTest, text: str) -> None:
    page = fill_mask_page.text_area[0].set_value(text).run()
    assert not page.exception
    assert page.warning
    assert page.text_area[0].value == text


def test_markup_in_a_sentence_is_text(fill_mask_page: AppTest) -> None:
    page = fill_mask_page.text_area[0].set_value("</script><script>alert(1)</script> [MASK]").run()
    assert not page.exception
    assert "<script>" not in _html(page)
    assert "&lt;script&gt;alert(1)" in _html(page)


def test_all_probes_are_measured(fill_mask_page: AppTest) -> None:
    next(toggle for toggle in fill_mask_page.toggle if toggle.label == "Ask them").set_value(True).run()
    assert not fill_mask_page.exception
    assert len(fill_mask_page.dataframe[1].value) == 10


def test_generation_fills_the_page_and_carries_its_attention(generate_page: AppTest) -> None:
    assert not generate_page.exception
    found = generate_page.session_state["found"]
    assert len(found.steps) == 6
    assert found.steps[0].attention.shape[2] == len(found.prompt_tokens)
    assert "The cat" in _html(generate_page)


def test_another_token_is_taken_at_a_step(generate_page: AppTest) -> None:
    before = generate_page.session_state["found"].steps
    _pick(generate_page, "demo.path", 2)
    assert generate_page.session_state["kept"]["step"] == 3
    token = before[2].token.id
    _pick(generate_page, f"demo.other.2.{token}", 4)
    assert not generate_page.exception
    kept = generate_page.session_state["kept"]
    assert kept["forced"] == (*before[1].ids, before[2].alternatives[4].id)
    assert generate_page.session_state["found"].steps[-1].ids[:3] == kept["forced"]
    generate_page.button(key="demo.again").click().run()
    assert generate_page.session_state["kept"]["forced"] == ()
    assert generate_page.session_state["found"].steps[-1].ids == before[-1].ids


def test_only_the_settings_of_the_strategy_are_shown(generate_page: AppTest) -> None:
    assert not generate_page.slider
    generate_page.get("button_group")[1].set_value("sample").run()
    assert [slider.label for slider in generate_page.slider] == ["Temperature", "Top-p"]
    generate_page.slider[0].set_value(0.5).run()
    assert generate_page.session_state["kept"]["decoding"].temperature == 0.5
    generate_page.get("button_group")[1].set_value("beam").run()
    assert not generate_page.exception
    assert not generate_page.slider
    assert generate_page.session_state["kept"]["decoding"].temperature == 0.5, "hidden settings keep their values"
    assert all(step.attention is not None for step in generate_page.session_state["found"].steps)


def test_a_path_of_another_vocabulary_is_left_out(checkpoint_dir: Path) -> None:
    page = AppTest.from_function(_generate_page, default_timeout=60)
    page.session_state["kept"] = {"text": None, "decoding": Decoding(max_new_tokens=4), "forced": (999_999,), "step": 3}
    page.run()
    assert not page.exception
    assert "left out" in page.warning[0].value
    assert page.session_state["kept"]["forced"] == ()
    assert len(page.session_state["found"].steps) == 4


@pytest.mark.parametrize("text", ["", "x" * 100_000, "the dog " * 100])
def test_bad_beginnings_get_a_sentence(generate_page: AppTest, text: str) -> None:
    page = generate_page.text_area[0].set_value(text).run()
    assert not page.exception
    assert page.warning
    assert page.text_area[0].value == text


def test_settings_that_are_not_used_change_nothing() -> None:
    assert effective(Decoding(temperature=2, seed=3)) == effective(Decoding())
    assert effective(Decoding("beam", temperature=2)) == Decoding("beam")
    assert effective(Decoding("sample", temperature=2, beams=7)) == Decoding("sample", temperature=2)


def test_bars_label_what_they_show() -> None:
    figure = guess_bars(["<b>", "##s"], [0.6, 0.004], "#0072B2", chosen=1, theme=LIGHT)
    assert list(figure.layout.yaxis.ticktext) == ["&lt;b&gt;  ", "<b>▸ ##s</b>  "]
    assert list(figure.data[0].text) == ["60 %", "0.40 %"]
    assert bars_alt(["a"], [0.5], "Guesses") == "Guesses: a 50 %."
    assert [percent(p) for p in (1.0, 0.999, 0.031, 0.0004, 0.00001)] == [
        "100 %",
        "99.9 %",
        "3.1 %",
        "0.04 %",
        "< 0.01 %",
    ]


def test_text_on_an_accent_can_be_read() -> None:
    assert [on_colour(c) for c in ("#0072B2", "#CC79A7", "#000000", "#ffffff")] == [
        "#ffffff",
        "#000000",
        "#ffffff",
        "#000000",
    ]


def test_a_number_stands_at_the_end_of_the_longer_bar() -> None:
    own, kept = guess_bars(["was", "lived"], [0.3, 0.06], "#0072B2", kept=[0.57, 0.0], theme=LIGHT).data
    assert list(own.text) == ["", "6.0 % → < 0.01 %"]
    assert list(kept.text) == ["30 % → 57 %", ""]
