"""What the Atlas takes of Streamlit beyond its documented interface is still there, and does what it is taken for.

A test that fails after an upgrade of Streamlit names what has changed; `core/ui/streamlit_internals.py` says what for.
"""

from __future__ import annotations

import dataclasses
import inspect
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import streamlit
from streamlit import config, file_util, net_util
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates
from streamlit.runtime import runtime_util
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner_utils import script_requests
from streamlit.runtime.state.common import user_key_from_element_id
from streamlit.runtime.uploaded_file_manager import UploadedFileRec
from streamlit.testing.v1 import AppTest
from streamlit.web.server.starlette import starlette_server

from core.ui import crowd
from core.ui import streamlit_internals as internals

GONE = f"streamlit {streamlit.__version__} has no such {{}} any more; see core/ui/streamlit_internals.py"

FUNCTIONS = {
    "runtime.scriptrunner.get_script_run_ctx": ["suppress_warning"],
    "runtime.get_instance": [],
    "runtime.exists": [],
    "runtime.Runtime.is_active_session": ["self", "session_id"],
    "runtime.state.SafeSessionState.get_widget_states": ["self"],
    "runtime.state.common.user_key_from_element_id": ["element_id"],
    "net_util.get_external_ip": [],
    "runtime.scriptrunner_utils.script_requests._coalesce_widget_states": ["old_states", "new_states"],
    "runtime.memory_uploaded_file_manager.MemoryUploadedFileManager.add_file": ["self", "session_id", "file"],
    "runtime.memory_uploaded_file_manager.MemoryUploadedFileManager.remove_file": ["self", "session_id", "file_id"],
    "runtime.memory_uploaded_file_manager.MemoryUploadedFileManager.get_upload_urls": [
        "self",
        "session_id",
        "file_names",
    ],
    "config.set_option": ["key", "value", "where_defined"],
}
"""Functions that the app calls or replaces, and their arguments."""


def found(path: str) -> Any:
    """What a dotted path below the package leads to."""
    at: Any = streamlit
    name = "streamlit"
    for part in path.split("."):
        name = f"{name}.{part}"
        at = getattr(at, part, None) or import_module(name)
    return at


@pytest.mark.parametrize("path", FUNCTIONS)
def test_streamlit_has_the_function_with_these_arguments(path: str) -> None:
    try:
        function = found(path)
    except ImportError:
        pytest.fail(GONE.format(f"function as {path}"))
    assert list(inspect.signature(function).parameters)[: len(FUNCTIONS[path])] == FUNCTIONS[path], GONE.format(
        f"function as {path}({', '.join(FUNCTIONS[path])})"
    )


def test_a_run_says_whose_it_is_and_can_be_ended() -> None:
    context = found("runtime.scriptrunner.ScriptRunContext")
    fields = {field.name for field in dataclasses.fields(context)}
    for name in ("session_id", "session_state", "is_history_navigation", "yield_check"):
        assert name in fields or hasattr(context, name), GONE.format(f"field as ScriptRunContext.{name}")
    assert internals.session_id() is None
    assert internals.end_if_abandoned() is None
    assert not internals.by_history()
    assert internals.widget_keys() == []


def test_a_session_forgets_widgets_and_values_of_keys_that_are_past() -> None:
    def page() -> None:
        import streamlit as st
        from streamlit.runtime.scriptrunner import get_script_run_ctx

        from core.ui.streamlit_internals import forget

        epoch = st.session_state.setdefault("epoch", 1)
        st.text_input("Text", key=f"page.{epoch}.text", persist_state="page")
        st.session_state[f"page.{epoch}.set"] = "value"
        forget(lambda key: key.startswith("page.") and not key.startswith(f"page.{epoch}."))
        state = get_script_run_ctx().session_state._state
        st.text(" ".join(name.split("-", 2)[-1] for name in state._new_widget_state.widget_metadata))

    at = AppTest.from_function(page).run()
    at.session_state["epoch"] = 2
    at.run()
    assert not at.exception
    assert at.text[0].value == "page.2.text", GONE.format("dictionary as _new_widget_state.widget_metadata")
    assert at.session_state["page.2.set"] == "value"
    assert "page.1.set" not in at.session_state


def test_a_widgets_key_stands_at_the_end_of_its_name() -> None:
    name = "$$ID-0123456789abcdef-encoder.3.text-of-it"
    assert user_key_from_element_id(name) == "encoder.3.text-of-it", GONE.format("form of a widget's name")


def test_the_page_table_is_a_flag_of_the_class() -> None:
    assert "uses_pages_directory" in vars(PagesManager), GONE.format("flag as PagesManager.uses_pages_directory")


def test_streamlits_page_has_a_head_that_ends() -> None:
    page = Path(file_util.get_static_dir(), "index.html").read_bytes()
    assert page.count(b"</head>") == 1, GONE.format("page as static/index.html with one </head>")
    assert len(page) < 60_000, "it is sent in one piece; see core/ui/server/page.py"


def test_no_other_host_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(net_util, "get_external_ip", net_util.get_external_ip)
    internals.ask_no_other_host()
    assert net_util.get_external_ip() is None
    judge = inspect.getsource(found("web.server.server_util.is_url_from_allowed_origins"))
    assert "net_util.get_external_ip" in judge, "Streamlit judges an origin in another way: ours has become superfluous"


def test_a_browser_says_less_than_a_page_has(monkeypatch: pytest.MonkeyPatch) -> None:
    assert config.get_option("server.maxWidgetStateSize") == 1
    monkeypatch.setattr(runtime_util, "_max_message_size_bytes", None)
    usual = config.get_option("server.maxMessageSize")
    try:
        assert starlette_server._get_uvicorn_config_kwargs()["ws_max_size"] == 1_000_000, "held of a browser's message"
        internals.bound_messages(250)
        assert runtime_util.get_max_message_size_bytes() == 250_000_000, GONE.format(
            "variable as runtime_util._max_message_size_bytes"
        )
    finally:
        config.set_option("server.maxMessageSize", usual)


def test_a_value_that_waits_survives_a_click_on_another_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """The request for a page lacks the boxes of the page before; what it has itself is newer."""
    monkeypatch.setattr(script_requests, "_coalesce_widget_states", script_requests._coalesce_widget_states)

    def states(**texts: str) -> WidgetStates:
        return WidgetStates(widgets=[WidgetState(id=name, string_value=text) for name, text in texts.items()])

    def waiting() -> dict[str, str]:
        requests = script_requests.ScriptRequests()
        requests.request_rerun(script_requests.RerunData(widget_states=states(box="typed", search="b")))
        requests.request_rerun(script_requests.RerunData(widget_states=states(search="bert"), page_script_hash="other"))
        given = requests.on_scriptrunner_ready().rerun_data.widget_states
        assert given is not None
        return {state.id: state.string_value for state in given.widgets}

    assert waiting() == {"search": "bert"}, "Streamlit itself keeps it: then ours has become superfluous"
    internals.keep_waiting_values()
    assert waiting() == {"box": "typed", "search": "bert"}


def test_uploads_are_bounded_by_file_tab_and_altogether(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MemoryUploadedFileManager, "add_file", MemoryUploadedFileManager.add_file)
    monkeypatch.setattr(MemoryUploadedFileManager, "get_upload_urls", MemoryUploadedFileManager.get_upload_urls)
    tabs = crowd.OpenTabs()
    usual = config.get_option("server.maxUploadSize")
    try:
        internals.bound_uploads(9_300, 4_000_000, tabs)
        assert config.get_option("server.maxUploadSize") == 10
    finally:
        config.set_option("server.maxUploadSize", usual)
    uploads = MemoryUploadedFileManager("/upload")
    for tab in ("tab", "another", "small"):
        tabs.admit(tab, lambda _: True, 1_000)
    for number in range(9):
        file = UploadedFileRec(str(number), "recipe.json", "application/json", b"{}")
        uploads.add_file(session_id="tab", file=file)  # as Streamlit's route calls it
    assert list(uploads.file_storage["tab"]) == ["5", "6", "7", "8"]
    uploads.add_file(session_id="never ran a page", file=UploadedFileRec("0", "a", "", b"x"))
    assert "never ran a page" not in uploads.file_storage
    for tab, name in (("tab", "9"), ("tab", "10"), ("another", "1"), ("small", "2"), ("another", "3")):
        size = 100_000 if tab == "small" else 1_500_000
        uploads.add_file(session_id=tab, file=UploadedFileRec(name, "weights.safetensors", "", bytes(size)))
    kept = {tab: list(files) for tab, files in uploads.file_storage.items()}
    assert kept == {"tab": ["10"], "another": ["3"], "small": ["2"]}, "whoever holds the most loses the oldest"
    assert sum(len(file.data) for files in uploads.file_storage.values() for file in files.values()) <= 4_000_000
    uploads.add_file(session_id="small", file=UploadedFileRec("huge", "weights.safetensors", "", bytes(9_000_000)))
    assert list(uploads.file_storage["small"]) == ["huge"], "the latest stays whatever its size"
    assert len(uploads.get_upload_urls("tab", [""] * 1_500_000)) == 4
