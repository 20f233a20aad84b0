"""What the server answers beside the pages: security headers on everything, and two routes for whoever operates it.

``/ready`` is true once the models of the default views are loaded, where ``ATLAS_WARM=on`` loads them at the start, so
that a load balancer sends nobody to a replica that would keep them waiting. ``/metrics`` answers Prometheus with
sessions, seconds of a run by page, and the bytes that models and results hold; ``ATLAS_METRICS=on`` opens it, and
Streamlit's own ``/_stcore/metrics``. No text of a visitor is in either.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Event, Thread
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry, Histogram
    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

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
PRIVATE = ("/metrics", "/_stcore/metrics")
"""Paths that are not there unless the host opens them."""

_warm = Event()


class Secured:
    """An ASGI layer that adds :data:`HEADERS` to each answer and hides :data:`PRIVATE` paths."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_secured(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        if scope["type"] == "http" and scope["path"].endswith(PRIVATE) and not _setting("metrics"):
            await PlainTextResponse("Not found", 404)(scope, receive, send_secured)
        else:
            await self.app(scope, receive, send_secured if scope["type"] == "http" else send)


def _setting(name: str) -> bool:
    """Whether a switch of the settings is on; False where the settings cannot be read, which the pages say."""
    from core.errors import SettingUnusable
    from core.settings import settings

    try:
        return bool(getattr(settings(), name) == "on")
    except SettingUnusable:
        return False


async def ready(request: Request) -> Response:
    """200 once the server can answer without loading a default view's model first, else 503."""
    return PlainTextResponse("ready") if _warm.is_set() else PlainTextResponse("models are loading", 503)


async def metrics(request: Request) -> Response:
    """The measures of this process in Prometheus' text format."""
    from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

    return Response(await run_in_threadpool(generate_latest, _registry()), media_type=CONTENT_TYPE_LATEST)


ROUTES = [Route("/ready", ready), Route("/metrics", metrics)]
MIDDLEWARE = [Middleware(Secured)]


def warm_up() -> None:
    """Load the models of the default views in the background where ``ATLAS_WARM=on``, then be ready."""
    Thread(target=_load_default_models, daemon=True).start()


def _load_default_models() -> None:
    from core import checkpoints
    from core.errors import AtlasError

    try:
        if not _setting("warm"):
            return
        slugs = dict.fromkeys(
            slug for place in ("attention-beside", "rounds-masked") for slug in checkpoints.first(place)
        )
        for slug in slugs:
            try:
                checkpoints.load(slug)
            except AtlasError as error:  # a model that is not here keeps nobody from the others
                logging.getLogger("atlas").warning(str(error))
    finally:
        _warm.set()


@contextmanager
def timed(page: str) -> Iterator[None]:
    """Count a run of ``page`` and its seconds, where the host wants metrics."""
    if not _setting("metrics"):
        yield
        return
    start = time.perf_counter()
    try:
        yield
    finally:
        _seconds().labels(page).observe(time.perf_counter() - start)


@cache
def _registry() -> CollectorRegistry:
    from prometheus_client import CollectorRegistry, Gauge, ProcessCollector
    from streamlit.runtime import get_instance

    from core.checkpoints import memory
    from core.settings import settings
    from core.turns import turns

    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    for name, text, value in (
        ("sessions", "Open tabs", lambda: get_instance()._session_mgr.num_active_sessions()),
        ("models_loaded", "Models in memory", lambda: len(memory.loaded())),
        ("models_bytes", "Memory of loaded models", memory.bytes_used),
        ("models_budget_bytes", "Memory that models may share", lambda: settings().model_bytes),
        ("waiting_runs", "Runs of pages that wait for a turn to compute", lambda: turns.waiting),
        ("results_bytes", "Memory of stored results", _results_bytes),
    ):
        Gauge(f"atlas_{name}", text, registry=registry).set_function(value)
    return registry


def _results_bytes() -> int:
    session = sys.modules.get("core.session")
    return session.results.bytes_used if session else 0


@cache
def _seconds() -> Histogram:
    from prometheus_client import Histogram

    return Histogram(
        "atlas_run_seconds",
        "Seconds of one run of a page",
        ["page"],
        registry=_registry(),
        buckets=(0.05, 0.1, 0.2, 0.4, 0.8, 1.5, 3, 6, 12, 30),
    )
