"""The page Fine-tuning: ready sets, a visitor's own lines, nonsense, and a stored run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from core import engine, session
from core.finetuning import curve
from core.finetuning.setup import Setup
from tests.pages import html_of, opened, shown, widget

QUICK = {"epochs": "1", "trained": "head"}


def test_a_ready_set_is_trained_once_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    session.results.clear()
    at = opened("fine-tuning", set="topic", **QUICK)
    assert "50 training and 50 held-out texts in 3 classes · 579 parameters trained" in shown(at)
    monkeypatch.setattr(engine, "stream", None)
    again = opened("fine-tuning", set="topic", **QUICK)
    assert shown(again) == shown(at)


def test_the_page_opens_with_stored_runs_and_trains_on_a_click(monkeypatch: pytest.MonkeyPatch) -> None:
    session.results.clear()
    with monkeypatch.context() as patched:
        patched.setattr(engine, "stream", None)
        at = opened("fine-tuning")
        assert "when it was recorded" in shown(at)
        assert "of 50 texts are predicted otherwise than from frozen features" in shown(at)
        at = opened("fine-tuning", set="topic")
        assert "when it was recorded" in shown(at)
    monkeypatch.setattr(engine, "stream", lambda *given: stream(*(shorter(one) for one in given)))
    widget(at.button, "Train here").click().run()
    assert "on this machine" in shown(at)


stream = engine.stream


def shorter(given: Any) -> Any:
    """A setup with one epoch, anything else as it is."""
    return replace(given, epochs=1) if isinstance(given, Setup) else given


@pytest.mark.parametrize(
    ("query", "said", "drawn"),
    [
        (
            {"tab": "tags", "sentence": "1"},
            "50 held-out sentences (522 words), 15 tags",
            "A held-out sentence, token",
        ),
        ({"set": "pair"}, "30 training and 30 held-out texts in 2 classes", "c none s1"),
        ({"tab": "spans", "sentence": "0"}, "no span, so it is excluded", "Predicted: Japanese. Right: Tokyo"),
        ({"tab": "curve"}, "Mean of 10 seeds, recorded", ""),
    ],
    ids=["tags token by token", "a pair with two segments", "an answer in a passage", "a learning curve"],
)
def test_stored_runs_are_drawn_at_once(
    monkeypatch: pytest.MonkeyPatch, query: dict[str, str], said: str, drawn: str
) -> None:
    monkeypatch.setattr(engine, "stream", None)
    at = opened("fine-tuning", **query)
    assert said in shown(at)
    assert drawn in html_of(at)


def test_own_lines_get_a_curve_on_a_click(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(curve, "STEPS", 1)
    at = opened("fine-tuning", tab="curve", set="own")
    assert "not recorded" in shown(at)
    widget(at.button, "Measure here").click().run()
    assert "Mean of 3 seeds, measured" in shown(at)
    assert not [key for key in session.results._stored if key[0] == "learning curve"]


def test_own_lines_stay_in_the_session() -> None:
    session.results.clear()
    at = opened("fine-tuning", **QUICK, set="own", model="atlas-gpt-2")
    assert "12 training and 4 held-out texts in 2 classes" in shown(at)
    assert not [key for key in session.results._stored if key[0] == "fine-tuning"]


def test_own_pairs_are_drawn_as_two_segments() -> None:
    at = opened("fine-tuning", **QUICK, set="own-pair")
    assert "18 training and 6 held-out texts in 2 classes" in shown(at)
    assert "c none s1" in html_of(at)


def test_gpts_format_is_drawn_with_its_tokens() -> None:
    at = opened("fine-tuning", **QUICK, set="pair", model="atlas-gpt-2", format="orders")
    assert "in GPT’s format" in shown(at)
    for role in ("start", "delimiter", "extract"):
        assert f">{role}<" in html_of(at)


def test_t5s_label_is_text() -> None:
    at = opened("fine-tuning", epochs="1", model="atlas-t5")
    assert "No head: the label is generated" in shown(at)
    assert "▁class" in html_of(at)


def test_bart_gets_a_text_on_both_sides() -> None:
    at = opened("fine-tuning", **QUICK, model="atlas-bart")
    assert "Decoder input: the same" in shown(at)
    assert "Adapters" not in [option for group in at.button_group for option in group.options]


def test_a_size_is_trained() -> None:
    at = opened("fine-tuning", set="topic", epochs="1", trained="adapters", size="2")
    # head, and in each of 4 layers two matrices of 2 x 192
    assert f"{579 + 4 * 2 * 2 * 192:,} parameters trained" in shown(at)
