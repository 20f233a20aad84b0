"""The app in a process of its own and a Chromium to visit it, for benchmarks of what a visitor waits for."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class App:
    """A server that has been started, which may not answer yet."""

    address: str
    pid: int
    begun: float
    """``time.perf_counter`` just before the start."""

    def wait(self) -> None:
        """Until it answers."""
        while not self._serves():
            time.sleep(0.02)

    def processor_seconds(self) -> float:
        """What it has used of the processors so far; not a number where the system does not say."""
        stat = Path(f"/proc/{self.pid}/stat")
        if not stat.exists():
            return float("nan")
        fields = stat.read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _serves(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.address}/_stcore/health", timeout=1) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False


@contextmanager
def app(folder: Path = ROOT) -> Iterator[App]:
    """Start the ``app.py`` of a folder on a free port, without a browser; it ends with the block."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--server.port", str(port), "--server.address", "127.0.0.1", "--server.headless", "true"]
    command = [sys.executable, "-m", "streamlit", "run", "app.py", *options]
    begun = time.perf_counter()
    server = subprocess.Popen(command, cwd=folder, env=os.environ, stdout=subprocess.DEVNULL)
    try:
        yield App(f"http://127.0.0.1:{port}", server.pid, begun)
    finally:
        server.terminate()
        server.wait()


@contextmanager
def chromium() -> Iterator[Browser | None]:
    """A headless Chromium: the one on the PATH, else Playwright's own; None without the test tools."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        print("What happens in a browser is not measured: that needs the test tools, which make test sets up.")
        yield None
        return
    found = (shutil.which(name) for name in ("chromium", "chromium-headless-shell", "google-chrome"))
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(
            executable_path=next((path for path in found if path), None),
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
