"""Components: what a browser sends is kept if it fits, and nothing else changes anything."""

from __future__ import annotations

import ast
import importlib
import math
import pkgutil
from pathlib import Path
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
    "collection": {"draft": '{"title":"A","steps":[{"title":"B","text":"<b>","view":"/glossary"}]}', "count": 1},
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
    shared = {"attention", "dom", "draft", "saved"}  # scripts of pages in frames, and of several components
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
FILES = sorted([*(ROOT / "core" / "ui").rglob("*.py"), *(ROOT / "pages").glob("*.py"), ROOT / "app.py"])
VALUE_AT = {
    "text_input": 1,
    "text_area": 1,
    "toggle": 1,
    "checkbox": 1,
    "selectbox": 2,
    "multiselect": 2,
    "radio": 2,
    "select_slider": 2,
    "slider": 3,
    "number_input": 3,
    "pills": None,
    "segmented_control": None,
}
"""Widgets, and the place of the value among their positional arguments."""
GIVEN = {"value", "index", "default"}


def forgetful(source: str) -> list[int]:
    """The lines where a keyed widget is drawn that neither is given its value nor can send it again."""
    found = []
    for call in ast.walk(ast.parse(source)):
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in VALUE_AT):
            continue
        named = {one.arg for one in call.keywords}
        place = VALUE_AT[call.func.attr]
        given = bool(named & GIVEN) or (place is not None and len(call.args) > place)
        if "key" in named and not given and "persist_state" not in named:
            found.append(call.lineno)
    return found


def test_the_rule_tells_them_apart() -> None:
    assert forgetful('st.text_area("Text", key=box)\nleft.slider("k", 1, 9, key=slot)') == [1, 2]
    assert forgetful('st.text_area("Text", key=box, persist_state="page")') == []
    assert forgetful('st.text_area("Text", state.text("text"), key=box)') == []
    assert forgetful('st.selectbox("Task", names, index=2, key=box)') == []
    assert forgetful('st.text_input("No key")') == []


def test_no_widget_forgets_its_value() -> None:
    found = {str(path.relative_to(ROOT)): lines for path in FILES if (lines := forgetful(path.read_text("utf-8")))}
    # The search box in the sidebar starts empty on every page.
    assert len(found.pop("core/ui/search.py", [])) <= 1
    assert found == {}
