"""Components: what browsers may send, and the selected token that all of them share."""

from __future__ import annotations

import importlib
import math
import pkgutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import streamlit as st

from core import ui
from core.attention.tokens import token_of
from core.figures.attention import weight_map
from core.figures.heatmap import MOST_CLICKS
from core.language.types import Token
from core.settings import ASSETS
from core.theme import LIGHT
from core.ui.chips import CHIPS, Clicked
from core.ui.component import MOST, Component
from core.ui.links import PageState
from core.ui.selection import FRAME, Opened, Selection, clicks, usual_token

MESSAGES: dict[str, dict[str, Any]] = {
    "alignment": {"selected": 2},
    "block": {"step": "attention-weights", "count": 1},
    "byhand": {"cells": "q131_-4.5~t11_2", "mode": "head", "mask": "none", "at": "s131", "until": "output", "count": 4},
    "chips": {"selected": [0, 3], "count": 2},
    "frame": {"open": [1, 12]},
    "lesson": {"step": 2, "count": 2},
    "last": {"page": "attention", "tab": "heads", "query": "layer=3&text=a+b%3F"},
    "masks": {"flips": [5, 35], "count": 3},
    "order": {"order": [2, 0, 1], "count": 1},
    "seat": {"code": "BCDF", "token": "", "follower": "a_-1"},
    "points": {"angles": [0, 359], "count": 7},
    "present": {"to": "hall"},
    "progress": {"step": 3, "count": 1},
    "transformer": {"step": "mask", "depth": "idea", "layer": 1, "head": 2, "position": 0, "source": 3, "count": 1},
    "timeline": {"until": 2019 * 12, "count": 3},
    "tree": {"node": "bert.encoder.layer.0-11.attention"},
}
"""What each component sends; the others send nothing."""

_MARKUP = "<img src=x onerror=alert(1)>"
_NUMBERS = (True, 1.5, math.nan, math.inf, -1, 10**30)
HOSTILE: tuple[Any, ...] = (
    *(None, {}, {"a": 1}, _MARKUP, "x" * 10_000),
    *_NUMBERS,
    *([number] for number in _NUMBERS),
    *(["1"], [_MARKUP], [[0]], [None], [0] * (MOST + 1)),
)


@pytest.fixture(scope="module")
def components() -> dict[str, Component[Any]]:
    """Every component of the app, by its folder."""
    modules = [
        importlib.import_module(module_info.name) for module_info in pkgutil.walk_packages(ui.__path__, "core.ui.")
    ]
    return {
        component.name: component
        for module in modules
        for component in vars(module).values()
        if isinstance(component, Component)
    }


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A session of which no widget exists."""
    state: dict[str, Any] = {}
    monkeypatch.setattr(st, "session_state", state)
    return state


def test_every_folder_is_a_component(components: dict[str, Component[Any]]) -> None:
    folders = {folder.name for folder in (ASSETS / "components").iterdir()}
    shared = {"attention", "dom", "saved"}  # scripts of pages in frames, and of several components
    assert folders - shared == components.keys()
    assert {name for name, component in components.items() if component.message} == MESSAGES.keys()


@pytest.mark.parametrize("name", MESSAGES)
def test_a_message_is_found_once(name: str, components: dict[str, Component[Any]], session: dict[str, Any]) -> None:
    component, message = components[name], MESSAGES[name]
    session["key"] = SimpleNamespace(sent=message)
    component.receive("key")
    assert component.sent("key") == component.message(**message)  # type: ignore[misc]
    assert component.sent("key") is None
    assert session["key--count"] == message.get("count", 0)


@pytest.mark.parametrize("name", MESSAGES)
def test_hostile_messages_change_nothing(
    name: str, components: dict[str, Component[Any]], session: dict[str, Any]
) -> None:
    good = MESSAGES[name]
    messages = [*HOSTILE, [good], {**good, "more": 1}, *({**good, field: wrong} for field in good for wrong in HOSTILE)]
    messages += [{key: value for key, value in good.items() if key == "count"}, {**good, "count": -1}]
    for message in messages:
        session["key"] = SimpleNamespace(sent=message)
        before = dict(session)
        components[name].receive("key")
        assert session == before, message
    session["key"] = SimpleNamespace()
    components[name].receive("key")
    assert components[name].sent("key") is None


ROOT = Path(__file__).resolve().parents[2]


TOKENS = ("[CLS]", "the", "cat", "##s", "sat", "[SEP]")


def _selection(**values: int | None) -> Selection:
    return Selection(PageState("attention", dict(values), 1), TOKENS, special=(0, 5), tag="x")


def test_the_link_selects_and_the_default_stays_out_of_it(session: dict[str, Any]) -> None:
    selection = _selection(token=3)
    assert (selection.at, selection.state.values["token"]) == (2, 3)
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
    assert usual_token([token_of(label) for label in tokens]) == at


def test_a_special_token_is_not_the_first_choice_and_its_look_alike_is() -> None:
    tokens = [token_of("a"), token_of("[SEP]"), token_of("[SEP]", special=True)]
    assert usual_token(tokens) == 1


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
    read = token_of(token.label, special=token.special)
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
