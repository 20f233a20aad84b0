"""Experiments: every study is drawn from its rows, and its controls select among them."""

from __future__ import annotations

import pytest

from core.studies import get, names
from core.ui.section import pages
from tests.pages import described, opened, shown, widget


@pytest.mark.parametrize("name", names())
def test_a_study_says_claim_verdict_and_how_to_repeat_it(name: str) -> None:
    at = opened("experiments", tab=name)
    assert not at.error
    assert "**Claim.**" in shown(at)
    assert "**Here.**" in shown(at)
    assert f"`{get(name).command}`" in shown(at)
    assert "Last values" in described(at)


def test_each_study_has_its_section() -> None:
    sections = [section.slug for section in pages()["experiments"].sections]
    assert sorted(slug for slug in sections if slug != "dedup") == names()


def test_studies_stand_in_groups_by_what_they_teach() -> None:
    at = opened("experiments", tab="facts")
    group, show = widget(at.segmented_control, "Group"), widget(at.segmented_control, "Show")
    assert (group.value, show.options) == ("Long texts", ["Length and time", "Far facts", "Rounds of hashing"])
    group.set_value("Smaller models").run()
    assert at.query_params["tab"] in ("distillation", ["distillation"])


def test_a_choice_selects_rows_and_an_axis() -> None:
    at = opened("experiments", tab="distillation")
    before = described(at)
    widget(at.segmented_control, "Temperature T").set_value("8").run()
    assert described(at) != before
    at = opened("experiments", tab="pretraining", **{"pretraining-x": "operations"})
    assert "by operations" in described(at)


@pytest.mark.parametrize(
    ("page", "query", "now"),
    [
        ("zoo", {"tab": "distillation", "temperature": "4"}, {"tab": "distillation", "distillation-temperature": "4"}),
        ("fine-tuning", {"tab": "widths", "kind": "lora"}, {"tab": "widths"}),
    ],
)
def test_an_old_link_opens_the_study(page: str, query: dict[str, str], now: dict[str, str]) -> None:
    from core import links

    assert links.current(page, query) == ("experiments", now)


def test_a_link_to_another_value_is_refused_in_a_sentence() -> None:
    at = opened("experiments", tab="distillation", **{"distillation-temperature": "hot"})
    assert "available here: 1, 2, 4, 8" in shown(at)
    assert "**Here.**" in shown(at)
