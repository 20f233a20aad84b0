"""The routes for operators and the headers of every answer, asked over ASGI without a server."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.applications import Starlette
from streamlit import config
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates
from streamlit.runtime import runtime_util
from streamlit.runtime.media_file_storage import MediaFileKind
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.scriptrunner_utils import script_requests
from streamlit.runtime.session_manager import SessionClientDisconnectedError
from streamlit.runtime.uploaded_file_manager import UploadedFileRec
from streamlit.web.server.starlette import starlette_server
from streamlit.web.server.starlette.starlette_websocket import StarletteSessionClient

from core import checkpoints, session
from core.settings import settings
from core.ui import crowd, server

APP = Starlette(routes=server.routes(), middleware=server.MIDDLEWARE)


@pytest.fixture(autouse=True)
def cold(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Settings of their own for each test, and nothing warm."""
    settings.cache_clear()
    server.warm.clear()
    server.troubles.clear()
    yield
    monkeypatch.undo()
    settings.cache_clear()


def answer(
    path: str, app: Starlette = APP, host: str | None = None, query: bytes = b"", **forwarded: str
) -> tuple[int, dict[str, str], str]:
    """Status, headers and text of a GET request."""
    sent: list[dict[str, Any]] = []

    async def ask() -> None:
        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        headers = [(b"host", host.encode())] if host else []
        headers += [(name.replace("_", "-").encode(), value.encode()) for name, value in forwarded.items()]
        scope = {
            "type": "http",
            "method": "GET",
            "path": path,
            "headers": headers,
            "query_string": query,
            "root_path": "",
        }
        await app(scope, receive, send)  # type: ignore[arg-type]

    with ThreadPoolExecutor(1) as apart:  # a journey of this process may have a loop of its own
        apart.submit(asyncio.run, ask()).result()
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], headers, b"".join(message.get("body", b"") for message in sent[1:]).decode()


def test_every_answer_keeps_other_hosts_out() -> None:
    for path in ("/ready", "/nowhere", "/metrics"):
        _, headers, _ = answer(path)
        policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
        assert headers["x-content-type-options"] == "nosniff"
        assert policy["connect-src"] == "'self' data: blob:"
        assert policy["frame-ancestors"] == "'self'"
        assert not any("http" in sources or "*" in sources for sources in policy.values())


LOCAL = ("localhost:8501", "127.0.0.1:8501", "[::1]:8501", "10.1.2.3", "atlas.localhost", None)


@pytest.mark.parametrize(
    ("address", "hosts", "answered", "refused"),
    [
        ("127.0.0.1", None, LOCAL, ("evil.example", "evil.example:8501", "localhost.evil.example", "[x")),
        ("localhost", "", LOCAL, ("evil.example",)),
        ("0.0.0.0", None, (*LOCAL, "any.example"), ()),
        (None, None, (*LOCAL, "any.example"), ()),
        (
            "0.0.0.0",
            "Atlas.example.org, *.school.example",
            (*LOCAL, "atlas.example.org:443", "ATLAS.example.org.", "a.school.example"),
            ("evil.example", "example.org", "school.example", "evilschool.example", "atlas.example.org.evil.example"),
        ),
    ],
)  # fmt: skip
def test_a_foreign_host_is_refused(
    address: str | None,
    hosts: str | None,
    answered: tuple[str | None, ...],
    refused: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(OPTIONS, "server.address", address)
    monkeypatch.setattr(server.config, "get_option", OPTIONS.get)
    if hosts is not None:
        monkeypatch.setenv("ATLAS_HOSTS", hosts)
    assert {host: answer("/ready", host=host)[0] for host in answered} == dict.fromkeys(answered, 503)
    assert {host: answer("/ready", host=host)[0] for host in refused} == dict.fromkeys(refused, 421)


OPTIONS: dict[str, str | None] = {"server.baseUrlPath": "/atlas/", "server.address": None}
"""What the host configured of Streamlit."""


def handshake(origin: str | None, host: str) -> str:
    """The type of the first message that answers a WebSocket's handshake."""
    sent: list[Any] = []

    async def accept(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "websocket.accept"})

    async def ask() -> None:
        async def receive() -> dict[str, Any]:
            return {"type": "websocket.connect"}

        async def send(message: Any) -> None:
            sent.append(message["type"])

        headers = [(b"host", host.encode()), *([(b"origin", origin.encode())] if origin else [])]
        await server.Secured(accept)(
            {"type": "websocket", "path": "/_stcore/stream", "headers": headers}, receive, send
        )

    with ThreadPoolExecutor(1) as apart:
        apart.submit(asyncio.run, ask()).result()
    return str(sent[0])


def test_only_a_page_of_ours_or_one_that_the_host_names_opens_a_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATLAS_HOSTS", "atlas.example.org")
    options = {"server.corsAllowedOrigins": ["https://other.example.org/"], "server.enableCORS": True}
    monkeypatch.setattr(server.config, "get_option", options.get)
    here = "localhost:8501"
    may = {
        (None, here): True,
        ("http://localhost:8501", here): True,
        ("http://localhost:8502", here): False,
        ("http://127.0.0.1:8501", here): False,
        ("http://localhost", here): False,
        ("https://evil.example", here): False,
        ("null", here): False,
        ("http://[x", here): False,
        ("https://atlas.example.org", "atlas.example.org"): True,
        ("https://other.example.org", "atlas.example.org"): True,
        ("https://other.example.org:8443", "atlas.example.org"): False,
    }
    answers = {ask: handshake(*ask) == "websocket.accept" for ask in may}
    assert answers == may


def test_below_a_prefix_the_routes_answer_with_and_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server.config, "get_option", OPTIONS.get)
    app = Starlette(routes=server.routes(), middleware=server.MIDDLEWARE)
    paths = ("/health", "/atlas/health", "/ready", "/atlas/ready", "/metrics", "/atlas/metrics", "/other/ready")
    assert [answer(path, app)[0] for path in paths] == [503, 503, 503, 503, 404, 404, 404]
    monkeypatch.setenv("ATLAS_METRICS", "on")
    settings.cache_clear()
    monkeypatch.setattr("streamlit.runtime.get_instance", lambda: RUNTIME)
    assert [answer(path, app)[0] for path in ("/metrics", "/atlas/metrics")] == [200, 200]


def test_a_page_that_became_part_of_another_leads_there_with_its_query(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server.config, "get_option", OPTIONS.get)
    app = Starlette(routes=server.routes())
    to = {path: answer(path, app)[1]["location"] for path in ("/about", "/atlas/about", "/search", "/compare", "/zoo")}
    assert to == {
        **dict.fromkeys(("/about", "/atlas/about"), "glossary?tab=about"),
        "/search": "glossary?",
        "/compare": "catalogue?tab=table",
        "/zoo": "catalogue?tab=models",
    }
    assert answer("/search", app, query=b"q=low+rank%26")[1]["location"] == "glossary?q=low+rank%26"


def test_measures_are_closed_until_the_host_opens_them(monkeypatch: pytest.MonkeyPatch) -> None:
    assert answer("/metrics")[0] == answer("/atlas/_stcore/metrics")[0] == 404
    monkeypatch.setenv("ATLAS_METRICS", "on")
    monkeypatch.setenv("ATLAS_MEMORY_MB", "640")
    settings.cache_clear()
    monkeypatch.setattr("streamlit.runtime.get_instance", lambda: RUNTIME)
    server.metrics_registry.cache_clear()
    server.run_seconds.cache_clear()
    with server.timed("encoder", time.perf_counter() - 100):
        pass
    for forwarded in ({"x_forwarded_for": "203.0.113.9"}, {"forwarded": "for=203.0.113.9"}):
        assert answer("/metrics", **forwarded)[0] == 404, "measures are for the inside"
    status, headers, text = answer("/metrics")
    lines = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert status == 200
    assert headers["content-type"].startswith("text/plain")
    assert float(lines["atlas_sessions"]) == 3
    assert float(lines["atlas_models_budget_bytes"]) == 550e6
    assert float(lines["atlas_waiting_runs"]) == 0
    assert float(lines['atlas_run_seconds_count{page="encoder"}']) == 1
    assert float(lines['atlas_run_seconds_sum{page="encoder"}']) >= 100, "the wait for a turn counts"
    assert float(lines["atlas_results_bytes"]) >= 0
    assert float(lines["atlas_media_bytes"]) == 0
    assert float(lines["atlas_media_budget_bytes"]) == 640e6 / 16
    assert float(lines["atlas_sessions_limit"]) == 100
    assert float(lines["atlas_refused_runs"]) == crowd.open_tabs.refused


class RUNTIME:
    """A server with three open tabs."""

    class _session_mgr:
        num_active_sessions = staticmethod(lambda: 3)
        list_active_sessions = staticmethod(list)

    class media_file_mgr:
        _storage = MemoryMediaFileStorage("/media")


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
    server.keep_waiting_values()
    assert waiting() == {"box": "typed", "search": "bert"}


def test_streamlit_follows_the_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATLAS_MEMORY_MB", "64")  # 4 MB of files
    monkeypatch.setenv("ATLAS_MAX_UPLOAD_KB", "9300")
    monkeypatch.setattr(MemoryMediaFileStorage, "load_and_get_id", MemoryMediaFileStorage.load_and_get_id)
    monkeypatch.setattr(StarletteSessionClient, "write_forward_msg", StarletteSessionClient.write_forward_msg)
    monkeypatch.setattr(StarletteSessionClient, "__init__", StarletteSessionClient.__init__)
    monkeypatch.setattr(MemoryUploadedFileManager, "add_file", MemoryUploadedFileManager.add_file)
    monkeypatch.setattr(MemoryUploadedFileManager, "get_upload_urls", MemoryUploadedFileManager.get_upload_urls)
    monkeypatch.setattr(crowd, "open_tabs", crowd.OpenTabs())
    monkeypatch.setattr(runtime_util, "_max_message_size_bytes", None)
    usual = {name: config.get_option(name) for name in ("server.maxUploadSize", "server.maxMessageSize")}
    try:
        assert starlette_server._get_uvicorn_config_kwargs()["ws_max_size"] == 1_000_000, "held of a browser's message"
        server.follow_limits()
        assert config.get_option("server.maxUploadSize") == 10
        assert runtime_util.get_max_message_size_bytes() == 250_000_000, "a page may be larger"
    finally:
        for name, value in usual.items():
            config.set_option(name, value)
    storage = MemoryMediaFileStorage("/media")

    def offer(number: int, size: int) -> str:
        return storage.load_and_get_id(bytes([number]) * size, "text/csv", MediaFileKind.DOWNLOADABLE)

    names = [offer(number, 1_500_000) for number in range(2)]
    assert offer(0, 1_500_000) == names[0], "used again"
    names.append(offer(2, 1_500_000))
    assert set(storage._files_by_id) == {names[0], names[2]}, "the one offered longest ago has left"
    huge = offer(3, 9_000_000)
    assert set(storage._files_by_id) == {huge}, "the latest stays whatever its size"
    with ThreadPoolExecutor(1) as apart:  # a journey of this process may have a loop of its own
        apart.submit(asyncio.run, send_pages(monkeypatch)).result()
    uploads = MemoryUploadedFileManager("/upload")
    for tab in ("tab", "another", "small"):
        crowd.open_tabs.admit(tab, lambda _: True, 1_000)
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
    assert config.get_option("server.maxWidgetStateSize") == 1


async def send_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages of 1.2 MB to two tabs of which one does not read, where 4 MB may wait."""
    closed: list[int] = []

    class Socket:
        headers, cookies, client = {}, {}, None
        reads = asyncio.Event()

        async def send_bytes(self, data: bytes) -> None:
            await self.reads.wait()

        async def _send(self, message: dict[str, Any]) -> None:
            closed.append(message["code"])

    lazy, prompt = StarletteSessionClient(Socket()), StarletteSessionClient(Socket())  # type: ignore[arg-type]
    tabs = [SimpleNamespace(client=lazy), SimpleNamespace(client=prompt)]
    manager = SimpleNamespace(list_active_sessions=lambda: tabs)
    monkeypatch.setattr("streamlit.runtime.get_instance", lambda: SimpleNamespace(_session_mgr=manager))
    page = ForwardMsg()
    page.delta.new_element.markdown.body = "x" * 1_200_000
    for client in (lazy, lazy, prompt):
        client.write_forward_msg(page)
    await asyncio.sleep(0)
    assert [client._send_queue.qsize() for client in (lazy, prompt)] == [1, 0], "one is being sent to each"
    assert sum(server.waiting_bytes().values()) > 3_600_000, "what is within the budget waits"
    prompt.write_forward_msg(page)
    await asyncio.sleep(0)
    assert closed == [1013]
    assert set(server.waiting_bytes()) == {prompt}
    with pytest.raises(SessionClientDisconnectedError):
        lazy.write_forward_msg(page)
    for client in (lazy, prompt):
        await client.aclose()


def test_ready_at_once_where_nothing_is_loaded_ahead() -> None:
    assert answer("/ready")[0] == 503
    server.warm_up()
    assert server.warm.wait(120)
    assert answer("/ready")[0] == 200


def test_ready_after_the_models_of_the_default_views(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATLAS_WARM", "on")
    loads: list[tuple[str, bool]] = []
    monkeypatch.setattr(checkpoints, "load", lambda slug: loads.append((slug, server.warm.is_set())), raising=False)
    server.warm_up()
    assert server.warm.wait(120)
    assert {"minilm", "atlas-bert", "atlas-gpt-2", "atlas-t5"} <= {slug for slug, _ in loads}
    assert {warm for _, warm in loads} == {False}
    assert answer("/ready")[0] == 200


def test_not_ready_while_a_default_view_lacks_its_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATLAS_WARM", "on")

    def load(slug: str) -> None:
        if slug == "minilm":
            raise checkpoints_unavailable()

    monkeypatch.setattr(checkpoints, "load", load, raising=False)
    server.warm_up()
    assert server.warm.wait(120)
    assert answer("/ready")[0] == 503
    assert server.troubles == ["It is not here."]


def test_not_ready_while_every_page_shows_an_invalid_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATLAS_MEMORY_MB", "abc")
    server.warm_up()
    assert server.warm.wait(120)
    assert answer("/ready")[0] == 503
    assert "ATLAS_MEMORY_MB takes" in server.troubles[0]


def checkpoints_unavailable() -> Exception:
    """What loading a model that is not here raises."""
    from core.errors import CheckpointUnavailable

    return CheckpointUnavailable("It is not here.")


def test_results_and_closed_tabs_leave_once_the_server_is_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    open_tabs: list[int] = [1]
    expired: list[float] = []
    moment = [0.0]
    storage = SimpleNamespace(_cache=SimpleNamespace(expire=lambda: expired.append(moment[0])))
    manager = SimpleNamespace(num_active_sessions=lambda: len(open_tabs), _session_storage=storage)
    monkeypatch.setattr("streamlit.runtime.exists", lambda: True)
    monkeypatch.setattr("streamlit.runtime.get_instance", lambda: SimpleNamespace(_session_mgr=manager))
    monkeypatch.setattr(server.time, "monotonic", lambda: moment[0])
    session.results.put("a text's result", 1)

    assert server.drop_if_idle(None) is None
    open_tabs.clear()
    since = server.drop_if_idle(None)
    moment[0] = server.IDLE - 1
    assert server.drop_if_idle(since) == since
    assert session.results.get("a text's result") == 1
    moment[0] = server.IDLE
    dropped = server.drop_if_idle(since)
    assert session.results.get("a text's result") is None
    assert expired == [moment[0]]

    moment[0] *= 3
    assert server.drop_if_idle(dropped) == dropped
    assert len(expired) == 1
    open_tabs.append(2)
    assert server.drop_if_idle(dropped) is None


def test_a_path_below_a_page_gets_a_sentence_and_a_way_home() -> None:
    status, headers, text = answer("/attention/heads", accept="text/html")
    assert (status, headers["content-type"].partition(";")[0]) == (404, "text/html")
    assert "There is no page at this address." in text
    assert '<a href="/">Home</a>' in text
    for path in ("/attention", "/static/js/index.js", "/_stcore/health", "/auth/login", "/auth/logout"):
        assert "There is no page" not in answer(path, accept="text/html")[2]
