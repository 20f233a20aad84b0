"""What the Atlas takes of Streamlit beyond its documented interface is still there, and does what it is taken for.

A test that fails after an upgrade of Streamlit names what has changed; `core/ui/streamlit_internals.py` says what for.
"""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from threading import Event
from typing import Any
from unittest.mock import MagicMock

import pytest
import streamlit
from streamlit import config, file_util, net_util
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.runtime import Runtime, runtime_util
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.script_data import ScriptData
from streamlit.runtime.scriptrunner import ScriptRunner
from streamlit.runtime.scriptrunner.script_cache import ScriptCache
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData
from streamlit.runtime.state import SafeSessionState
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
    "runtime.app_session.AppSession.request_rerun": ["self", "client_state"],
    "runtime.scriptrunner.ScriptRunner.request_stop": ["self"],
    "runtime.scriptrunner.ScriptRunner._run_script": ["self", "rerun_data"],
    "runtime.state.SafeSessionState.on_script_will_rerun": ["self", "fresh_widget_states"],
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


HEARD: list[str] = []
"""What the callbacks of :data:`TWO_PAGES` have heard."""
READS, READ_ON = Event(), Event()
"""A callback is called; it goes on."""
BEGIN = Event()
"""A run begins."""
TWO_PAGES = f"""
import streamlit as st
from {__name__} import HEARD, READ_ON, READS

def typed():
    READS.set()
    READ_ON.wait(10)
    HEARD.append(st.session_state["box"])

def draw():
    st.text_input("Box", key="box", on_change=typed)
    st.button("Press", key="press", on_click=HEARD.append, args=("pressed",))

st.navigation([st.Page(draw, title="One"), st.Page(lambda: st.text("nothing"), title="Other")]).run()
"""


async def left_at_once(file: Path, *, reads: bool) -> list[str]:
    """What is heard of a text and a press when another page is asked for at once, before the run has drawn anything.

    Args:
        reads: the run has begun to read them; else it has not begun at all.
    """
    others = set(threading.enumerate())
    session = AppSession(ScriptData(str(file), is_hello=False), MemoryUploadedFileManager("/"), ScriptCache(), None, {})

    async def ended() -> None:
        end = time.monotonic() + 20
        while any(thread.name == "ScriptRunner.scriptThread" for thread in {*threading.enumerate()} - others):
            assert time.monotonic() < end, "a run does not end"
            await asyncio.sleep(0.01)

    BEGIN.set()
    session.request_rerun(ClientState())
    await ended()
    for event in (READS, READ_ON, BEGIN):
        event.clear()
    HEARD.clear()
    box, press = (session.session_state._key_id_mapper.get_id_from_key(key, "") for key in ("box", "press"))
    page, other = ClientState(), ClientState()
    page.widget_states.widgets.add(id=box, string_value="typed")
    page.widget_states.widgets.add(id=press, trigger_value=True)
    (other.page_script_hash,) = (
        name for name, info in session._pages_manager.get_pages().items() if info["page_name"] == "Other"
    )
    session.request_rerun(page)
    if reads:
        BEGIN.set()
        await asyncio.to_thread(READS.wait, 10)
    session.request_rerun(other)
    await asyncio.sleep(0.05)  # the other run does what it may
    BEGIN.set()
    READ_ON.set()
    await ended()
    session.shutdown()
    return list(HEARD)


@pytest.mark.parametrize("reads", [False, True])
def test_what_was_typed_and_pressed_is_heard_once_though_another_page_is_asked_for_at_once(
    reads: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run = ScriptRunner._run_script

    def held(runner: ScriptRunner, data: RerunData) -> None:
        BEGIN.wait(10)
        run(runner, data)

    file = tmp_path / "two_pages.py"
    file.write_text(TWO_PAGES, encoding="utf-8")
    monkeypatch.setattr(Runtime, "_instance", MagicMock(spec=Runtime))
    monkeypatch.setattr(PagesManager, "uses_pages_directory", False)
    monkeypatch.setattr(ScriptRunner, "_run_script", held)
    monkeypatch.setattr(AppSession, "request_rerun", AppSession.request_rerun)
    monkeypatch.setattr(SafeSessionState, "on_script_will_rerun", SafeSessionState.on_script_will_rerun)
    # in a thread of its own: Playwright leaves a loop in this one
    with ThreadPoolExecutor(1) as thread:
        heard = thread.submit(asyncio.run, left_at_once(file, reads=reads)).result()
        assert heard == [], "Streamlit itself keeps it: then ours has become superfluous"
        internals.keep_waiting_values()
        heard = thread.submit(asyncio.run, left_at_once(file, reads=reads)).result()
        assert heard == ["typed", "pressed"]


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
