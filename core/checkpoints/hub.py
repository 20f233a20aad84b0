"""Published checkpoints from the Hugging Face Hub: asked only when the host allows it, and by a child process.

This process stays offline always (:mod:`core.checkpoints.offline`). A :class:`Download` runs once for all visitors: who
asks for the same checkpoint meanwhile watches the same download. What has arrived is kept when it is stopped.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any, Literal

from core import settings as configuration
from core.checkpoints import registry
from core.checkpoints.offline import online_environment
from core.checkpoints.spec import CheckpointSpec
from core.errors import AtlasError, CheckpointRefused, CheckpointUnavailable, HubUnavailable

STALL_SECONDS = 120.0
"""A child that says nothing for so long is ended."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Plan:
    """What a download would bring, as the Hub states it before anything is taken."""

    files: tuple[str, ...]
    total_bytes: int
    missing_bytes: int
    """What is not in the cache yet."""


def plan(spec: CheckpointSpec, *, host_asks: bool = False) -> Plan:
    """Ask the Hub for the files and sizes of ``spec``. Raises :class:`HubUnavailable` or :class:`CheckpointRefused`.

    ``host_asks`` is True on the command line, where the host's order stands for ``ATLAS_HUB=on``.
    """
    for line in _child("plan", spec, host_asks, lambda: False):
        if "plan" in line:
            stated = line["plan"]
            return Plan(tuple(stated["files"]), int(stated["total"]), int(stated["missing"]))
    raise HubUnavailable("The Hub's response was cut off. Try again later.")


def fetch(
    spec: CheckpointSpec,
    progress: Progress | None = None,
    stopped: Callable[[], bool] = lambda: False,
    *,
    host_asks: bool = False,
) -> Path:
    """Download ``spec`` into the Hub's cache and return its folder; continues what an earlier attempt left.

    ``progress(done, total)`` is called with bytes, ``stopped()`` is asked a few times a second.
    Raises :class:`HubUnavailable` or :class:`CheckpointRefused`.
    """
    for line in _child("fetch", spec, host_asks, stopped):
        if "folder" in line:
            return Path(line["folder"])
        if progress is not None and "total" in line:
            progress(int(line["done"]), int(line["total"]))
    raise HubUnavailable("The download was interrupted. What has been downloaded is kept; try again to resume it.")


def _child(
    order: Literal["plan", "fetch"], spec: CheckpointSpec, host_asks: bool, stopped: Callable[[], bool]
) -> Iterator[dict[str, Any]]:
    """The lines of the child that talks to the Hub; it is ended when the caller leaves the loop for any reason."""
    if not host_asks and configuration.settings().hub != "on":
        raise CheckpointUnavailable(
            f"Downloads are off on this installation, so {spec.name} cannot be downloaded. "
            "The host can switch them on with ATLAS_HUB=on."
        )
    if spec.location not in {known.location for known in registry.published()}:
        raise CheckpointUnavailable(f"The catalogue names no published checkpoint for {spec.name}.")
    command = [sys.executable, "-m", "core.checkpoints.hub_worker", order, spec.location]
    process = subprocess.Popen(  # noqa: S603 - a fixed program, and an id from the catalogue
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=configuration.ROOT,
        env=online_environment(os.environ),
    )
    lines: queue.Queue[str | None] = queue.Queue()

    def drain() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            lines.put(line)
        lines.put(None)

    Thread(target=drain, daemon=True).start()
    try:
        waited = 0.0
        while True:
            if stopped():
                raise HubUnavailable(
                    "The download was stopped. What has been downloaded is kept, and a later download resumes there."
                )
            try:
                line = lines.get(timeout=0.2)
            except queue.Empty:
                waited += 0.2
                if waited > STALL_SECONDS:
                    raise HubUnavailable(
                        "The Hub has sent nothing for a while. What has been downloaded is kept; try again later."
                    ) from None
                continue
            waited = 0.0
            if line is None:
                return
            message: dict[str, Any] = json.loads(line)
            if "error" in message:
                raise (CheckpointRefused if message.get("refused") else HubUnavailable)(message["error"])
            yield message
    finally:
        if process.poll() is None:
            process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class Download:
    """A download in the background, watched by any number of pages."""

    def __init__(self, spec: CheckpointSpec) -> None:
        self.spec = spec
        self.done = 0
        self.total = 0
        self.state: Literal["running", "finished", "failed"] = "running"
        self.sentence = ""
        """Why it failed, when it did."""
        self._stop = Event()
        self._thread = Thread(target=self._run, daemon=True, name=f"download {spec.slug}")

    def stop(self) -> None:
        """Ask it to end; it does within a second or so."""
        self._stop.set()

    def wait(self, seconds: float | None = None) -> None:
        """Wait for its end."""
        self._thread.join(seconds)

    def _run(self) -> None:
        try:
            fetch(self.spec, self._progress, self._stop.is_set)
        except AtlasError as error:
            self.sentence = str(error)
            self.state = "failed"
        except Exception as error:  # a page watches this thread and must learn of its end
            self.sentence = f"The download failed ({type(error).__name__})."
            self.state = "failed"
        else:
            self.state = "finished"

    def _progress(self, done: int, total: int) -> None:
        self.done, self.total = done, total


_downloads: dict[str, Download] = {}
_lock = Lock()


def start(spec: CheckpointSpec) -> Download:
    """The running download of ``spec``, or a new one."""
    with _lock:
        current = _downloads.get(spec.slug)
        if current is None or current.state != "running":
            current = _downloads[spec.slug] = Download(spec)
            current._thread.start()
        return current


def current(slug: str) -> Download | None:
    """The last download of that slug in this process, running or ended."""
    with _lock:
        return _downloads.get(slug)
