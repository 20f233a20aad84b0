"""A model trained from random weights: watched, shown in every view of its tab, and in no other."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from core import settings as configuration
from core.checkpoints import own
from core.training import setup
from core.training.ready import READY, ready
from core.training.record import stored
from core.training.text import split
from tests.pages import html_of, opened, shown, widget

SMALL = {"from": "own", "units": "characters", "depth": "1", "parts": "1", "wide": "32", "context": "32"}
TEXT = ready("stories")[:2_500]


def train(**query: str) -> AppTest:
    at = opened("training", tab="scratch", pasted=TEXT, **SMALL | query)
    return widget(at.button, "Train").click().run()  # type: ignore[no-any-return]


def test_the_page_opens_with_a_recorded_training_for_each_text() -> None:
    for name in READY:
        at = opened("training", **{"from": name})
        recorded = stored(name)
        assert recorded is not None
        assert "to watch a training of your own" in shown(at)
        assert f"Step {recorded.samples[-1][0]}" in html_of(at)


def test_the_recorded_numbers_are_those_that_are_computed_here() -> None:
    from core.training.train import Training

    recorded = stored("stories")
    assert recorded is not None
    training = Training(split(ready("stories")), READY["stories"].opens_with)
    for point, before in zip(training.run(2 * 20, setup.LEARNING_RATE), recorded.points, strict=False):
        assert point.held_out == pytest.approx(before.held_out, abs=0.02)


@pytest.mark.parametrize(
    ("objective", "page"), [("next", "decoder"), ("masked", "encoder"), ("spans", "encoder-decoder")]
)
def test_a_trained_model_stands_in_the_menus_of_its_tab_alone(
    objective: str, page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.ui.training.scratch.STEPS", 20)
    at = train(objective=objective)
    assert "is now in the menus" in shown(at)
    assert [button.label for button in at.button if button.label in ("Train", "Go on")] == ["Go on"]
    at.switch_page("pages/attention.py")
    at.query_params.clear()
    at.query_params["model"] = own.YOURS
    at.run()
    assert not at.exception
    menu = next(menu for menu in at.selectbox if own.YOURS in str(menu.value))
    assert any("Your model" in option for option in menu.options)
    at.switch_page(f"pages/{page}.py")
    at.run()
    assert not at.exception
    other = opened("attention", model=own.YOURS)
    assert "cannot be “yours”" in shown(other)
    assert not any("Your model" in option for menu in other.selectbox for option in menu.options)


def test_a_training_goes_on_where_it_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.ui.training.scratch.STEPS", 20)
    at = train()
    assert "Step 20" in html_of(at)
    at = widget(at.button, "Go on").click().run()
    assert "Step 40" in html_of(at)


def test_a_model_that_had_to_make_room_can_be_trained_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.ui.training.scratch.STEPS", 20)
    at = train()
    monkeypatch.setattr(type(configuration.settings()), "trained_bytes", property(lambda _: 1))
    train(units="bytes")  # another visitor
    at.run()
    assert not at.exception
    assert any(button.label == "Train" for button in at.button)


@pytest.mark.parametrize("text", ["ten letter", "a" * 3_000, "\x00\x01\x02" * 1_000, ""])
def test_a_text_that_cannot_be_learned_from_gets_a_sentence(text: str) -> None:
    at = opened("training", tab="scratch", pasted=text, **SMALL)
    assert not at.exception
    assert any(word in shown(at) for word in ("fewest", "at least", "over and over", "control characters"))
