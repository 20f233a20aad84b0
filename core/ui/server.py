"""The server around the pages: security headers on every response, routes for operators, and limits.

A request whose ``Host`` names another machine is refused: a foreign page could otherwise read a local Atlas by
resolving its own name to 127.0.0.1 (DNS rebinding). ``ATLAS_HOSTS`` lists the names that are accepted.

``/health`` returns 200 while the server accepts browsers. ``/ready`` returns 200 once the models of the default views
are loaded, which ``ATLAS_WARM=on`` does at the start; a load balancer then routes nobody to a replica that still loads
them, that lacks one, or whose settings are invalid. ``/metrics`` reports to Prometheus the sessions, their limit, the
seconds of a run by page, and the bytes of models, results and files; ``ATLAS_METRICS=on`` opens it and Streamlit's own
``/_stcore/metrics``, but not to requests that a proxy forwards. None of them contains a visitor's text.
"""

from __future__ import annotations

import asyncio
import html
import ipaddress
import logging
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.websockets import WebSocketClose
from streamlit import config, file_util

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry, Histogram
    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send
    from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
    from streamlit.runtime.uploaded_file_manager import UploadedFileRec, UploadFileUrlInfo

# Modules of ours are imported where they are used: the server answers sooner without them.

# Streamlit's client writes styles and compiles functions for its charts; the pages of bertviz are data: frames with
# scripts of their own. Nothing may come from, or go to, another host.
POLICY = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self' 'unsafe-inline' 'unsafe-eval' 'wasm-unsafe-eval' blob:",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "font-src 'self' data:",
        "connect-src 'self' data: blob:",
        "worker-src 'self' blob:",
        "frame-src 'self' data: blob:",
        "frame-ancestors 'self'",
        "object-src 'none'",
        "base-uri 'self'",
        "form-action 'self'",
    )
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
}
_ASSETS = Path(__file__).parents[2] / "assets"
_SCRIPTS = (
    *("Html", "StreamlitMarkdown", "ButtonGroup", "Selectbox", "BidiComponent", "Button", "TextArea", "TextInput"),
    *("Checkbox", "NumberInput", "PageLink", "MenuButton", "Tooltip", "IFrame"),
)
"""Streamlit's scripts for what most pages draw. It would ask for each only when it draws the first of its kind, over a
placeholder of another height."""
PRIVATE = ("/metrics", "/_stcore/metrics")
"""Paths that answer 404 unless the host opens them."""
_FILES = ("static", "media", "component", "vendor", "app", "auth")
"""First parts of Streamlit's paths of files and of a log-in, beside those that begin with an underscore."""
_FORWARDED = {b"forwarded", b"x-forwarded-for", b"x-real-ip"}
"""Headers of a request that came through a proxy."""

warm = Event()
"""Set once the models of the default views are loaded, or once that has failed."""
troubles: list[str] = []
"""Why the default views do not work, for the operator: no visitor's text is in it."""
_UPLOADS = 4
"""Uploaded files that the server keeps for one tab, and names that a tab may announce at once."""
IDLE = 600.0
"""Seconds for which no tab is open before the server returns what visitors left."""
PAGE_MB = 250
"""Megabytes of a message to a browser: more than any page that the settings allow has."""
_LARGE = 100_000
"""Bytes from which a message to a browser counts against the budget."""


class _SendQueue(asyncio.Queue[bytes]):
    """The messages that wait for one browser; counts the one that is being sent, too."""

    sending = 0
    """Its bytes."""

    async def get(self) -> bytes:
        self.sending = 0
        message = await super().get()
        self.sending = len(message)
        return message


def _refusal() -> PlainTextResponse:
    """The response to a foreign ``Host``; content is imported only here, so that the server starts sooner."""
    from core.content import content

    return PlainTextResponse(content("frame", "links").part("Other host"), 421)


class Secured:
    """ASGI middleware: adds :data:`HEADERS` to responses, hides :data:`PRIVATE` paths, refuses foreign hosts."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        grown, plain = (
            False,
            scope["type"] == "http" and b"text/html" in dict(scope.get("headers", ())).get(b"accept", b""),
        )
        if plain:
            # A page is asked for: it is sent uncompressed, so that it can be added to.
            scope = {
                **scope,
                "headers": [(name, value) for name, value in scope["headers"] if name != b"accept-encoding"],
            }

        async def send_secured(message: Message) -> None:
            nonlocal grown
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                if headers.get("content-type", "").startswith("text/html") and "content-length" in headers and plain:
                    # Streamlit's only page; a file of a few kB, sent in one piece.
                    grown = True
                    headers["content-length"] = str(int(headers["content-length"]) + len(_head()))
            elif grown and b"</head>" in message.get("body", b""):
                message["body"] = message["body"].replace(b"</head>", _head() + b"</head>", 1)
            await send(message)

        headers = dict(scope.get("headers", ()))
        host, origin = (headers.get(name, b"").decode("latin-1") for name in (b"host", b"origin"))
        answers = _answers_to(host) and (scope["type"] != "websocket" or _may_connect(origin, host))
        if scope["type"] in ("http", "websocket") and not answers:
            # ASGI turns a WebSocket that is closed before it opens into a response with status 403.
            refused = _refusal() if scope["type"] == "http" else WebSocketClose()
            await refused(scope, receive, send_secured)
        elif scope["type"] == "http" and scope["path"].endswith(PRIVATE) and not _may_measure(scope):
            await PlainTextResponse("Not found", 404)(scope, receive, send_secured)
        elif plain and _is_below_a_page(scope["path"]):
            await _no_page()(scope, receive, send_secured)
        else:
            await self.app(scope, receive, send_secured if scope["type"] == "http" else send)


def _is_below_a_page(path: str) -> bool:
    """Whether a path has a part more than any page: Streamlit would answer with its own page, whose scripts are named
    relative to the path, so it would stay blank."""
    prefix = (config.get_option("server.baseUrlPath") or "").strip("/")
    parts = path.strip("/").removeprefix(prefix).strip("/").split("/")
    return len(parts) > 1 and not parts[0].startswith(("_", "~")) and parts[0] not in _FILES


def _no_page() -> HTMLResponse:
    """The response to a path that is no page's, with a link to Home."""
    from core.content import content

    words = content("frame", "links")
    home = f"/{(config.get_option('server.baseUrlPath') or '').strip('/')}"
    link = f'<a href="{html.escape(home)}">{html.escape(words.label("home"))}</a>'
    text = html.escape(words.part("No page"))
    return HTMLResponse(f'<!doctype html><html lang="en"><title>404</title><p>{text} {link}</p></html>', 404)


def _may_connect(origin: str, host: str) -> bool:
    """Whether a page of this ``Origin`` may open a session: ours, or one that the host names in
    ``server.corsAllowedOrigins``. Streamlit would let in every port of this machine, another user's included. No
    browser omits the header."""
    try:
        own = urlsplit(origin).netloc.lower() == host.lower()
    except ValueError:
        return False
    named = (str(name).strip().rstrip("/") for name in config.get_option("server.corsAllowedOrigins") or ())
    return not origin or own or origin in named or not config.get_option("server.enableCORS")


def _may_measure(scope: Scope) -> bool:
    """Whether the host opened the measures, and the request comes from inside: a proxy to the outside names whom it
    forwards for, Prometheus asks each process itself."""
    return _setting("metrics") == "on" and not _FORWARDED & dict(scope.get("headers", ())).keys()


@cache
def _head() -> bytes:
    """What a browser has to know before the first run answers, so that nothing moves then: the measures of the frame,
    the width that the sidebar takes, and the scripts that it will need. What follows an element whose script is on its
    way stays unseen until its place is known. And our script, which must hear Back before Streamlit's do."""
    scripts = Path(file_util.get_static_dir(), "static", "js")
    names = [path.name for script in _SCRIPTS for path in scripts.glob(f"{script}.*.js")]
    links = "".join(f'<link rel="modulepreload" crossorigin href="./static/js/{name}">\n' for name in names)
    layout, draft = ((_ASSETS / path).read_text(encoding="utf-8") for path in ("styles/first.css", "scripts/draft.js"))
    return f"<style>\n{layout}</style>\n{links}<script>\n{draft}</script>\n".encode()


def _answers_to(host: str) -> bool:
    """Whether requests for this ``Host`` are accepted: IP addresses and localhost always, names by ``ATLAS_HOSTS``.

    Only a name can be resolved to another address. No browser omits the header.
    """
    try:
        name = (urlsplit(f"//{host}").hostname or "").rstrip(".")
    except ValueError:
        return False
    if not host or name == "localhost" or name.endswith(".localhost") or _is_address(name):
        return True
    hosts = _setting("hosts")
    if not hosts:
        return not _is_loopback(config.get_option("server.address"))
    patterns = hosts.lower().replace(",", " ").split()
    return any(name == pattern or (pattern.startswith("*") and name.endswith(pattern[1:])) for pattern in patterns)


def _is_address(name: str) -> bool:
    try:
        return bool(ipaddress.ip_address(name))
    except ValueError:
        return False


def _is_loopback(address: str | None) -> bool:
    """Whether the server listens on this machine only; without an address it listens on all interfaces."""
    return address == "localhost" or (
        address is not None and _is_address(address) and ipaddress.ip_address(address).is_loopback
    )


def _setting(name: str) -> str | None:
    """The value of a setting; None if the settings are invalid, which the pages report."""
    from core.errors import SettingUnusable
    from core.settings import settings

    try:
        value: str | None = getattr(settings(), name)
    except SettingUnusable:
        return None
    return value


async def health(request: Request) -> Response:
    """200 while the server takes browsers, else 503."""
    from streamlit.runtime import exists, get_instance

    healthy, answer = await get_instance().is_ready_for_browser_connection if exists() else (False, "unavailable")
    return PlainTextResponse(answer, 200 if healthy else 503)


async def ready(request: Request) -> Response:
    """200 once the server can answer without loading a default view's model first, else 503 and why."""
    if not warm.is_set():
        return PlainTextResponse("models are loading", 503)
    return PlainTextResponse("\n".join(troubles), 503) if troubles else PlainTextResponse("ready")


async def metrics(request: Request) -> Response:
    """The measures of this process in Prometheus' text format."""
    from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

    return Response(await run_in_threadpool(generate_latest, metrics_registry()), media_type=CONTENT_TYPE_LATEST)


def moved(request: Request) -> Response:
    """Where the page of an old link is today, with its query."""
    from core.links import current

    page, query = current(request.url.path.rsplit("/", 1)[1], dict(request.query_params))
    return RedirectResponse(f"{page}?{urlencode(query)}")


def routes() -> list[Route]:
    """The routes for operators and those of pages that are part of another one today, with and without
    ``server.baseUrlPath``: a proxy adds it, a probe need not know it."""
    from core.links import former_pages

    prefix = (config.get_option("server.baseUrlPath") or "").strip("/")
    bases = {"", f"/{prefix}" if prefix else ""}
    answers = {"health": health, "ready": ready, "metrics": metrics} | dict.fromkeys(former_pages(), moved)
    return [Route(f"{base}/{path}", answer) for base in bases for path, answer in answers.items()]


MIDDLEWARE = [Middleware(Secured)]


def warm_up() -> None:
    """Load the models of the default views in the background if ``ATLAS_WARM=on``; then ``/ready`` answers 200."""
    Thread(target=_load_default_models, daemon=True).start()


def _load_default_models() -> None:
    from core import checkpoints
    from core.errors import AtlasError, SettingUnusable
    from core.settings import settings

    troubles.clear()
    try:
        slugs = dict.fromkeys(
            slug for section in ("home", "transformer-beside", "fine-tuning") for slug in checkpoints.first(section)
        )
        for slug in slugs if settings().warm == "on" else ():
            try:
                checkpoints.load(slug)
            except AtlasError as error:
                troubles.append(str(error))
    except SettingUnusable as error:  # no page works
        troubles.append(str(error))
    finally:
        for trouble in troubles:
            logging.getLogger("atlas").warning(trouble)
        warm.set()


def return_memory_when_idle() -> None:
    """Drop results and closed tabs each time that no tab has been open for :data:`IDLE` seconds; models stay loaded.

    Otherwise both would stay until the next visitor comes, since they expire when something is stored beside them.
    """

    def watch() -> None:
        idle_since: float | None = None
        while True:
            time.sleep(IDLE / 10)
            idle_since = drop_if_idle(idle_since)

    Thread(target=watch, daemon=True).start()


def drop_if_idle(idle_since: float | None) -> float | None:
    """When the server became idle: ``inf`` after its memory was returned, ``None`` while a tab is open."""
    from streamlit.runtime import exists, get_instance

    if not exists() or get_instance()._session_mgr.num_active_sessions():
        return None
    now = time.monotonic()
    if idle_since is None or now - idle_since < IDLE:
        return now if idle_since is None else idle_since
    from core import interpreter
    from core.session import results

    results.clear()
    get_instance()._session_mgr._session_storage._cache.expire()  # type: ignore[attr-defined]
    interpreter.collect_all()
    return float("inf")


def leave_texts_out_of_logs() -> None:
    """Log an exception as its type and traceback only: its message may contain a visitor's text."""
    make = logging.getLogRecordFactory()

    def record(*words: object, **named: object) -> logging.LogRecord:
        entry = make(*words, **named)
        if entry.exc_info and entry.exc_info[1]:
            entry.exc_text = _without_message(entry.exc_info[1])
        return entry

    logging.setLogRecordFactory(record)


def _without_message(error: BaseException) -> str:
    """The traceback of an exception and of its causes, ready for a log formatter."""
    earlier = error.__cause__ or error.__context__
    before = f"{_without_message(earlier)}\nthen\n" if earlier else ""
    return f"{before}{''.join(traceback.format_tb(error.__traceback__))}{type(error).__qualname__}"


@contextmanager
def timed(page: str, begun: float) -> Iterator[None]:
    """Record a run of ``page`` and its seconds since ``begun``, waiting included, if the host collects metrics.

    ``begun`` is a reading of ``time.perf_counter``.
    """
    if _setting("metrics") != "on":
        yield
        return
    try:
        yield
    finally:
        run_seconds().labels(page).observe(time.perf_counter() - begun)


@cache
def metrics_registry() -> CollectorRegistry:
    from prometheus_client import CollectorRegistry, Gauge, ProcessCollector
    from streamlit.runtime import get_instance

    from core.checkpoints import memory
    from core.settings import settings
    from core.turns import turns
    from core.ui.crowd import open_tabs

    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    for name, text, value in (
        ("sessions", "Open tabs", lambda: get_instance()._session_mgr.num_active_sessions()),
        ("sessions_limit", "Tabs that may be open", lambda: settings().max_sessions),
        ("refused_runs", "Runs of pages that found all tabs taken", lambda: open_tabs.refused),
        ("models_loaded", "Models in memory", lambda: len(memory.loaded())),
        ("models_bytes", "Memory of loaded models", memory.bytes_used),
        ("models_budget_bytes", "Memory that models may share", lambda: settings().model_bytes),
        ("waiting_runs", "Runs of pages that wait for a turn to compute", lambda: turns.waiting),
        ("results_bytes", "Memory of stored results", _results_bytes),
        ("media_bytes", "Memory of files to download", _media_bytes),
        ("pages_bytes", "Memory of pages on their way to a browser", lambda: sum(waiting_bytes().values())),
        (
            "media_budget_bytes",
            "Memory that files to download may take, and as much for pages",
            lambda: settings().media_bytes,
        ),
    ):
        Gauge(f"atlas_{name}", text, registry=registry).set_function(value)
    return registry


def keep_waiting_values() -> None:
    """Let a widget's value that waits for a run survive a click on another page, whose request lacks it.

    Streamlit merges the requests that wait. Of the widgets that the later one lacks, it keeps only clicks.
    """
    from streamlit.proto.WidgetStates_pb2 import WidgetStates
    from streamlit.runtime.scriptrunner_utils import script_requests

    merge = script_requests._coalesce_widget_states

    def merged(old: WidgetStates | None, new: WidgetStates | None) -> WidgetStates | None:
        both = merge(old, new)
        if old and new and both:
            there = {state.id for state in both.widgets}
            lacking = (state for state in old.widgets if state.id not in there)
            both.widgets.extend(
                s for s in lacking if s.WhichOneof("value") not in script_requests._TRIGGER_PROTO_FIELDS
            )
        return both

    script_requests._coalesce_widget_states = merged  # type: ignore[assignment]


def follow_limits() -> None:
    """Apply our limits to what Streamlit stores: uploads, files to download, messages that wait to be sent.

    Uploads are bounded in size and in number per tab, since any tab can send files that no control requested; a tab
    that never ran a page has none. If all together exceed the files' share of the memory budget, the tab with the most
    loses its oldest. If a new file to download exceeds that share, the oldest are deleted; a page offers its own in its
    next run. If the messages that wait or are being sent exceed their share, the tabs with the longest queues are
    disconnected, since they do not read; their browsers reconnect and request the page again. A single message may be
    larger than the share.
    """
    from streamlit.runtime import runtime_util
    from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage
    from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
    from streamlit.web.server.starlette.starlette_websocket import StarletteSessionClient

    from core.settings import settings
    from core.ui.crowd import open_tabs

    config.set_option("server.maxMessageSize", PAGE_MB)
    runtime_util._max_message_size_bytes = None  # the server has read what a browser may say
    largest = max(settings().max_upload_kb, settings().max_corpus_kb)
    config.set_option("server.maxUploadSize", -(-largest // 1_024))
    store, send = MemoryMediaFileStorage.load_and_get_id, StarletteSessionClient.write_forward_msg
    connect, add = StarletteSessionClient.__init__, MemoryUploadedFileManager.add_file
    announce = MemoryUploadedFileManager.get_upload_urls

    def add_one_of_few(manager: MemoryUploadedFileManager, session_id: str, file: UploadedFileRec) -> None:
        if session_id not in open_tabs:
            return
        add(manager, session_id, file)
        for old in list(manager.file_storage[session_id])[:-_UPLOADS]:
            manager.remove_file(session_id, old)
        while excess(manager) > 0 and (oldest := oldest_of_the_largest(manager, file)) is not None:
            manager.remove_file(*oldest)

    def excess(manager: MemoryUploadedFileManager) -> int:
        return sum(map(_size, list(manager.file_storage.values()))) - settings().media_bytes

    def oldest_of_the_largest(manager: MemoryUploadedFileManager, new: UploadedFileRec) -> tuple[str, str] | None:
        """The tab that holds the most, and its oldest file; a new file stays."""
        tabs = sorted(manager.file_storage.items(), key=lambda tab: -_size(tab[1]))
        return next(((tab, name) for tab, files in tabs for name, file in list(files.items()) if file is not new), None)

    def announce_few(
        manager: MemoryUploadedFileManager, session_id: str, names: Sequence[str]
    ) -> list[UploadFileUrlInfo]:
        return announce(manager, session_id, names[:_UPLOADS])

    def store_within_budget(storage: MemoryMediaFileStorage, *given: Any, **named: Any) -> str:
        name = store(storage, *given, **named)
        files = storage._files_by_id
        files[name] = files.pop(name)
        excess = sum(file.content_size for file in files.values()) - settings().media_bytes
        for old in list(files)[:-1]:
            if excess <= 0:
                break
            excess -= files.pop(old).content_size
        return name

    def connect_counted(client: StarletteSessionClient, *given: object, **named: object) -> None:
        connect(client, *given, **named)
        client._send_queue = _SendQueue(client._send_queue.maxsize)  # its reader has not begun

    def send_within_budget(client: StarletteSessionClient, message: ForwardMsg) -> None:
        send(client, message)
        queue = client._send_queue
        if queue.empty() or len(queue._queue[-1]) < _LARGE:  # type: ignore[attr-defined]
            return
        waiting = waiting_bytes()
        while sum(waiting.values()) > settings().media_bytes:
            behind = max(waiting, key=waiting.__getitem__)
            if len(waiting) == 1 and behind._send_queue.qsize() <= 1:
                return
            del waiting[behind]
            _disconnect(behind)

    StarletteSessionClient.__init__ = connect_counted  # type: ignore[assignment, method-assign]
    MemoryUploadedFileManager.add_file = add_one_of_few  # type: ignore[assignment, method-assign]
    MemoryUploadedFileManager.get_upload_urls = announce_few  # type: ignore[assignment, method-assign]
    MemoryMediaFileStorage.load_and_get_id = store_within_budget  # type: ignore[assignment, method-assign]
    StarletteSessionClient.write_forward_msg = send_within_budget  # type: ignore[assignment, method-assign]


def _size(files: dict[str, UploadedFileRec]) -> int:
    return sum(len(file.data) for file in list(files.values()))


def waiting_bytes() -> dict[Any, int]:
    """Bytes of messages that wait to be sent or are being sent, by connection; only connections with any."""
    from streamlit.runtime import get_instance

    clients: list[Any] = [info.client for info in get_instance()._session_mgr.list_active_sessions()]
    waiting = {
        client: sum(map(len, list(queue._queue))) + getattr(queue, "sending", 0)
        for client in clients
        for queue in [client._send_queue]
    }
    return {client: size for client, size in waiting.items() if size}


def _disconnect(client: Any) -> None:
    """Discard a connection's queue and close it so that its browser reconnects."""
    client._closed.set()
    client._send_queue._queue.clear()
    client._send_queue.sending = 0

    async def close() -> None:
        client._sender_task.cancel()  # it holds what is being sent
        with suppress(Exception):  # it may be gone
            await client._websocket._send({"type": "websocket.close", "code": 1013})  # try again later

    client._sender_task.get_loop().create_task(close())


def _media_bytes() -> int:
    """Bytes of all files that pages offer for download."""
    from streamlit.runtime import get_instance

    files = get_instance().media_file_mgr._storage._files_by_id  # type: ignore[attr-defined]
    return sum(file.content_size for file in list(files.values()))


def _results_bytes() -> int:
    session = sys.modules.get("core.session")
    return session.results.bytes_used if session else 0


@cache
def run_seconds() -> Histogram:
    from prometheus_client import Histogram

    return Histogram(
        "atlas_run_seconds",
        "Seconds of one run of a page",
        ["page"],
        registry=metrics_registry(),
        buckets=(0.05, 0.1, 0.2, 0.4, 0.8, 1.5, 3, 6, 12, 30),
    )
