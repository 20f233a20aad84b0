"""The efficient page opens with the demo, and says below it what the chosen system saves."""

from __future__ import annotations

import pytest

from core import catalogue
from tests.pages import described, opened, shown, widget

SAID = {
    "bigbird": "6.59 times fewer scores",
    "mamba": "No attention scores",
    "transformer-xl": "13 times as far back",
    "albert": "9.37 times fewer parameters",
    "adapter-bert": "2.379 million",
    "distilbert": "6 of 12 layers",
    "electra": "6.6 times as many prediction targets",
    "megatron-lm": "on each of 8 devices",
}


@pytest.mark.parametrize("slug", SAID)
def test_a_system_says_what_it_saves_below_its_demo(slug: str) -> None:
    at = opened("efficient", system=slug)
    assert at.segmented_control[0].value == "demo"
    assert SAID[slug] in shown(at)
    assert not at.warning


def test_scores_are_a_square_and_a_line() -> None:
    drawn = described(opened("efficient", system="longformer", model="atlas-longformer"))
    assert "full attention, n²" in drawn
    assert "Scores of one head in one layer" in drawn


def test_every_system_of_the_branch_says_it_and_the_menu_is_sorted_by_it() -> None:
    at = opened("efficient", system="albert")
    names = widget(at.selectbox, "System").options
    savings = [name.rpartition(" · ")[2] for name in names]
    assert savings == sorted(savings, key=list(dict.fromkeys(savings)).index)  # each saving in one group
    assert {name.partition(" (")[0] for name in names} == {system.name for system in catalogue.by_branch("efficient")}
