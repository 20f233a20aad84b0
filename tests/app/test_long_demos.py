"""Longformer and Reformer on the efficient page; tiny random ones, so that the page is tested and not the words."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.ui.demos.buckets import SAMPLE
from tests import tiny
from tests.app.test_branches import survive_nonsense
from tests.pages import FEW, opened, shown


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("checkpoints")
    tiny.tiny_longformer(out / "atlas-longformer", positions=512)
    tiny.tiny_reformer(out / "atlas-reformer", axial=(32, 32), chunk=64, buckets=32)
    return out


def page(slug: str, **query: str) -> AppTest:
    return opened("efficient", system=slug, model=f"dir-atlas-{slug}", **query)


@pytest.fixture(autouse=True)
def _there(root: Path, use_checkpoints: Callable[[Path], None]) -> None:
    use_checkpoints(root)


def widget(elements: Any, label: str) -> Any:
    return next(element for element in elements if element.label == label)


def charts(at: AppTest) -> list[Any]:
    return [chart.proto for chart in at.get("plotly_chart")]


def test_a_window_opens_filled_and_its_controls_change_it() -> None:
    at = page("longformer", tokens="256", sample="middle", side="40")
    assert not at.warning
    assert "**Notice**" in shown(at)
    assert len(at.get("plotly_chart")) == 3
    assert "tokens apart" in shown(at)
    assert widget(at.selectbox, "Window, each side").value == 40
    before = shown(at)
    widget(at.text_input, "Global words").set_value("Max").run()
    assert "Max" in at.query_params["words"]
    assert "Layers needed through a global token: 1." in shown(at)
    assert shown(at) != before
    widget(at.selectbox, "Window, each side").set_value(128).run()
    assert "128" in at.query_params["side"]
    widget(at.toggle, "First token global").set_value(False).run()
    assert "no" in at.query_params["start"]


def test_nonsense_in_a_windows_text_and_words_gets_a_sentence() -> None:
    at = page("longformer", sample="own", text="The cat sat on the [MASK].")
    assert not at.warning
    survive_nonsense(at)
    at.text_area[0].set_value("The cat sat on the [MASK].").run()
    for words, said in (
        ("zebra", "does not occur in this text"),
        ("cat," * 9, "up to 8 work"),
        ("</script>", "does not occur in this text"),
    ):
        widget(at.text_input, "Global words").set_value(words).run()
        assert said in shown(at)
    at.text_area[0].set_value("Nothing is hidden here.").run()
    assert "no masked word" in shown(at)


def test_buckets_open_filled_and_rounds_change_them() -> None:
    at = page("reformer")
    assert not at.warning
    assert "**Notice**" in shown(at)
    assert len(at.get("plotly_chart")) == 4
    caught = next(chart.alt for chart in charts(at) if "of the weight" in chart.alt)
    assert re.findall(r"rounds (\d+)", caught) == ["1", "2", "4", "8"]
    shares = [int(share) for share in re.findall(r"(\d+)% of the weight", caught)]
    assert shares[0] < shares[-1]  # each number of rounds samples its own rotations
    assert f"{len(SAMPLE)} bytes" in charts(at)[0].alt
    first = charts(at)[0].spec
    widget(at.selectbox, "Rounds").set_value(4).run()
    assert "4" in at.query_params["rounds"]
    assert "Rounds: 4." in shown(at)
    widget(at.number_input, "Seed of the rotations").set_value(7).run()
    assert charts(at)[0].spec != first


def test_recall_and_stored_activations_are_computed_when_opened() -> None:
    at = page("reformer")
    boxes = [f"efficient.{at.session_state['links.epoch']}.{name}.box" for name in ("recall", "stored")]
    for box in boxes:
        at.session_state[box] = True
    at.run()
    assert len(at.get("plotly_chart")) == 6
    assert "Best within half the cost" in shown(at)
    assert "Reversible layers keep two streams" in shown(at)


def test_reading_further_is_measured_at_several_lengths() -> None:
    at = page("reformer", demo="reading")
    assert f"{len(SAMPLE)} bytes of context" in charts(at)[0].alt
    at.text_area[0].set_value("Too short.").run()
    assert "at least 256" in shown(at)


def test_a_text_is_continued_byte_by_byte() -> None:
    at = page("reformer", demo="text", length="5", text="Once upon a time")
    assert "5 tokens" in shown(at)
    assert at.text_area[0].value == "Once upon a time"
    survive_nonsense(at)


def test_nonsense_in_a_hashed_text_gets_a_sentence() -> None:
    for demo in ("hashing", "reading"):
        at = page("reformer", demo=demo)
        for text in FEW.values():  # a box that takes 5,000 characters
            at.text_area[0].set_value(text).run()
            assert at.text_area[0].value == text[:5000] or at.warning
    at = page("reformer", layer="1", head="9", rounds="3", seed="5")


def test_heads_of_windows_and_of_hashing_are_drawn() -> None:
    at = opened("attention", model="atlas-longformer")
    assert not at.warning
    at = opened("attention", model="atlas-reformer")
    assert not at.warning
    assert "share a bucket with the query in any round" in shown(at)
