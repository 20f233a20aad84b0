"""A widget whose value the page keeps in the session alone must be able to come back to a browser that missed it.

Streamlit sends such a value with the run that first draws the widget. When the browser had not drawn it yet as the next
run began, it would mount the widget empty and send that emptiness back; ``persist_state="page"`` makes Streamlit send
the value again. A widget that is given its value as an argument needs nothing.
"""

from __future__ import annotations

import ast
from pathlib import Path

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
