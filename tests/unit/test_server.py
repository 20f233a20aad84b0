"""The routes for operators and the headers of every answer, asked over ASGI without a server."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
import streamlit as st
from starlette.applications import Starlette
from starlette.responses import HTMLResponse
from starlette.routing import Route

from core import checkpoints, interpreter, lazy
from core.settings import settings
from core.ui import crowd, server, streamlit_internals
from core.ui.server import access, measures, page, readiness

APP = Starlette(routes=server.routes(), middleware=server.MIDDLEWARE)


@pytest.fixture(autouse=True)
def cold(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Settings of their own for each test, and nothing warm."""
    settings.cache_clear()
    readiness.warm.clear()
    readiness.troubles.clear()
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
    monkeypatch.setattr(st, "get_option", OPTIONS.get)
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
        await access.Secured(accept)(
            {"type": "websocket", "path": "/_stcore/stream", "headers": headers}, receive, send
        )

    with ThreadPoolExecutor(1) as apart:
        apart.submit(asyncio.run, ask()).result()
    return str(sent[0])


def test_only_a_page_of_ours_or_one_that_the_host_names_opens_a_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATLAS_HOSTS", "atlas.example.org")
    options = {"server.corsAllowedOrigins": ["https://other.example.org/"], "server.enableCORS": True}
    monkeypatch.setattr(st, "get_option", options.get)
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
    monkeypatch.setattr(st, "get_option", OPTIONS.get)
    app = Starlette(routes=server.routes(), middleware=server.MIDDLEWARE)
    paths = ("/health", "/atlas/health", "/ready", "/atlas/ready", "/metrics", "/atlas/metrics", "/other/ready")
    assert [answer(path, app)[0] for path in paths] == [503, 503, 503, 503, 404, 404, 404]
    monkeypatch.setenv("ATLAS_METRICS", "on")
    settings.cache_clear()
    assert [answer(path, app)[0] for path in ("/metrics", "/atlas/metrics")] == [200, 200]


def test_a_page_that_became_part_of_another_leads_there_with_its_query(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(st, "get_option", OPTIONS.get)
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
    monkeypatch.setattr(crowd, "open_tabs", crowd.OpenTabs())
    for tab in ("left", "a", "b", "c"):
        crowd.open_tabs.admit(tab, lambda _: True, 100)
    monkeypatch.setattr(streamlit_internals, "is_open", lambda tab: tab != "left")
    measures.metrics_registry.cache_clear()
    measures.run_seconds.cache_clear()
    with measures.timed("encoder", time.perf_counter() - 100):
        pass
    for forwarded in ({"x_forwarded_for": "203.0.113.9"}, {"forwarded": "for=203.0.113.9"}):
        assert answer("/metrics", **forwarded)[0] == 404, "measures are for the inside"
    status, headers, text = answer("/metrics")
    lines = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert status == 200
    assert headers["content-type"].startswith("text/plain")
    assert float(lines["atlas_sessions"]) == 3
    assert float(lines["atlas_models_budget_bytes"]) == 510e6
    assert float(lines["atlas_waiting_runs"]) == 0
    assert float(lines['atlas_run_seconds_count{page="encoder"}']) == 1
    assert float(lines['atlas_run_seconds_sum{page="encoder"}']) >= 100, "the wait for a turn counts"
    assert float(lines["atlas_results_bytes"]) >= 0
    assert float(lines["atlas_sessions_limit"]) == 100
    assert float(lines["atlas_refused_runs"]) == crowd.open_tabs.refused


def test_ready_at_once_where_nothing_is_loaded_ahead() -> None:
    assert answer("/ready")[0] == 503
    readiness.load_default_models()
    assert answer("/ready")[0] == 200


def test_ready_after_the_models_of_the_default_views(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATLAS_WARM", "on")
    loads: list[tuple[str, bool]] = []
    monkeypatch.setattr(checkpoints, "load", lambda slug: loads.append((slug, readiness.warm.is_set())), raising=False)
    readiness.load_default_models()
    assert {"minilm", "atlas-bert", "atlas-gpt-2", "atlas-t5"} <= {slug for slug, _ in loads}
    assert {warm for _, warm in loads} == {False}
    assert answer("/ready")[0] == 200


def test_not_ready_while_a_default_view_lacks_its_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATLAS_WARM", "on")

    def load(slug: str) -> None:
        if slug == "minilm":
            raise checkpoints_unavailable()

    monkeypatch.setattr(checkpoints, "load", load, raising=False)
    readiness.load_default_models()
    assert answer("/ready")[0] == 503
    assert readiness.troubles == ["It is not here."]


def test_not_ready_while_every_page_shows_an_invalid_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATLAS_MEMORY_MB", "abc")
    readiness.load_default_models()
    assert answer("/ready")[0] == 503
    assert "ATLAS_MEMORY_MB takes" in readiness.troubles[0]


def checkpoints_unavailable() -> Exception:
    """What loading a model that is not here raises."""
    from core.errors import CheckpointUnavailable

    return CheckpointUnavailable("It is not here.")


def test_a_path_below_a_page_gets_a_sentence_and_a_way_home() -> None:
    status, headers, text = answer("/attention/heads", accept="text/html")
    assert (status, headers["content-type"].partition(";")[0]) == (404, "text/html")
    assert "There is no page at this address." in text
    assert '<a href="/">Home</a>' in text
    for path in ("/attention", "/static/js/index.js", "/_stcore/health", "/auth/login", "/auth/logout"):
        assert "There is no page" not in answer(path, accept="text/html")[2]


def test_a_page_has_the_first_style_and_script_and_no_other_answer_has() -> None:
    sent = "<html><head><title>t</title></head><body>b</body></html>"
    bare = "<p>no head</p>"
    routes = [Route("/", lambda _: HTMLResponse(sent)), Route("/bare", lambda _: HTMLResponse(bare))]
    app = Starlette(routes=routes, middleware=server.MIDDLEWARE)
    _, headers, text = answer("/", app, accept="text/html,*/*", accept_encoding="gzip")
    assert text == sent.replace("</head>", f"{page.head().decode()}</head>")
    assert (page.head().count(b"<style>"), page.head().count(b"<script>")) == (1, 1)
    assert int(headers["content-length"]) == len(text.encode())
    assert answer("/", app, accept="*/*")[2] == sent
    _, headers, text = answer("/bare", app, accept="text/html")
    assert (text, headers["content-length"]) == (bare, str(len(bare)))


@pytest.mark.parametrize(("warm", "waits"), [("off", ["first run"]), ("on", [])])
def test_models_are_imported_after_the_first_run_unless_the_host_wants_them_at_once(
    monkeypatch: pytest.MonkeyPatch, warm: str, waits: list[str]
) -> None:
    steps: list[str] = []
    monkeypatch.setenv("ATLAS_WARM", warm)
    settings.cache_clear()
    for place, name in ((server, "follow_settings"), (lazy, "import_drawing"), (lazy, "import_models")):
        monkeypatch.setattr(place, name, partial(steps.append, name))
    monkeypatch.setattr(server, "load_default_models", lambda: None)
    monkeypatch.setattr(interpreter, "settled", SimpleNamespace(wait=lambda seconds: steps.append("first run")))
    server.prepare()
    assert steps == ["follow_settings", "import_drawing", *waits, "import_models"]
