"""What ``/metrics`` reports to Prometheus: open tabs and their limit, runs that wait, the seconds of a run by page, and
the bytes of models and results. ``ATLAS_METRICS=on`` opens it, and Streamlit's own ``/_stcore/metrics``, which has the
bytes of uploads and files to download. None of it contains a visitor's text.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from core.ui.server.access import setting

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry, Histogram
    from starlette.requests import Request


async def metrics(request: Request) -> Response:
    """The measures of this process in Prometheus' text format."""
    from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

    return Response(await run_in_threadpool(generate_latest, metrics_registry()), media_type=CONTENT_TYPE_LATEST)


@contextmanager
def timed(page: str, begun: float) -> Iterator[None]:
    """Record a run of ``page`` and its seconds since ``begun``, waiting included, if the host collects metrics.

    ``begun`` is a reading of ``time.perf_counter``.
    """
    if setting("metrics") != "on":
        yield
        return
    try:
        yield
    finally:
        run_seconds().labels(page).observe(time.perf_counter() - begun)


@cache
def metrics_registry() -> CollectorRegistry:
    from prometheus_client import CollectorRegistry, Gauge, ProcessCollector

    from core.checkpoints import memory
    from core.settings import settings
    from core.turns import turns
    from core.ui.crowd import open_tabs
    from core.ui.streamlit_internals import is_open

    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    for name, text, value in (
        ("sessions", "Open tabs that have a place", lambda: open_tabs.count(is_open)),
        ("sessions_limit", "Tabs that may be open", lambda: settings().max_sessions),
        ("refused_runs", "Runs of pages that found all tabs taken", lambda: open_tabs.refused),
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
def run_seconds() -> Histogram:
    from prometheus_client import Histogram

    return Histogram(
        "atlas_run_seconds",
        "Seconds of one run of a page",
        ["page"],
        registry=metrics_registry(),
        buckets=(0.05, 0.1, 0.2, 0.4, 0.8, 1.5, 3, 6, 12, 30),
    )
