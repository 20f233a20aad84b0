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
from contextlib import suppress
from typing import Any

from pydantic import ValidationError

from core.checkpoints.spec import Part
from core.engine import checkpoint
from core.engine.tasks import TASKS, Failure, Reply, Task, name_of
from core.errors import AtlasError, EngineUnavailable
from core.language.fill_mask import fill_mask, predict_together
from core.settings import ROOT
from core.turns import turns

BATCHED = {name_of(fill_mask): predict_together}
"""Tasks that a batch computes at once, and the function for a batch: model and arguments of each to results."""
END = b"\n"
"""The line that ends an answer."""


class _Gone(BaseException):
    """The client has closed the connection."""


def answer(name: str, message: bytes, gone: threading.Event) -> Iterator[bytes]:
    """The lines of the response to a call of the task ``name``. Setting ``gone`` ends the computation."""

    def check() -> None:
        if gone.is_set():
            raise _Gone

    try:
        with turns.run(check):
            task, slug, part, arguments = _read(name, message)
            result = task.compute(checkpoint(slug, part), **arguments)
            for outcome in result if isinstance(result, Iterator) else (result,):
                check()
                yield line(task.reply(outcome=outcome))
    except _Gone:
        return
    except AtlasError as error:
        yield line(Reply(outcome=Failure(error=type(error).__name__, sentence=str(error))))
    except Exception:
        logging.getLogger("atlas").exception("A task failed")
        sentence = "The model engine failed at this. Its log says why."
        yield line(Reply(outcome=Failure(error=EngineUnavailable.__name__, sentence=sentence)))
    finally:
        yield END


def answer_together(requests: Sequence[tuple[str, bytes]]) -> list[bytes]:
    """The responses to requests for tasks of `BATCHED`, each the task's name and a message: one call of the model for
    all, or one by one where that fails."""
    answers: dict[int, bytes] = {}
    groups: dict[tuple[str, str, Part | None], dict[int, tuple[Any, ...]]] = defaultdict(dict)
    for number, request in enumerate(requests):
        with suppress(AtlasError):  # answered below, as what fails here
            task, slug, part, arguments = _read(*request)
            groups[task.name, slug, part][number] = tuple(arguments.values())
    for (name, slug, part), calls in groups.items():
        with suppress(Exception), turns.run():
            outcomes = BATCHED[name](checkpoint(slug, part), list(calls.values()))
            lines = (line(TASKS[name].reply(outcome=outcome)) + END for outcome in outcomes)
            answers |= dict(zip(calls, lines, strict=True))
    return [answers.get(i) or b"".join(answer(*request, threading.Event())) for i, request in enumerate(requests)]


def _read(name: str, message: bytes) -> tuple[Task, str, Part | None, dict[str, Any]]:
    """The task, the checkpoint's slug and part, and the arguments."""
    if name not in TASKS:
        raise EngineUnavailable("The model engine has no such task. It may run another version than the app.")
    try:
        arguments = dict(TASKS[name].call.model_validate_json(message))
    except ValidationError:
        raise EngineUnavailable("The model engine cannot read this request of the app.") from None
    return TASKS[name], arguments.pop("slug"), arguments.pop("part"), arguments


def line(reply: Reply) -> bytes:
    return reply.model_dump_json().encode() + b"\n"


class Engine:
    """A replica: answers requests over HTTP, as many at a time as it has ``threads``."""

    def __init__(self, threads: int, batch: int, wait: float) -> None:
        """Up to ``batch`` requests of `BATCHED` that arrive within ``wait`` seconds share a pass; 1 turns that off."""
        self._threads = ThreadPoolExecutor(threads)
        self._together = None
        if batch > 1:
            from ray import serve

            async def together(calls: list[tuple[str, bytes]]) -> list[bytes]:
                return await asyncio.get_running_loop().run_in_executor(self._threads, answer_together, calls)

            self._together = serve.batch(max_batch_size=batch, batch_wait_timeout_s=wait)(together)

    async def __call__(self, request: Any) -> Any:
        """Answer one request (Starlette's)."""
        from starlette.responses import Response, StreamingResponse

        name, message = request.url.path.rpartition("/")[2], await request.body()
        if self._together is not None and name in BATCHED:
            return Response(await self._together((name, message)))
        return StreamingResponse(self._lines(name, message))

    async def _lines(self, name: str, message: bytes) -> AsyncIterator[bytes]:
        """The lines of :func:`answer`, computed in another thread."""
        loop, gone = asyncio.get_running_loop(), threading.Event()
        lines: asyncio.Queue[bytes] = asyncio.Queue()

        def compute() -> None:
            for frame in answer(name, message, gone):
                loop.call_soon_threadsafe(lines.put_nowait, frame)

        try:
            running = loop.run_in_executor(self._threads, compute)
            while (frame := await lines.get()) != END:
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
