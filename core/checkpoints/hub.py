"""Published checkpoints from the Hugging Face Hub: asked only when the host allows it, and by a child process.

This process stays offline always (:mod:`core.checkpoints.offline`). A :class:`Download` runs once for all visitors: who
wants the same checkpoint meanwhile watches the same download. What has arrived is kept when it stops.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Lock, Thread
from typing import Any, Literal

from core import settings as configuration
from core.checkpoints import registry
from core.checkpoints.offline import online_environment
from core.checkpoints.spec import CheckpointSpec
from core.errors import AtlasError, CheckpointRefused, CheckpointUnavailable, HubUnavailable

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Plan:
    """What a download would bring, as the Hub states it before anything is taken."""

    files: list[str]
    total_bytes: int
    missing_bytes: int
    """What is not in the cache yet."""


def plan(spec: CheckpointSpec, *, host_asks: bool = False) -> Plan:
    """Ask the Hub for the files and sizes of ``spec``. Raises :class:`HubUnavailable` or :class:`CheckpointRefused`.

    ``host_asks`` is True on the command line, where the host's order stands for ``ATLAS_HUB=on``.
    """
    for message in _messages(_start_child("plan", spec, host_asks)):
        return Plan(**message)
    raise HubUnavailable("The Hub's response was cut off. Try again later.")


def fetch(spec: CheckpointSpec, progress: Progress = lambda done, total: None, *, host_asks: bool = False) -> Path:
    """Download ``spec`` into the Hub's cache and return its folder; resumes what an earlier attempt left.

    ``progress(done, total)`` is called with bytes. Raises :class:`HubUnavailable` or :class:`CheckpointRefused`.
    """
    return _follow(_start_child("fetch", spec, host_asks), progress)


def _start_child(order: Literal["plan", "fetch"], spec: CheckpointSpec, host_asks: bool) -> subprocess.Popen[str]:
    """The child that talks to the Hub (:mod:`core.checkpoints.hub_worker`)."""
    if not host_asks and configuration.settings().hub != "on":
        raise CheckpointUnavailable(
            f"Downloads are off on this installation, so {spec.name} cannot be downloaded. "
            "The host can switch them on with ATLAS_HUB=on."
        )
    if spec.location not in {known.location for known in registry.published()}:
        raise CheckpointUnavailable(f"The catalogue names no published checkpoint for {spec.name}.")
    return subprocess.Popen(  # noqa: S603 - a fixed program, and an id from the catalogue
        [sys.executable, "-m", "core.checkpoints.hub_worker", order, spec.location],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=configuration.ROOT,
        env=online_environment(os.environ),
    )


def _messages(child: subprocess.Popen[str]) -> Iterator[dict[str, Any]]:
    """What the child reports; it is ended when the caller leaves the loop for any reason."""
    assert child.stdout is not None
    try:
        for line in child.stdout:
            message: dict[str, Any] = json.loads(line)
            if "error" in message:
                raise (CheckpointRefused if message["refused"] else HubUnavailable)(message["error"])
            yield message
    finally:
        child.terminate()
        child.wait()


def _follow(child: subprocess.Popen[str], progress: Progress) -> Path:
    """The folder that the child has fetched."""
    for message in _messages(child):
        if "folder" in message:
            return Path(message["folder"])
        progress(message["done"], message["total"])
    raise HubUnavailable(
        "The download was stopped. What has been downloaded is kept, and a later download resumes there."
    )


class Download:
    """A download in the background, watched by any number of pages."""

    def __init__(self, spec: CheckpointSpec) -> None:
        self.done = 0
        self.total = 0
        self.state: Literal["running", "finished", "failed"] = "running"
        self.sentence = ""
        """Why it failed, when it did."""
        self._child = _start_child("fetch", spec, host_asks=False)
        self._thread = Thread(target=self._run, daemon=True, name=f"download {spec.slug}")
        self._thread.start()

    def stop(self) -> None:
        """End the child, and with it the download."""
        self._child.terminate()

    def wait(self, seconds: float | None = None) -> None:
        """Wait for its end."""
        self._thread.join(seconds)

    def _run(self) -> None:
        try:
            _follow(self._child, self._progress)
        except Exception as error:  # a page watches this thread and must learn of its end
            expected = isinstance(error, AtlasError)
            self.sentence = str(error) if expected else f"The download failed ({type(error).__name__})."
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
        download = _downloads.get(spec.slug)
        if download is None or download.state != "running":
            download = _downloads[spec.slug] = Download(spec)
        return download


def current(slug: str) -> Download | None:
    """The last download of that slug in this process, running or ended."""
    return _downloads.get(slug)
