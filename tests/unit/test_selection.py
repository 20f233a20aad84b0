"""One selection in several views: every view reports the same way, and what does not exist is not selected."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import streamlit as st

from core.attention.tokens import label, token_of
from core.figures.attention import weight_map
from core.figures.heatmap import MOST_CLICKS
from core.language.types import Token
from core.theme import LIGHT
from core.ui.chips import CHIPS, Clicked
from core.ui.links import PageState
from core.ui.selection import FRAME, Opened, Selection, clicks, usual_token

TOKENS = ("[CLS]", "the", "cat", "##s", "sat", "[SEP]")


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A session of which no widget exists."""
    state: dict[str, Any] = {}
    monkeypatch.setattr(st, "session_state", state)
    return state


def _selection(**values: int | None) -> Selection:
    return Selection(PageState("attention", dict(values), 1), TOKENS, tag="x")


def test_the_link_selects_and_the_default_stays_out_of_it(session: dict[str, Any]) -> None:
    one = _selection(token=3)
    assert (one.at, one.state.values["token"]) == (2, 3)
    usual = _selection()
    assert (usual.at, usual.state.values["token"]) == (4, None)  # “sat”, the last word


def test_a_click_on_a_cell_selects_its_row(session: dict[str, Any]) -> None:
    on_map = _selection().on_map("map", columns=6)
    session["map"] = {"selection": {"points": [{"point_index": 2 * 6 + 5}]}}
    on_map["on_select"]()
    assert _selection().at == 2
    assert _selection(token=3).at == 2  # the click is taken once; from then on the link holds it


def test_a_row_for_several_tokens_selects_the_first_of_them(session: dict[str, Any]) -> None:
    on_map = _selection().on_map("map", columns=3, each=2)
    session["map"] = {"selection": {"points": [{"point_index": 1 * 3}]}}
    on_map["on_select"]()
    assert _selection().at == 2


@pytest.mark.parametrize(("rows", "cells"), [([5], []), ([4], [(5, "key 1")])])
def test_a_click_on_a_table_selects_its_row(session: dict[str, Any], rows: list[int], cells: list[Any]) -> None:
    on_rows = _selection(token=5).on_rows("table")
    assert session["table"]["selection"]["rows"] == [4]
    session["table"] = {"selection": {"rows": rows, "columns": [], "cells": cells}}
    on_rows["on_select"]()
    assert _selection().at == 5


def test_lines_and_chips_select_by_message(session: dict[str, Any]) -> None:
    FRAME.put("attention.1.token.x.frame", Opened(open=[2]))
    assert _selection().at == 1
    CHIPS.put("attention.1.token.x.chips", Clicked(selected=[3]))
    assert _selection().at == 3


@pytest.mark.parametrize("index", [-1, 36, 10**9, None, "1", 1.5])
def test_a_point_that_does_not_exist_selects_nothing(session: dict[str, Any], index: object) -> None:
    chosen: list[int] = []
    session["map"] = {"selection": {"points": [{"point_index": index}]}}
    clicks("map", 36, chosen.append)["on_select"]()
    session["map"] = {"selection": {"points": []}}
    clicks("map", 36, chosen.append)["on_select"]()
    assert chosen == []


def test_a_token_that_a_shorter_text_lacks_gives_way_to_the_default(session: dict[str, Any]) -> None:
    session["attention.1.token.x.chips"] = {}  # the chips have been drawn: no link is to be refused
    assert _selection(token=9).at == 4


@pytest.mark.parametrize(
    ("tokens", "at"),
    [(("it", "was", "it"), 0), (("[CLS]", "␣It", "."), 1), (("a", "␣b", "?"), 1), (("?", "!"), 0), (("[MASK]",), 0)],
)
def test_it_or_the_last_word_comes_first(tokens: tuple[str, ...], at: int) -> None:
    assert usual_token(tokens) == at


@pytest.mark.parametrize(
    "token",
    [
        Token(5, "##s", "s", 0, 1, continuation=True),
        Token(5, "Ġthe", "the", 0, 1, leading_space=True),
        Token(5, "[CLS]", "", -1, -1, special=True),
        Token(5, "the", "the", 0, 1),
    ],
)
def test_a_label_is_read_as_the_token_that_it_was_made_from(token: Token) -> None:
    read = token_of(label(token))
    flags = ("special", "continuation", "leading_space")
    assert [getattr(read, flag) for flag in flags] == [getattr(token, flag) for flag in flags]
    assert token.special or read.text == token.text


def test_a_map_has_a_point_for_each_cell_with_its_hover_text() -> None:
    weights = np.array([[0.25, np.nan], [0.5, 0.5]], dtype=np.float32)
    figure = weight_map(weights, ("a", "b"), ("c", "<d>"), 1, theme=LIGHT)
    points = figure.data[1]
    assert list(zip(points.y, points.x, points.text, strict=True)) == [
        ("1 · a", "1 · c", "0.250"),
        ("1 · a", "2 · &lt;d&gt;", "not computed"),
        ("2 · b", "1 · c", "0.500"),
        ("2 · b", "2 · &lt;d&gt;", "0.500"),
    ]
    assert "%{text}" in points.hovertemplate
    (frame,) = figure.layout.shapes
    assert (frame.x0, frame.x1, frame.y0, frame.y1) == (-0.5, 1.5, 0.5, 1.5)


def test_a_map_of_very_many_cells_has_no_points() -> None:
    side = int(MOST_CLICKS**0.5)
    names = tuple(map(str, range(side + 1)))
    for rows, traces in ((side, 2), (side + 1, 1)):
        figure = weight_map(np.ones((rows, side), np.float32), names[:rows], names[:side], 0, theme=LIGHT)
        assert len(figure.data) == traces
