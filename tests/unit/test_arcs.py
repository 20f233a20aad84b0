"""Links over a sentence: which are drawn, which are right, and that hostile words stay text."""

from __future__ import annotations

import numpy as np
import pytest

from core.attention.roles.relations import RelationCounts
from core.figures.arcs import Arc, arcs
from core.theme import LIGHT
from core.ui.attention.roles import followed, strongest

WEIGHTS = np.array([[0.0, 0.6, 0.1], [0.2, 0.0, 0.7], [0.0, 0.0, 0.0]])


def test_the_strongest_links_come_first_and_none_without_weight() -> None:
    assert strongest(WEIGHTS) == [
        Arc(1, 2, 0.7, "link"),
        Arc(0, 1, 0.6, "link"),
        Arc(1, 0, 0.2, "link"),
        Arc(0, 2, 0.1, "link"),
    ]


@pytest.mark.parametrize(
    ("direction", "pairs", "drawn"),
    [
        ("dependent to head", [(0, {1}), (1, {0}), (2, {0})], [Arc(0, 1, 0.6, "right"), Arc(1, 2, 0.7, "wrong")]),
        ("head to dependent", [(1, {0}), (2, {0})], [Arc(0, 1, 0.6, "right"), Arc(1, 2, 0.7, "wrong")]),
    ],
)
def test_a_link_leads_to_the_largest_weight_in_its_direction(
    direction: str, pairs: list[tuple[int, set[int]]], drawn: list[Arc]
) -> None:
    """By hand; a word whose weights are all zero has no link."""
    counts = RelationCounts("obj", direction, 3, np.array([[2]]), 1, 1)
    links = [(query, frozenset(targets), [0, 1, 2]) for query, targets in pairs]
    assert followed(WEIGHTS, counts, links) == drawn


def test_hostile_words_stay_text_and_each_kind_is_named_once() -> None:
    links = [Arc(0, 1, 0.5, "right"), Arc(1, 2, 0.25, "right"), Arc(2, 0, 1.0, "wrong")]
    figure = arcs(
        ("<b>a", "b", "c"), links, {"right": "right", "wrong": "wrong", "link": "link"}, "#0072B2", theme=LIGHT
    )
    assert [trace.showlegend for trace in figure.data] == [True, False, True]
    assert figure.layout.xaxis.ticktext[0] == "&lt;b&gt;a"
    assert "&lt;b&gt;a → b: 0.50, right" in figure.data[0].hovertemplate
    assert [trace.line.width for trace in figure.data] == [4.5, 2.75, 8.0]
    assert figure.data[0].x[-1] > figure.data[0].x[0]
    assert figure.data[2].x[-1] < figure.data[2].x[0]
