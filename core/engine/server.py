"""The engine: computes requests with this process's own models, and its deployment by Ray Serve.

Each replica is a process. Requests for a masked word that arrive within some milliseconds share a forward pass
(`serve.batch`, for the tasks of `BATCHED`). A request whose connection is closed ends at its next forward pass, which
is a step of its turn (`core.turns`).
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import Any

from core.engine import TASKS, checkpoint
from core.engine.messages import decode, encode
from core.errors import AtlasError, EngineUnavailable
from core.settings import ROOT
from core.turns import turns

BATCHED = {"core.language.fill_mask:predict": "core.language.fill_mask:predict_together"}
"""Tasks that a batch computes at once, and the function for a batch: model and arguments of each to results."""
END = bytes(8)
"""The frame that ends an answer."""


class _Gone(BaseException):
    """The client has closed the connection."""


def answer(body: bytes, gone: threading.Event) -> Iterator[bytes]:
    """The frames of the response to a request. Setting ``gone`` ends the computation."""

    def check() -> None:
        if gone.is_set():
            raise _Gone

    try:
        with turns.run(check):
            task, slug, part, args, kwargs = _request(body)
            result = _function(task)(checkpoint(slug, part), *args, **kwargs)
            for value in result if isinstance(result, Iterator) else (result,):
                check()
                yield framed("value", value)
    except _Gone:
        return
    except AtlasError as error:
        yield framed("error", type(error).__name__, str(error))
    except Exception:
        logging.getLogger("atlas").exception("A task failed")
        yield framed("error", EngineUnavailable.__name__, "The model engine failed at this. Its log says why.")
    finally:
        yield END


def answer_together(bodies: Sequence[bytes]) -> list[bytes]:
    """The responses to requests for tasks of `BATCHED`: one call for each model, or one by one where that fails."""
    answers: dict[int, bytes] = {}
    groups: dict[tuple[str, str, Any], list[tuple[int, Any]]] = defaultdict(list)
    for number, body in enumerate(bodies):
        task, slug, part, args, kwargs = _request(body)
        if not kwargs:
            groups[task, slug, part].append((number, args))
    for (task, slug, part), calls in groups.items():
        try:
            with turns.run():
                results = _function(BATCHED[task])(checkpoint(slug, part), [args for _, args in calls])
        except Exception:  # computed one by one below, each with its own error  # noqa: S112
            continue
        answers |= {number: framed("value", value) + END for (number, _), value in zip(calls, results, strict=True)}
    return [answers.get(i) or b"".join(answer(body, threading.Event())) for i, body in enumerate(bodies)]


def _request(body: bytes) -> tuple[str, str, Any, tuple[Any, ...], dict[str, Any]]:
    try:
        task, slug, part, args, kwargs = decode(body)
    except (ValueError, TypeError):
        task = slug = part = args = kwargs = None
    if not isinstance(task, str) or task not in TASKS:
        raise EngineUnavailable("The model engine has no such task. It may run another version than the app.")
    return task, slug, part, args, kwargs


def _function(task: str) -> Any:
    module, _, name = task.partition(":")
    return getattr(import_module(module), name)


def framed(*content: object) -> bytes:
    message = encode(content)
    return len(message).to_bytes(8) + message


class Engine:
    """A replica: answers requests over HTTP, as many at a time as it has ``threads``."""

    def __init__(self, threads: int, batch: int, wait: float) -> None:
        """Up to ``batch`` requests of `BATCHED` that arrive within ``wait`` seconds share a pass; 1 turns that off."""
        self._threads = ThreadPoolExecutor(threads)
        self._together = None
        if batch > 1:
            from ray import serve

            async def together(bodies: list[bytes]) -> list[bytes]:
                return await asyncio.get_running_loop().run_in_executor(self._threads, answer_together, bodies)

            self._together = serve.batch(max_batch_size=batch, batch_wait_timeout_s=wait)(together)

    async def __call__(self, request: Any) -> Any:
        """Answer one request (Starlette's)."""
        from starlette.responses import Response, StreamingResponse

        body = await request.body()
        try:
            batched = self._together is not None and _request(body)[0] in BATCHED
        except AtlasError:
            batched = False
        if batched and self._together is not None:
            return Response(await self._together(body))
        return StreamingResponse(self._frames(body))

    async def _frames(self, body: bytes) -> AsyncIterator[bytes]:
        """The frames of :func:`answer`, computed in another thread."""
        loop, gone = asyncio.get_running_loop(), threading.Event()
        frames: asyncio.Queue[bytes] = asyncio.Queue()

        def compute() -> None:
            for frame in answer(body, gone):
                loop.call_soon_threadsafe(frames.put_nowait, frame)

        try:
            running = loop.run_in_executor(self._threads, compute)
            while (frame := await frames.get()) != END:
                yield frame
            yield END
            await running
        finally:
            gone.set()


def deploy(
    *, replicas: int, most: int, cpus: float, batch: int, wait: float, host: str, port: int, address: str | None
) -> Any:
    """Start the engine on this machine, or on the Ray cluster at ``address``; returns its handle.

    Args:
        replicas: their number; where ``most`` is larger, Serve adds up to ``most`` while requests wait.
        cpus: processors that Ray reserves for each replica.
        batch: the most requests in one forward pass; 1 turns batching off.
        wait: seconds that a request waits for others.

    Raises:
        EngineUnavailable: Ray is not installed.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # no request leaves the machine
    try:
        import ray
        from ray import serve
    except ImportError:
        raise EngineUnavailable("Ray is not installed: pip install -r requirements-ray.txt") from None
    threads = max(16, 2 * batch)
    here: dict[str, Any] = {} if address else {"include_dashboard": False, "object_store_memory": 256 * 2**20}
    ray.init(
        address=address or "local",
        runtime_env={"env_vars": {"PYTHONPATH": str(ROOT)}},
        **here,
    )
    serve.start(proxy_location="EveryNode", http_options={"host": host, "port": port})
    scaled: dict[str, Any] = {"num_replicas": replicas}
    if most > replicas:
        ongoing = {"target_ongoing_requests": max(2, batch)}
        scaled = {"autoscaling_config": {"min_replicas": replicas, "max_replicas": most, **ongoing}}
    deployment = serve.deployment(
        Engine, name="engine", max_ongoing_requests=threads, ray_actor_options={"num_cpus": cpus}, **scaled
    )
    return serve.run(deployment.bind(threads, batch, wait), name="atlas")
