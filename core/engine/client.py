"""Sends a task to the engine: one HTTP request, whose response is a sequence of frames.

A frame is its length in 8 bytes and a message: ``("value", result)``, one for each step of a generation, or
``("error", class, sentence)``. A frame of length 0 ends the response. While a page run waits, other runs use its turn;
when its visitor leaves or makes a newer request, the connection is closed, and the engine ends the computation.
"""

from __future__ import annotations

import http.client
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from core import errors
from core.engine.messages import decode, encode
from core.errors import AtlasError, EngineUnavailable
from core.settings import settings
from core.turns import turns

CONNECT = 5.0
"""Seconds to wait for a connection before the engine counts as unavailable."""
SILENCE = 600.0
"""Seconds without a byte before a computation is abandoned."""
_readers = ThreadPoolExecutor(256, "engine")
"""Threads that wait for the network; each request has one."""


def frames(request: tuple[Any, ...]) -> Iterator[Any]:
    """The results of ``request``: task, slug, part, arguments and keyword arguments.

    Raises:
        AtlasError: what the task raised, or EngineUnavailable.
    """
    address = urlsplit(settings().engine_url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=CONNECT)
    body, path = encode(request), f"{address.path.rstrip('/')}/"

    def send() -> http.client.HTTPResponse:
        connection.connect()
        lines.append(connection.sock)
        if gone.is_set():
            raise ConnectionAbortedError
        connection.sock.settimeout(SILENCE)
        connection.request("POST", path, body)
        return connection.getresponse()

    lines: list[socket.socket] = []
    gone = threading.Event()
    try:
        response = turns.result(_readers.submit(send))
        if response.status != 200:
            raise EngineUnavailable(_unavailable(f"It answers with status {response.status}."))
        while (message := turns.result(_readers.submit(_frame, response))) is not None:
            kind, *content = decode(message)
            if kind == "error":
                raise _error(*content)
            yield content[0]
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


def _frame(response: http.client.HTTPResponse) -> bytes | None:
    """The next message; None after the last."""
    length = int.from_bytes(_exactly(response, 8))
    return _exactly(response, length) if length else None


def _exactly(response: http.client.HTTPResponse, count: int) -> bytes:
    data = response.read(count)
    if len(data) < count:
        raise http.client.IncompleteRead(data, count - len(data))
    return data


def _error(name: str, sentence: str) -> AtlasError:
    kind = getattr(errors, name, None)
    return kind(sentence) if isinstance(kind, type) and issubclass(kind, AtlasError) else AtlasError(sentence)


def _unavailable(reason: str) -> str:
    return (
        f"The model engine of this installation is away. {reason} Pages without a live model work; try this one again "
        "in a minute. The host can start the engine with “python -m core serve” (ATLAS_ENGINE_URL)."
    )
