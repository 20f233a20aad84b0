"""A folder of an architecture that stands in no table: its neuron view and its heads, from the page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests import tinyhosts
from tests.pages import opened, shown


def test_a_gpt_oss_has_its_queries_keys_and_heads(tmp_path: Path, use_checkpoints: Callable[[Path], None]) -> None:
    made = tinyhosts.make("decoder gpt_oss")
    made.model.save_pretrained(tmp_path / "gpt_oss")
    made.tokenizer.save_pretrained(tmp_path / "gpt_oss")
    use_checkpoints(tmp_path)
    at = opened("attention", tab="bertviz", bertviz="neuron", model="dir-gpt_oss", text="The cat sat.")
    assert not at.warning
    assert "every head has a sink" in shown(at)
    assert "Queries and keys are shown as they enter the scores" in shown(at)
    at = opened("attention", tab="off", model="dir-gpt_oss", text="The cat sat.")
    assert not at.warning
    ranked = at.dataframe[0].value
    assert len(ranked) == 8
    assert ranked["bits lost"].is_monotonic_decreasing
    at = opened("attention", tab="block", model="dir-gpt_oss", text="The cat sat.")
    assert "cannot be shown step by step here" in shown(at)
