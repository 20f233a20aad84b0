"""Two app processes behind nginx with deploy/nginx.conf, visitors in Chromium, and a process that is killed."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect, sync_playwright

from core.settings import ROOT
from tests.browser.conftest import executable
from tests.ports import free_port

NGINX = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
pytestmark = pytest.mark.skipif(NGINX is None, reason="needs nginx")
PORT = {"app-1": "127.0.0.1", "app-2": "127.0.0.2"}
WAIT = 60_000


def get(address: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(address, timeout=5) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, ""
    except OSError:
        return 0, ""


def until(true: Callable[[], object], what: str) -> None:
    """Waits for a condition of the outside world."""
    end = time.monotonic() + WAIT / 1000
    while not true():
        assert time.monotonic() < end, what
        time.sleep(0.1)


class Pair:
    """Two app processes and a proxy before them."""

    def __init__(self, folder: Path) -> None:
        self.port, self.inner = free_port(), free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        text = (ROOT / "deploy" / "nginx.conf").read_text().replace("listen 8080", f"listen 127.0.0.1:{self.port}")
        for name, host in PORT.items():
            text = text.replace(f"{name}:8501", f"{host}:{self.inner}")
        configuration = folder / "nginx.conf"
        configuration.write_text(text.replace("/tmp/", f"{folder}/"))
        self.apps = {name: self.start(name) for name in PORT}
        self.proxy = subprocess.Popen([str(NGINX), "-c", str(configuration), "-g", "daemon off;"])
        for name in PORT:
            until(lambda name=name: get(f"{self.inside(name)}/ready")[0] == 200, f"{name} starts")
        until(lambda: get(f"{self.address}/proxy-health")[0] == 200, "nginx starts")

    def inside(self, name: str) -> str:
        return f"http://{PORT[name]}:{self.inner}"

    def start(self, name: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "streamlit", "run", "app.py"]
        options = ["--server.address", PORT[name], "--server.port", str(self.inner), "--server.headless", "true"]
        return subprocess.Popen([*command, *options], cwd=ROOT, env=os.environ | {"ATLAS_METRICS": "on"})

    def sessions(self, name: str) -> int:
        """Open tabs of a process."""
        match = re.search(r"^atlas_sessions (\d+)", get(f"{self.inside(name)}/metrics")[1], re.MULTILINE)
        return int(match[1]) if match else 0

    def stop(self) -> None:
        for process in (self.proxy, *self.apps.values()):
            process.send_signal(signal.SIGTERM)
            process.wait(30)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    pair = Pair(tmp_path_factory.mktemp("nginx"))
    yield pair
    pair.stop()


def test_metrics_stay_inside(pair: Pair) -> None:
    assert get(f"{pair.address}/metrics")[0] == 404
    assert get(f"{pair.address}/ready")[0] == 200


def test_a_browser_stays_with_one_process_and_goes_on_with_the_other(pair: Pair) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable(), args=["--no-sandbox"])
        homes = set()
        for _ in range(6):  # each visitor is another one for the proxy
            context = browser.new_context()
            page = context.new_page()
            page.goto(f"{pair.address}/encoder", timeout=WAIT)
            expect(page.get_by_role("heading", level=1)).to_be_visible(timeout=WAIT)
            homes |= {name for name in PORT if pair.sessions(name)}
            (cookie,) = (entry for entry in context.cookies() if entry["name"] == "atlas_visitor")
            page.reload()
            expect(page.get_by_role("heading", level=1)).to_be_visible(timeout=WAIT)
            (same,) = (entry for entry in context.cookies() if entry["name"] == "atlas_visitor")
            assert same["value"] == cookie["value"]
            context.close()
        assert homes == set(PORT), "visitors are divided among the processes"
        until(lambda: not any(map(pair.sessions, PORT)), "closed tabs are gone")

        page = browser.new_page()
        page.goto(f"{pair.address}/encoder?text=The+old+%5BMASK%5D+slept.", timeout=WAIT)
        box = page.get_by_role("textbox", name="Sentence")
        expect(box).to_have_value("The old [MASK] slept.", timeout=WAIT)
        (home,) = (name for name in PORT if pair.sessions(name))
        (other,) = PORT.keys() - {home}
        pair.apps[home].kill()
        pair.apps[home].wait()
        begun = time.monotonic()
        until(lambda: pair.sessions(other) == 1, "the tab reconnects to the other process")
        print(f"the tab was with the other process after {time.monotonic() - begun:.1f} s")
        expect(box).to_have_value("The old [MASK] slept.", timeout=WAIT)
        box.fill("The young [MASK] ran.")
        box.press("Control+Enter")
        expect(page).to_have_url(re.compile("young"), timeout=WAIT)  # the other process has read it
        assert page.evaluate("fetch('/_stcore/health').then(answer => answer.status)") == 200
        for _ in range(20):  # a visitor who comes now never meets the process that is down
            assert get(f"{pair.address}/_stcore/health")[0] == 200

        pair.apps[home] = pair.start(home)
        until(lambda: get(f"{pair.inside(home)}/ready")[0] == 200, "the process starts again")
        until(lambda: pair.sessions(home) + pair.sessions(other) == 1, "the tab is with one of them")
        browser.close()
