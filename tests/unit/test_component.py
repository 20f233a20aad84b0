"""Components: what a browser sends is kept if it fits, and nothing else changes anything."""

from __future__ import annotations

import importlib
import math
import pkgutil
from types import SimpleNamespace
from typing import Any

import pytest
import streamlit as st

from core import ui
from core.settings import ASSETS
from core.ui.component import MOST, Component

MESSAGES: dict[str, dict[str, Any]] = {
    "alignment": {"selected": 2},
    "block": {"step": "attention-weights", "count": 1},
    "chips": {"selected": [0, 3], "count": 2},
    "frame": {"open": [1, 12]},
    "masks": {"flips": [5, 35], "count": 3},
    "order": {"order": [2, 0, 1], "count": 1},
    "points": {"angles": [0, 359], "count": 7},
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
    modules = [importlib.import_module(found.name) for found in pkgutil.walk_packages(ui.__path__, "core.ui.")]
    return {one.name: one for module in modules for one in vars(module).values() if isinstance(one, Component)}


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A session of which no widget exists."""
    state: dict[str, Any] = {}
    monkeypatch.setattr(st, "session_state", state)
    return state


def test_every_folder_is_a_component(components: dict[str, Component[Any]]) -> None:
    folders = {folder.name for folder in (ASSETS / "components").iterdir()}
    assert folders - {"attention", "saved"} == components.keys()  # scripts of pages in frames, and shared ones
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
