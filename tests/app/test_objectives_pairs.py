"""Objectives with a decoder, an order or a pair, and the points: links decide, and nonsense is answered."""

from __future__ import annotations

import json
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.ui.objectives import points
from tests.app import test_branches
from tests.app.test_branches import opened
from tests.words import words


def page(**query: str) -> AppTest:
    at = opened("objectives", **query)
    assert not at.exception
    assert not at.error
    return at


def shown(at: AppTest) -> str:
    """What the page says, without the marks that keep Markdown off."""
    return test_branches.shown(at).replace("\\", "")


def widget(elements: object, label: str) -> object:
    return next(element for element in elements if element.label == label)  # type: ignore[attr-defined]


@pytest.mark.parametrize("slug", ["whole-words", "spans", "knowledge", "word-order", "prefix"])
def test_a_relative_answers_only_when_it_is_asked(slug: str) -> None:
    at = page(objective=slug, text="Long ago Anna and the king of Spain lived in a castle. They had a golden ring.")
    assert "No live model" in shown(at)
    assert "best guess" not in shown(at)
    toggle = next(one for one in at.toggle if one.label.endswith("a relative"))
    toggle.set_value(True).run()
    assert "best guess" in shown(at)
    assert "No live model" not in shown(at)
    assert at.query_params["relative"] in ("yes", ["yes"])


def test_what_a_link_asks_for_in_vain_is_said_where_only_the_page_can_tell() -> None:
    cases = (
        ({"objective": "masked", "rate": "60"}, "“Share hidden, %” cannot be “60”: it lies from 5 to 50 here"),
        ({"objective": "denoise", "damage": "foo"}, "offered here: permute"),
        ({"objective": "causal", "model": "atlas-bert"}, "“Model” cannot be “atlas-bert”"),
        ({"objective": "permutation", "order": "1.0"}, "order is none of"),
        ({"tab": "points", "count": "12", "angles": "1.2"}, "2 angles for"),
    )
    for query, sentence in cases:
        at = page(**query)
        assert any(sentence in words(str(warning.value)) for warning in at.warning), query


def test_a_sentence_of_another_text_is_no_translation() -> None:
    at = page(objective="next-sentence", other="Snow fell on the hills.")
    assert widget(at.text_input, "A sentence of another text").value == "Snow fell on the hills."  # type: ignore[attr-defined]
    widget(at.selectbox, "Objective").set_value("translation").run()  # type: ignore[attr-defined]
    assert widget(at.text_input, "The same in French").value.startswith("Ma sœur")  # type: ignore[attr-defined]
    assert "other" not in at.query_params


def test_a_link_carries_every_setting() -> None:
    at = page(objective="sentinels", rate="50", mean="10", seed="3")
    assert [box.value for box in at.number_input] == [50, 10, 3]
    at = page(objective="denoise", damage="rotate,delete")
    assert "moved" in str([block.proto.body for block in at.get("html")])
    at = page(objective="unified", mask="right", rate="30")
    assert "right to left" in shown(at)
    at = page(objective="distillation", temperature="7")
    assert "at temperature 7" in shown(at)
    at = page(objective="prefix", prefix="4")
    assert "The first 4 tokens" in shown(at)
    at = page(objective="gaps", choose="lead", rate="50")
    assert widget(at.selectbox, "Which sentences").value == "lead"  # type: ignore[attr-defined]


def test_the_order_is_the_links_until_another_text() -> None:
    order = "5.4.3.2.1.0"
    at = page(objective="permutation", text="one two three four five six", order=order, k="3")
    assert "1. “two”; 2. “one”" in shown(at)
    assert at.query_params["order"] == order
    widget(at.button, "Left to right").click().run()  # type: ignore[attr-defined]
    assert "1. “five”; 2. “six”" in shown(at)
    widget(at.button, "As drawn").click().run()  # type: ignore[attr-defined]
    assert "order" not in at.query_params
    at.text_area[0].set_value("a b c").run()
    assert not at.exception


def test_the_row_of_the_order_names_what_is_asked_once_it_was_shown() -> None:
    at = page(objective="permutation", text="one two three four five six", cover="yes", k="3")
    assert row_of(at).count('"text": "▢"') == 2
    widget(at.button, "Show").click().run()  # type: ignore[attr-defined]
    assert "▢" not in row_of(at)


def row_of(at: AppTest) -> str:
    """What the browser is sent for the row of tokens."""
    found: list[str] = []

    def walk(node: Any) -> None:
        for child in getattr(node, "children", {}).values():
            walk(child)
        if getattr(node, "type", None) == "bidi_component" and node.proto.component_name == "atlas_order":
            found.append(json.dumps(json.loads(node.proto.json)["tokens"], ensure_ascii=False))

    walk(at._tree)
    (row,) = found
    return row


@pytest.mark.parametrize("order", ["0.0.1", "5.4"])
def test_an_order_that_fits_nothing_is_passed_over(order: str) -> None:
    at = page(objective="permutation", text="one two three", order=order)
    assert "Found in this order" in shown(at)


def test_an_empty_translation_gets_a_sentence() -> None:
    at = page(objective="translation", second=" ")
    assert "second sentence is empty" in shown(at)


def test_the_points_open_filled_and_step_downhill() -> None:
    at = page(tab="points")

    def loss() -> float:
        said = next(str(element.value) for element in at.markdown if str(element.value).startswith("**L ="))
        return float(said.split()[2])

    before = loss()
    widget(at.button, "Twenty steps").click().run()  # type: ignore[attr-defined]
    assert loss() < before / 2
    assert len(at.query_params["angles"].split(".")) == 8
    widget(at.button, "From the start").click().run()  # type: ignore[attr-defined]
    assert loss() == before
    assert "angles" not in at.query_params


def test_again_draws_other_points_and_the_seed_brings_them_back() -> None:
    at = page(tab="points")

    def loss() -> str:
        return next(str(element.value) for element in at.markdown if str(element.value).startswith("**L ="))

    usual = loss()
    widget(at.button, "Again").click().run()  # type: ignore[attr-defined]
    assert at.query_params["seed"] == "1"
    assert "angles" not in at.query_params
    drawn = loss()
    assert drawn != usual
    widget(at.button, "Twenty steps").click().run()  # type: ignore[attr-defined]
    angles = at.query_params["angles"]
    widget(at.button, "From the start").click().run()  # type: ignore[attr-defined]
    assert loss() == drawn
    at = page(tab="points", seed="1")
    assert loss() == drawn
    at = page(tab="points", seed="1", angles=angles)
    assert loss() != drawn
    assert len(points.start("supervised", 6, 3)) == 12


def test_two_pairs_of_a_link_by_hand() -> None:
    """Pairs at 0 and 180 degrees, τ = 1: ln(1 + e^-2) = 0.127."""
    at = page(tab="points", count="2", angles="0.180.0.180", tau="1")
    assert "**L = 0.127 nats.**" in shown(at)
    at = page(tab="points", loss="supervised", count="4", angles="0.0.0.0", tau="0.5", matrix="chances")
    assert "**L = 4.394 nats.** With all points in one place it would be 4.394 = 4 · ln 3" in shown(at)  # 4 ln 3


def test_every_class_of_the_points_has_partners() -> None:
    for half in range(2, 7):
        of = points.classes(half)
        assert len(of) == 2 * half
        assert all(of.count(one) > 1 for one in of)
