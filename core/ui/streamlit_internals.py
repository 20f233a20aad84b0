"""What the Atlas uses of Streamlit beyond its documented interface, all in one place: what for, and what it costs to do
without.

An upgrade may change any of it: ``tests/unit/test_streamlit_internals.py`` then says what is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from threading import Lock, RLock
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakValueDictionary

import streamlit as st
from streamlit import config, net_util, runtime
from streamlit.proto.WidgetStates_pb2 import WidgetStates
from streamlit.runtime import runtime_util
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner import ScriptRunner, get_script_run_ctx
from streamlit.runtime.scriptrunner_utils import script_requests
from streamlit.runtime.state import SafeSessionState
from streamlit.runtime.state.common import user_key_from_element_id

if TYPE_CHECKING:
    from streamlit.proto.ClientState_pb2 import ClientState
    from streamlit.runtime.scriptrunner_utils.script_requests import RerunData
    from streamlit.runtime.uploaded_file_manager import UploadedFileRec, UploadFileUrlInfo

UPLOADS = 4
"""Uploaded files that the server keeps for one tab, and names that a tab may announce at once."""


# One run


def session_id() -> str | None:
    """What tells this run's tab from all others; None outside a run."""
    run = get_script_run_ctx(suppress_warning=True)
    return None if run is None else run.session_id


def is_open(session: str) -> bool:
    """Whether a tab is connected: it has its place until then."""
    return runtime.exists() and runtime.get_instance().is_active_session(session)


def by_history() -> bool:
    """Whether the browser's Back or Forward caused this run. Nothing else tells it from a click, whose address may be
    older than what the page shows."""
    run = get_script_run_ctx(suppress_warning=True)
    return run is not None and run.is_history_navigation


def widget_keys() -> list[str]:
    """The keys of the widgets that the browser shows already. In a session's first run there are some where the tab
    outlived its session, as when the server was restarted."""
    run = get_script_run_ctx(suppress_warning=True)
    states = run.session_state.get_widget_states() if run else ()
    return [user_key_from_element_id(state.id) or "" for state in states]


def forget(is_past: Callable[[str], bool]) -> None:
    """Delete what the session holds under the keys that ``is_past`` names: values, and the widgets themselves.

    Streamlit deletes the values of widgets that are no longer drawn, but not those that persist or were set, and keeps
    callbacks: a tab that opened 600 links grew by 40 MB, each act took 1.15 times as long as the first ones. What a
    browser still sends for such a widget is then ignored, as for any widget that does not exist.
    """
    run = get_script_run_ctx(suppress_warning=True)
    if run is None:
        return
    widgets = run.session_state._state._new_widget_state.widget_metadata
    for widget in [widget for widget in widgets if is_past(user_key_from_element_id(widget) or "")]:
        del widgets[widget]  # before its value, so that no callback misses that
    for key in [str(key) for key in st.session_state if is_past(str(key))]:
        del st.session_state[key]


def end_if_abandoned() -> Callable[[], object] | None:
    """A function that ends this run if its visitor has left or clicked again. Streamlit itself asks only when a run
    draws, a computation of seconds draws nothing."""
    run = get_script_run_ctx(suppress_warning=True)
    return None if run is None else run.yield_check


# The table of pages


def take_page_table() -> None:
    """Have ``app.py`` alone say which pages there are. Until a run has called ``st.navigation``, Streamlit would run
    the file of the page that a link names instead, below a sidebar of file names: for all whose first runs overlap."""
    PagesManager.uses_pages_directory = False


def has_page_table() -> bool:
    """False where Streamlit's AppTest, which forgets it, has run a page's file directly."""
    return not PagesManager.uses_pages_directory


# The server


async def accepts_browsers() -> bool:
    """Whether the server has started, and does not end."""
    if not runtime.exists():
        return False
    accepts, _ = await runtime.get_instance().is_ready_for_browser_connection
    return accepts


def ask_no_other_host() -> None:
    """To judge a WebSocket handshake from an origin that ``server.corsAllowedOrigins`` names, Streamlit asks
    checkip.amazonaws.com for this machine's public address, on the loop that serves all visitors."""
    net_util.get_external_ip = lambda: None


def bound_messages(page_mb: int) -> None:
    """Let a message to a browser have ``page_mb`` megabytes, once the server has read how many it takes from one.

    Both are ``server.maxMessageSize``. A browser says 1 MB at most (``.streamlit/config.toml``); with one value for
    both, each of a hundred connections could have the server hold a message as large as the largest page.
    """
    config.set_option("server.maxMessageSize", page_mb)
    runtime_util._max_message_size_bytes = None


def keep_waiting_values() -> None:
    """Let no request end the run before it until that has read its values: what was typed, set or pressed.

    Streamlit ends that run wherever it is, even in a callback, and begins another. The browser sends a page's values
    again, but not to another page, nor after Back, and a press never. So a run reads all its values, callbacks
    included, before the next begins; or, if it has not begun to, the next reads those that it lacks itself.
    """
    ask, run, read = AppSession.request_rerun, ScriptRunner._run_script, SafeSessionState.on_script_will_rerun
    deciding = Lock()
    taken: WeakKeyDictionary[ScriptRunner, WidgetStates | None] = WeakKeyDictionary()
    sessions: WeakValueDictionary[str, RLock] = WeakValueDictionary()

    def reading(runner: ScriptRunner) -> RLock:
        return sessions.setdefault(runner._session_id, RLock())

    def ask_with_waiting(session: AppSession, client: ClientState | None) -> None:
        runner = session._scriptrunner
        if runner is not None and client is not None and not client.fragment_id:
            with deciding:
                waiting = runner._requests._rerun_data.widget_states
                if waiting is taken.get(runner):
                    waiting = None
                runner.request_stop()
            if waiting is not None:
                client.widget_states.CopyFrom(_merged(waiting, client.widget_states))
        ask(session, client)

    def run_after_reading(runner: ScriptRunner, data: RerunData) -> None:
        with reading(runner):
            pass
        run(runner, data)

    def read_whole(state: SafeSessionState, values: WidgetStates | None, **more: Any) -> None:
        runner: ScriptRunner = state._yield_callback.__self__  # type: ignore[attr-defined]
        with reading(runner):
            with deciding:
                state._yield_callback()  # ends a run whose values the next one has
                taken[runner] = values
            runner._execing = False  # so that nothing ends it here
            try:
                read(state, values, **more)
            finally:
                runner._execing = True

    AppSession.request_rerun = ask_with_waiting  # type: ignore[assignment, method-assign]
    ScriptRunner._run_script = run_after_reading  # type: ignore[assignment, method-assign]
    SafeSessionState.on_script_will_rerun = read_whole  # type: ignore[assignment, method-assign]


def _merged(old: WidgetStates, new: WidgetStates) -> WidgetStates:
    """The values that a later request lacks, then its own; Streamlit would keep only presses of an earlier one."""
    both = script_requests._coalesce_widget_states(old, new) or new
    there = {state.id for state in both.widgets}
    return WidgetStates(widgets=[*(state for state in old.widgets if state.id not in there), *both.widgets])


def bound_uploads(file_kb: int, all_bytes: int, tabs: Container[str]) -> None:
    """Bound what visitors upload: a file, those of a tab, and all together.

    Streamlit bounds a file alone, and keeps as many as a connection sends until it closes, also for a page without a
    control for files: forty connections left 1.3 GB. A message of 1 MB can announce 500,000 names, which hold the loop
    that serves all visitors for seconds.

    Args:
        file_kb: kilobytes of a file at most.
        all_bytes: above it, the tab with the most loses its oldest file.
        tabs: those that may upload.
    """
    config.set_option("server.maxUploadSize", -(-file_kb // 1_024))
    add, announce = MemoryUploadedFileManager.add_file, MemoryUploadedFileManager.get_upload_urls

    def add_one_of_few(manager: MemoryUploadedFileManager, session_id: str, file: UploadedFileRec) -> None:
        if session_id not in tabs:
            return
        add(manager, session_id, file)
        for old in list(manager.file_storage[session_id])[:-UPLOADS]:
            manager.remove_file(session_id, old)
        while (
            sum(map(_bytes, list(manager.file_storage.values()))) > all_bytes
            and (oldest := oldest_of_the_largest(manager, file)) is not None
        ):
            manager.remove_file(*oldest)

    def oldest_of_the_largest(manager: MemoryUploadedFileManager, new: UploadedFileRec) -> tuple[str, str] | None:
        """The tab that holds the most, and its oldest file; a new file stays."""
        holders = sorted(manager.file_storage.items(), key=lambda holder: -_bytes(holder[1]))
        return next(
            ((tab, name) for tab, files in holders for name, file in list(files.items()) if file is not new), None
        )

    def announce_few(
        manager: MemoryUploadedFileManager, session_id: str, names: Sequence[str]
    ) -> list[UploadFileUrlInfo]:
        return announce(manager, session_id, names[:UPLOADS])

    MemoryUploadedFileManager.add_file = add_one_of_few  # type: ignore[assignment, method-assign]
    MemoryUploadedFileManager.get_upload_urls = announce_few  # type: ignore[assignment, method-assign]


def _bytes(files: dict[str, UploadedFileRec]) -> int:
    return sum(len(file.data) for file in list(files.values()))
