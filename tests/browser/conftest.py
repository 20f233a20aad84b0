"""One server and one Chromium for all journeys; a journey fails when the page asks another host for anything.

All journeys belong to one group, so that parallel workers leave them together. A wait is never a pause: it ends with
what it waits for, and has most of a minute because the machine may be slow.
"""

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
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Request,
    WebError,
    expect,
    sync_playwright,
)

ROOT = Path(__file__).parents[2]
WAIT_MS = int(os.environ.get("BROWSER_WAIT_MS", "45000"))
HERE = ("127.0.0.1", "localhost")
# Streamlit's client looks for its server below the page's path first, and finds it one step up.
PROBES = ("/_stcore/health", "/_stcore/host-config")
MOUNT = """
async ([html, css, js, data]) => {
  const host = document.createElement("div");
  document.body.replaceChildren(host);
  const parentElement = host.attachShadow({ mode: "open" });
  parentElement.innerHTML = `<style>${css}</style>` + html;
  const url = URL.createObjectURL(new Blob([js], { type: "text/javascript" }));
  const draw = (await import(url)).default;
  window.sent = [];
  const send = (name, value) => window.sent.push(value);
  window.again = (data) => draw({ data, parentElement, setStateValue: send, setTriggerValue: send });
  window.again(data);
}
"""
"""A component alone in a page: its values arrive in ``window.sent``, ``window.again(data)`` draws it anew."""
STANDS = """
() => document.querySelector("[data-testid=stApp][data-test-script-state=notRunning]")?.checkVisibility()
  && [...document.querySelectorAll("h1")].some((title) => title.checkVisibility())
"""
"""True when the script has run and its page is drawn."""
GO = """
(path) => new Promise((done) => {
  const app = document.querySelector("[data-testid=stApp]");
  let begun = false;
  const observer = new MutationObserver(() => {
    if (app.dataset.testScriptState !== "notRunning") begun = true;
    else if (begun) { observer.disconnect(); done(); }
  });
  observer.observe(app, { attributeFilter: ["data-test-script-state"] });
  history.pushState({}, "", path);
  dispatchEvent(new PopStateEvent("popstate"));
})
"""
"""Goes to a path and waits until a run has begun and ended."""
expect.set_options(timeout=WAIT_MS)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark everything in this folder, and put it first: one worker has all of it, and it takes longest."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.browser)
    items.sort(key=lambda item: item.get_closest_marker("browser") is None)


@contextmanager
def running_app(checkpoints: Path, folder: Path) -> Iterator[str]:
    """The address of an app that has just started, offline, with the bundled models and a folder of others.

    Ends with a failure when the app wrote a traceback to its log.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("ATLAS_", "STREAMLIT_"))}
    environment |= {"ATLAS_CHECKPOINT_DIR": str(checkpoints), "NO_COLOR": "1"}
    log = folder / "log.txt"
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
    with log.open("w") as output:
        # In a session of its own, so that Ctrl+C ends the tests first and the app after them.
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
    address = f"http://127.0.0.1:{port}"
    try:
        _wait_until_healthy(address, process, log)
        yield address
    finally:
        process.terminate()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:  # a model in the middle of its work does not listen
            process.kill()
            process.wait()
    assert "Traceback" not in log.read_text(), log.read_text()[-4000:]


@pytest.fixture(scope="session")
def server(tiny_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One app for all journeys but those that begin with a start of their own."""
    with running_app(tiny_root, tmp_path_factory.mktemp("server")) as address:
        yield address


def _wait_until_healthy(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{address}/_stcore/health", timeout=1) as answer:
                if answer.read() == b"ok":
                    return
        except OSError:
            time.sleep(0.1)  # the one pause: nothing else tells that a port has opened
    pytest.fail(f"the app did not start:\n{log.read_text()}")


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """A headless Chromium: the one on the PATH, else Playwright's own. It can resolve no name but this machine's."""
    found = (shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome"))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=next((path for path in found if path), None),
            args=[
                "--no-sandbox",
                "--disable-gpu",
                "--disable-background-networking",
                "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
            ],
        )
        yield browser
        browser.close()


@dataclass
class Visitor:
    """A person with a browser window: where they go, what they see, and what their browser asked for."""

    context: BrowserContext
    page: Page
    address: str
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def open(self, path: str) -> Page:
        """Go to a path of the app, as by a link from outside, and wait until the page stands."""
        self.page.goto(self.address + path)
        return self.settle()

    def go(self, path: str) -> Page:
        """Go to a path as Back does, in the session that is open: nothing is loaded anew, so it takes half the time."""
        self.page.evaluate(GO, path)
        return self.settle()

    def settle(self) -> Page:
        """Wait until the script has run; no page may show an exception."""
        self.page.wait_for_function(STANDS, polling=50)  # ``expect`` looks twice a second; every frame would be dear
        assert self.page.get_by_test_id("stException").count() == 0, "the page shows an exception"
        return self.page

    @property
    def query(self) -> str:
        """What stands in the address bar behind the question mark."""
        return urlsplit(self.page.url).query

    def forgive(self, words: str) -> None:
        """Drop complaints of the console that a journey means to cause."""
        self.complaints = [complaint for complaint in self.complaints if words not in complaint]

    def strangers(self) -> list[str]:
        """Requests to any host but this machine."""
        parts = [urlsplit(url) for url in self.requests]
        return [p.geturl() for p in parts if p.scheme not in ("data", "blob", "about") and p.hostname not in HERE]


@pytest.fixture(scope="session")
def window(chromium: Browser) -> Iterator[BrowserContext]:
    """A laptop's window with reduced motion; all journeys share its cache, which saves each a second of compiling."""
    context = chromium.new_context(viewport={"width": 1280, "height": 720}, reduced_motion="reduce")
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    context.set_default_timeout(WAIT_MS)
    context.new_page()  # stays open: then a journey's page is a tab, and no window that loads parts of Chromium's own
    yield context
    context.close()


@contextmanager
def visiting(context: BrowserContext, address: str) -> Iterator[Visitor]:
    """A visitor with a fresh tab, whose journey must end without complaints."""
    before = context.pages
    person = Visitor(context, context.new_page(), address)

    def asked(request: Request) -> None:
        person.requests.append(request.url)

    def said(message: ConsoleMessage) -> None:
        url = message.location.get("url", "")
        if message.type == "error" and not url.endswith(PROBES):
            person.complaints.append(f"{message.text} ({url})")

    def failed(error: WebError) -> None:
        person.complaints.append(str(error.error))

    context.on("request", asked)
    context.on("console", said)
    context.on("weberror", failed)
    person.page.on("websocket", lambda socket: person.requests.append(socket.url))
    try:
        yield person
    finally:
        for page in context.pages:
            if page not in before:
                page.close()
        context.remove_listener("request", asked)
        context.remove_listener("console", said)
        context.remove_listener("weberror", failed)
    assert person.strangers() == []
    assert person.complaints == []


@pytest.fixture(scope="session")
def warm(window: BrowserContext, server: str) -> str:
    """The address of an app that has loaded torch, which no journey waits for: that may take long on a busy machine."""
    with visiting(window, server) as person:
        person.page.goto(f"{server}/encoder?model=dir-tiny-bert")
        expect(person.page.get_by_role("group", name="Tokens of the sentence")).to_be_visible(timeout=6 * WAIT_MS)
        person.settle()
    return server


@pytest.fixture
def visitor(window: BrowserContext, warm: str) -> Iterator[Visitor]:
    """A visitor of the app that all journeys share."""
    with visiting(window, warm) as person:
        yield person
