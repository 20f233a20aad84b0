"""The page Training: ready sets, a visitor's own lines, nonsense, and a stored run."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl

import pytest

from core import engine, links, session
from core.content import content
from core.finetuning.setup import Setup
from core.ui.training.inputs import cells
from tests.pages import described, html_of, opened, shown, stop_after, widget

QUICK = {"epochs": "1", "trained": "head"}


def test_a_ready_set_is_trained_once_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    session.results.clear()
    at = opened("training", tab="train", set="topic", **QUICK)
    assert "50 training and 50 held-out texts in 3 classes · 579 parameters trained" in shown(at)
    monkeypatch.setattr(engine, "stream", None)
    again = opened("training", tab="train", set="topic", **QUICK)
    assert shown(again) == shown(at)


def test_the_page_opens_with_stored_runs_and_trains_on_a_click(monkeypatch: pytest.MonkeyPatch) -> None:
    session.results.clear()
    with monkeypatch.context() as patched:
        patched.setattr(engine, "stream", None)
        at = opened("training", tab="train")
        assert "when it was recorded" in shown(at)
        assert "of 50 texts get another prediction than from frozen features" in shown(at)
        at = opened("training", tab="train", set="topic")
        assert "when it was recorded" in shown(at)
    monkeypatch.setattr(engine, "stream", lambda *arguments: stream(*(shorter(entry) for entry in arguments)))
    widget(at.button, "Train here").click().run()
    assert "on this machine" in shown(at)


def test_a_run_that_is_stopped_shows_its_epochs_and_a_click_trains_to_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session.results.clear()
    query = {"tab": "train", "set": "topic", "epochs": "4", "trained": "head"}
    with monkeypatch.context() as patched:
        stop_after(patched, lambda epoch: epoch.number == 2)
        at = opened("training", **query)
    assert re.search(r"Fine-tuned from 0\.\d\d \(0\) to 0\.\d\d \(2\)", described(at))
    assert not [key for key in session.results._stored if key[0] == "fine-tuning"], "half a run is nobody else's"
    widget(at.button, "Train").click().run()
    assert re.search(r"Fine-tuned from 0\.\d\d \(0\) to 0\.\d\d \(4\)", described(at))
    session.results.clear()
    assert described(at) == described(opened("training", **query)), "as if it had not been stopped"


stream = engine.stream


def shorter(given: Any) -> Any:
    """A setup with one epoch, anything else as it is."""
    return replace(given, epochs=1) if isinstance(given, Setup) else given


@pytest.mark.parametrize(
    ("query", "said", "drawn"),
    [
        (
            {"set": "tags", "sentence": "1"},
            "50 held-out sentences (522 words), 15 tags",
            "A held-out sentence, token",
        ),
        ({"set": "pair"}, "30 training and 30 held-out texts in 2 classes", "c none s1"),
        ({"set": "spans", "sentence": "0"}, "no span, so it is excluded", "Predicted: Japanese. Correct: Tokyo"),
    ],
    ids=["tags token by token", "a pair with two segments", "an answer in a passage"],
)
def test_stored_runs_are_drawn_at_once(
    monkeypatch: pytest.MonkeyPatch, query: dict[str, str], said: str, drawn: str
) -> None:
    monkeypatch.setattr(engine, "stream", None)
    at = opened("training", **{"tab": "train"} | query)
    assert said in shown(at)
    assert drawn in html_of(at)


def test_own_lines_stay_in_the_session() -> None:
    session.results.clear()
    at = opened("training", tab="train", **QUICK, set="own", model="atlas-gpt-2")
    assert "12 training and 4 held-out texts in 2 classes" in shown(at)
    assert not [key for key in session.results._stored if key[0] == "fine-tuning"]


def test_own_pairs_are_drawn_as_two_segments() -> None:
    at = opened("training", tab="train", **QUICK, set="own-pair")
    assert "18 training and 6 held-out texts in 2 classes" in shown(at)
    assert "c none s1" in html_of(at)


def test_gpts_format_is_drawn_with_its_tokens() -> None:
    at = opened("training", tab="train", **QUICK, set="pair", model="atlas-gpt-2", format="orders")
    assert "in GPT’s format" in shown(at)
    for role in ("start", "delimiter", "extract"):
        assert f">{role}<" in html_of(at)


def test_t5s_label_is_text() -> None:
    at = opened("training", tab="train", epochs="1", model="atlas-t5")
    assert "No head: the label is generated" in shown(at)
    assert "▁class" in html_of(at)


def test_bart_gets_a_text_on_both_sides() -> None:
    at = opened("training", tab="train", **QUICK, model="atlas-bart")
    assert "Decoder input: the same" in shown(at)
    assert "Adapters" not in [option for group in at.button_group for option in group.options]


def test_a_size_is_trained() -> None:
    at = opened("training", tab="train", set="topic", epochs="1", trained="adapters", size="2")
    # head, and in each of 4 layers two matrices of 2 x 192
    assert f"{579 + 4 * 2 * 2 * 192:,} parameters trained" in shown(at)


def test_a_format_says_where_its_output_is_read() -> None:
    front = content("training", "inputs").front
    for entry in front["formats"]:
        assert any(cell.target for _, tokens in entry["rows"] for cell in cells(tokens, front["notes"])), entry["slug"]
        assert len(entry["table"]) == len(front["columns"]) - 1
    drawn = cells("[CLS]=yes a [SEP] b [SEP]", front["notes"])
    assert [cell.segment for cell in drawn] == [0, 0, 0, 1, 1]
    assert [(cell.target, cell.change) for cell in drawn[:2]] == [("yes", "special"), (None, "none")]
    at = opened("training", tab="inputs", format="gpt-similarity")
    assert not at.warning
    assert html_of(at).count('class="ob"') == 2


def test_a_card_of_glue_measures_the_predictions_that_one_types() -> None:
    at = opened("training", tab="inputs", glue="cola", predictions="1 1 1 1 1 1 1 1")
    assert "Matthews correlation (GLUE’s) 0.00" in described(at)
    at.text_input[0].set_value("1 2").run()
    assert "8 examples, 2 predictions" in shown(at)
    at = opened("training", tab="inputs", glue="sts-b")
    assert "Pearson correlation (GLUE’s) 0.9" in described(at)


@pytest.mark.parametrize(
    ("old", "page", "now"),
    [
        ("fine-tuning", "training", {"tab": "train"}),
        ("fine-tuning?set=spam&model=atlas-gpt-2", "training", {"tab": "train", "set": "spam", "model": "atlas-gpt-2"}),
        ("fine-tuning?tab=changed&set=spam&head=1.2", "training", {"tab": "train", "set": "spam"}),
        ("fine-tuning?tab=load", "training", {"tab": "train"}),
        ("fine-tuning?tab=tags&sentence=3", "training", {"tab": "train", "set": "tags", "sentence": "3"}),
        ("fine-tuning?set=own-choice", "training", {"tab": "train", "set": "own-pair"}),
        ("objectives?tab=fine-tuning&format=gpt-choice", "training", {"tab": "inputs", "format": "gpt-choice"}),
        ("results?tab=glue&task=rte", "training", {"tab": "inputs", "glue": "rte"}),
    ],
)
def test_what_stood_elsewhere_leads_here(old: str, page: str, now: dict[str, str]) -> None:
    path, _, query = old.partition("?")
    assert links.current(path, dict(parse_qsl(query))) == (page, now)
