"""Sends a task to the engine: one HTTP request to the path of its name, whose response is a sequence of lines.

A line is a message of the task, one for each step of a generation; an empty line ends the response. While a page run
waits, other runs use its turn; when its visitor leaves or makes a newer request, the connection is closed, and the
engine ends the computation.
"""

from __future__ import annotations

import http.client
import socket
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from inspect import signature
from typing import Any
from urllib.parse import urlsplit

from pydantic import ValidationError

from core.checkpoints.spec import Part
from core.engine.tasks import ERRORS, Failure, Task
from core.errors import AtlasError, EngineUnavailable
from core.settings import settings
from core.turns import turns

CONNECT = 5.0
"""Seconds to wait for a connection before the engine counts as unavailable."""
SILENCE = 600.0
"""Seconds without a byte before a computation is abandoned."""
_readers = ThreadPoolExecutor(256, "engine")
"""Threads that wait for the network; each request has one."""


def results(
    task: Task, slug: str, part: Part | None, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Iterator[Any]:
    """The result of ``task`` with these arguments, or each of its steps.

    Raises:
        AtlasError: what the task raised, or EngineUnavailable.
    """
    address = urlsplit(settings().engine_url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=CONNECT)
    _, *arguments = signature(task.compute).bind(None, *args, **kwargs).arguments.items()
    body = task.call(slug=slug, part=part, **dict(arguments)).model_dump_json()

    def send() -> http.client.HTTPResponse:
        connection.connect()
        lines.append(connection.sock)
        if gone.is_set():
            raise ConnectionAbortedError
        connection.sock.settimeout(SILENCE)
        connection.request("POST", f"{address.path.rstrip('/')}/{task.name}", body.encode())
        return connection.getresponse()

    lines: list[socket.socket] = []
    gone = threading.Event()
    try:
        response = turns.result(_readers.submit(send))
        if response.status != 200:
            raise EngineUnavailable(_unavailable(f"It answers with status {response.status}."))
        while (message := turns.result(_readers.submit(response.readline))) != b"\n":
            if not message.endswith(b"\n"):
                raise http.client.IncompleteRead(message)
            outcome = task.reply.model_validate_json(message).outcome
            if isinstance(outcome, Failure):
                raise ERRORS.get(outcome.error, AtlasError)(outcome.sentence)
            yield outcome
    except ValidationError as error:
        raise EngineUnavailable(_unavailable("It answers as another version of the Atlas.")) from error
    except (OSError, http.client.HTTPException) as error:
        raise EngineUnavailable(_unavailable("It cannot be reached.")) from error
    finally:
        gone.set()
        for line in lines:  # closing alone would not wake the thread that reads
            with suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)
            line.close()
        connection.close()


def reachable() -> bool:
    """Whether Ray Serve answers at ``ATLAS_ENGINE_URL``."""
    address = urlsplit(settings().engine_url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=CONNECT)
    try:
        connection.request("GET", "/-/healthz")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _unavailable(reason: str) -> str:
    return (
        f"The model engine of this installation is away. {reason} Pages without a live model work; try this one again "
        "in a minute. The host can start the engine with “python -m core serve” (ATLAS_ENGINE_URL)."
    )
