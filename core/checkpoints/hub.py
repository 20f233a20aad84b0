"""Downloads from the Hugging Face Hub: only where the host allows them, in a child process.

This process is always offline (:mod:`core.checkpoints.offline`). Visitors who request the same checkpoint share one
:class:`Download`. A stopped download can be resumed.
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
    """The files and bytes of a download, as the Hub states them."""

    files: list[str]
    total_bytes: int
    missing_bytes: int
    """Bytes that are not in the cache yet."""


def plan(spec: CheckpointSpec, *, by_host: bool = False) -> Plan:
    """The files and sizes of ``spec`` on the Hub. Raises :class:`HubUnavailable` or :class:`CheckpointRefused`.

    ``by_host``: the host calls it from the command line, where ``ATLAS_HUB=on`` is not needed.
    """
    for message in _messages(_start_child("plan", spec, by_host)):
        return Plan(**message)
    raise HubUnavailable("The Hub's response was cut off. Try again later.")


def fetch(spec: CheckpointSpec, progress: Progress = lambda done, total: None, *, by_host: bool = False) -> Path:
    """Download ``spec`` into the Hub's cache and return its folder; resumes an earlier attempt.

    ``progress(done, total)`` receives bytes. Raises :class:`HubUnavailable` or :class:`CheckpointRefused`.
    """
    return _follow(_start_child("fetch", spec, by_host), progress)


def _start_child(order: Literal["plan", "fetch"], spec: CheckpointSpec, by_host: bool) -> subprocess.Popen[str]:
    """Start the child process that connects to the Hub (:mod:`core.checkpoints.hub_worker`)."""
    if not by_host and configuration.settings().hub != "on":
        raise CheckpointUnavailable(
            f"Downloads are off on this installation, so {spec.name} cannot be downloaded. "
            "The host can allow them with ATLAS_HUB=on."
        )
    if spec.location not in {published.location for published in registry.published()}:
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
    """The messages of the child, which is terminated when the caller leaves the loop."""
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
    """The folder of the finished download."""
    for message in _messages(child):
        if "folder" in message:
            return Path(message["folder"])
        progress(message["done"], message["total"])
    raise HubUnavailable(
        "The download was stopped. What has been downloaded is kept, and a later download resumes there."
    )


class Download:
    """A download in the background, which any number of pages can show."""

    def __init__(self, spec: CheckpointSpec) -> None:
        self.done = 0
        self.total = 0
        self.state: Literal["running", "finished", "failed"] = "running"
        self.error = ""
        """Why it failed, as a sentence; empty unless it failed."""
        self._child = _start_child("fetch", spec, by_host=False)
        self._thread = Thread(target=self._run, daemon=True, name=f"download {spec.slug}")
        self._thread.start()

    def stop(self) -> None:
        """Terminate the child process."""
        self._child.terminate()

    def wait(self, seconds: float | None = None) -> None:
        """Wait for the end of the download, at most ``seconds``."""
        self._thread.join(seconds)

    def _run(self) -> None:
        try:
            _follow(self._child, self._progress)
        except Exception as error:  # pages poll ``state``, so it must not stay "running"
            expected = isinstance(error, AtlasError)
            self.error = str(error) if expected else f"The download failed ({type(error).__name__})."
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
