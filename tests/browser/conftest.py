"""One server for all journeys, one Chromium a worker; a journey fails when the page asks another host for anything.

Parallel workers divide the files among two of them. A wait is never a pause: it ends with
what it waits for, and has most of a minute because the machine may be slow.

To load a page costs Chromium a second or more, to go to another view of a page that is loaded a third of that. So
journeys share a tab, and none may rest on what another left: :meth:`Visitor.open` goes on in the open session where
that reads the link afresh, and loads the page elsewhere. After a journey that failed, the tab is another. A journey
may go Back as often as it has gone on. One with a :class:`Line` is a `traveller`'s, who has a tab of their own.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Download,
    Frame,
    Locator,
    Page,
    Request,
    ViewportSize,
    WebError,
    WebSocket,
    WebSocketRoute,
    expect,
    sync_playwright,
)

from tests import tiny
from tests.ports import free_port

ROOT = Path(__file__).parents[2]
WAIT_MS = int(os.environ.get("BROWSER_WAIT_MS", "45000"))
TELEPHONE: ViewportSize = {"width": 400, "height": 800}
LAPTOP: ViewportSize = {"width": 1280, "height": 720}
LONGEST = ("widths", "history", "timeline", "attention_page", "generation", "contrast", "attention_strange_words")
"""Files of journeys, so that no worker is left with one of them at the end."""
FAILED = pytest.StashKey[bool]()
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
  const begin = (data) => draw({ data, parentElement, setStateValue: send, setTriggerValue: send });
  let end = begin(data);
  window.again = (data) => {
    end?.();
    end = begin(data);
  };
  window.end = () => end?.();
  window.overlap = (data) => {
    window.end();
    const first = begin(data);
    end = begin(data);
    first?.();
  };
}
"""
"""A component alone in a page: its values arrive in ``window.sent``, ``window.again(data)`` draws it anew.

``window.overlap(data)`` draws it twice, and ends the first drawing after the second has begun; ``window.end()`` ends
the drawing that stands, as Streamlit does a moment before the next.
"""
STANDS = """
() => document.querySelector("[data-testid=stApp][data-test-script-state=notRunning]")?.checkVisibility()
  && [...document.querySelectorAll("h1")].some((title) => title.checkVisibility())
  && !document.querySelector("[data-stale=true], [data-testid=stSkeleton]")
"""
"""True when the script has run and its page is drawn, without anything of the run before.

A skeleton stands where a part has not come yet, and what follows it moves once.
"""
NOTING = """
(shown) => {
  window.noted = [];
  new MutationObserver(() => window.noted.push(shown.textContent)).observe(shown, { childList: true });
}
"""
"""Notes what an element shows from here on and for seconds alone: a slow machine may look when it has gone."""
LEAVE = r"""
(path) => {
  const own = new RegExp(`^st-key-${location.pathname.split("/").at(-1)}-\\d+-`);
  const names = [...document.querySelectorAll("[class*=st-key-]")].flatMap((one) => [...one.classList]);
  window.left = new Set(names.filter((name) => own.test(name)));
  window.begun = false;
  window.patience = performance.now() + 20_000;
  window.runs?.disconnect();
  window.runs = new MutationObserver((changes) => {
    window.begun ||= changes.length > 0;
  });
  const attributeFilter = ["data-test-script-state"];
  window.runs.observe(document.body, { subtree: true, attributeFilter });
  history.pushState({}, "", path);
  dispatchEvent(new PopStateEvent("popstate"));
}
"""
"""Goes to a path as Back does. Notes that a run begins, and which widgets stood: keys hold the state's number."""
ARRIVED = f"""
() => ({STANDS})() && ![...window.left].some((name) => document.getElementsByClassName(name).length)
  && (window.left.size || window.begun || performance.now() > window.patience)
"""
"""True when the page stands and no widget of the view before does.

Where that had no widgets, a run must have begun since then; one too short to be seen is given twenty seconds.
"""
expect.set_options(timeout=WAIT_MS)


HOSTILE = (
    "</script><script>struck=1</script>",
    "<!--<script>struck=1",
    "-->]]><script>struck=1</script>",
    "\"'><svg/onload=struck=1>",
    "<img/src=x/onerror=struck=1>",
    "`${struck=1}`",
    "[x](javascript:struck=1)",
    "<a/href=javascript:struck=1>y</a>",
    "$\\href{javascript:struck=1}{z}$",
    "<b>bold</b>",
)
"""What the vocabulary of one model, ``dir-strange``, holds beside words."""
PLANTED = {
    "quetzal": "a\u2028struck=1\u2029b",
    "axolotl": "\u202egnp.exe\u2066",
    "okapi": "<b>long</b>" * 930,
}
"""What the same model makes of three words: line and paragraph separators, a turn of direction, a token of 10 kB.

A visitor's text is cleaned of the first two and may not be as long as the third, a host's tokenizer is not.
"""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark everything in this folder, and put it first, files that take longest before others."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.browser)
    long = {f"test_{name}.py": place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: (not item.get_closest_marker("browser"), long.get(item.path.name, len(long))))


@contextmanager
def app_process(
    checkpoints: Path, folder: Path, port: int, before: Sequence[str] = (), more: dict[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """An app that has just started, offline, with the bundled models and a folder of others.

    ``before`` is a command that runs the app's, and ``more`` are variables of its environment.

    Ends with a failure when the app wrote a traceback to its log.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("ATLAS_", "STREAMLIT_"))}
    environment |= {"ATLAS_CHECKPOINT_DIR": str(checkpoints), "NO_COLOR": "1", **(more or {})}
    log = folder / "log.txt"
    command = [*before, sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
    with log.open("w") as output:
        # In a session of its own, so that Ctrl+C ends the tests first and the app after them.
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
    try:
        wait_until_healthy(f"http://127.0.0.1:{port}", process, log)
        yield process
    finally:
        process.terminate()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:  # a model in the middle of its work does not listen
            process.kill()
            process.wait()
    assert "Traceback" not in log.read_text(), log.read_text()[-4000:]


@contextmanager
def running_app(checkpoints: Path, folder: Path) -> Iterator[str]:
    """The address of an app as :func:`app_process` starts it."""
    port = free_port()
    with app_process(checkpoints, folder, port):
        yield f"http://127.0.0.1:{port}"


@pytest.fixture(scope="session")
def models(tiny_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny models, and beside them a BERT into whose vocabulary hostile tokens were put."""
    import torch
    from transformers import BertConfig, BertForMaskedLM

    root = tmp_path_factory.mktemp("models") / "checkpoints"
    shutil.copytree(tiny_root, root)
    torch.manual_seed(0)
    tokenizer = _planted(root / "strange")
    assert tokenizer.add_tokens(list(HOSTILE)) == len(HOSTILE)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
        pad_token_id=0,
    )
    BertForMaskedLM(config).eval().save_pretrained(root / "strange")
    tokenizer.save_pretrained(root / "strange")
    return root


def _planted(folder: Path) -> Any:
    """A tokenizer that makes of the words of :data:`PLANTED` what stands beside them there, each a token of its own."""
    from tokenizers import AddedToken
    from transformers import AutoTokenizer

    tiny.wordpiece_tokenizer().save_pretrained(folder)
    file = folder / "tokenizer.json"
    data = json.loads(file.read_text(encoding="utf-8"))
    swaps = [{"type": "Replace", "pattern": {"String": word}, "content": token} for word, token in PLANTED.items()]
    data["normalizer"] = {"type": "Sequence", "normalizers": [data["normalizer"], *swaps]}
    # A line separator is a blank to BERT's own way of cutting; marks are cut off by the tokens that are added later.
    data["pre_tokenizer"] = {"type": "Split", "pattern": {"String": " "}, "behavior": "Removed", "invert": False}
    vocabulary, (*short, long) = data["model"]["vocab"], PLANTED.values()
    vocabulary |= {token: max(vocabulary.values()) + number for number, token in enumerate(short, 1)}
    file.write_text(json.dumps(data), encoding="utf-8")
    tokenizer: Any = AutoTokenizer.from_pretrained(folder)
    assert tokenizer.add_tokens(AddedToken(long, normalized=True)) == 1  # WordPiece takes no word as long
    return tokenizer


@pytest.fixture(scope="session")
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One app for all journeys but the one that begins with a start of its own, whichever worker they are in.

    The first worker that needs it starts it, and ends it after the others have left: a start, and each model that is
    loaded, take longer than many a journey.
    """
    models, name = request.getfixturevalue("models"), os.environ.get("PYTEST_XDIST_WORKER", "")
    folder = tmp_path_factory.getbasetemp()
    place = (folder.parent if name else folder) / "app"
    address_file, guest = place / "address", place / "guests" / (name or "alone")
    with ExitStack() as started:
        guest.parent.mkdir(parents=True, exist_ok=True)
        with one_at_a_time(place):
            guest.touch()
            if ours := not address_file.exists():
                address_file.write_text(started.enter_context(running_app(models, place)))
        yield address_file.read_text()
        guest.unlink()
        end = time.monotonic() + 10 * 60
        while ours and any(guest.parent.iterdir()) and time.monotonic() < end:
            time.sleep(0.1)  # nothing else tells what happens in another process


@contextmanager
def one_at_a_time(place: Path) -> Iterator[None]:
    """Wait until no other worker is here."""
    import fcntl

    with (place / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def wait_until_healthy(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + 6 * WAIT_MS / 1000
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{address}/_stcore/health", timeout=1) as answer:
                if answer.read() == b"ok":
                    return
        except OSError:
            time.sleep(0.1)  # nothing else tells that a port has opened
    pytest.fail(f"the app did not start:\n{log.read_text()}")


def executable() -> str | None:
    """The Chromium on the PATH, first the one without a window's frame, a fifth less of the processor; else None."""
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    return next(filter(None, map(shutil.which, names)), None)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """A headless Chromium: the one on the PATH, else Playwright's own. It can resolve no name but this machine's."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=executable(),
            args=[
                "--no-sandbox",
                "--disable-gpu",
                "--disable-background-networking",
                "--js-flags=--no-opt --no-maglev",  # scripts of a few seconds: compiling them twice took a fifth of it
                "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
            ],
        )
        yield browser
        browser.close()


class Tab:
    """A tab of the browser, and which views the session in it has shown."""

    def __init__(self, context: BrowserContext) -> None:
        self.page = context.new_page()
        self.shown: set[tuple[str, str]] = set()
        self.size: ViewportSize | None = None
        self.page.on("framenavigated", self._note)

    def _note(self, frame: Frame) -> None:
        if frame == self.page.main_frame:
            self.shown.add(_view(frame.url))

    def load(self, url: str) -> None:
        """Load a page, which begins a session."""
        self.shown.clear()
        self.size = self.page.viewport_size
        self.page.goto(url)

    def fresh_for(self, path: str) -> bool:
        """Whether the session that is open would read a link afresh, and no run of it is under way.

        A session keeps a page's widgets while its query is the same, and a link without one finds the view that was
        left.
        """
        place, query = _view(path)
        was_shown = (place, query) in self.shown if query else any(place == other for other, _ in self.shown)
        return (
            bool(self.shown) and not was_shown and self.size == self.page.viewport_size and self.page.evaluate(STANDS)
        )


def _view(url: str) -> tuple[str, str]:
    """A page's path, and its query however it is written."""
    parts = urlsplit(url)
    return parts.path, urlencode(sorted(parse_qsl(parts.query)))


@dataclass
class Visitor:
    """A person with a browser window: where they go, what they see, and what their browser asked for."""

    tab: Tab
    address: str
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def open(self, path: str) -> Page:
        """Go to a view that this session has not shown, and wait until the page stands: a link read afresh.

        Where a link would not be read afresh, or the window has another width than its page was loaded in, or the app
        is at work, the page is loaded; else :meth:`go` does in a third of the time.
        """
        return self.go(path) if self.tab.fresh_for(path) else self.arrive(path)

    def arrive(self, path: str) -> Page:
        """Load a path of the app, as by a link from outside, in a new session."""
        self.tab.load(self.address + path)
        return self.settle()

    def go(self, path: str) -> Page:
        """Go to a path as Back does, in the session that is open: nothing is loaded anew."""
        self.page.evaluate(LEAVE, path)
        self.page.wait_for_function(ARRIVED, polling=50)
        return self.settle()

    def settle(self) -> Page:
        """Wait until the script has run; no page may show an exception."""
        self.page.wait_for_function(STANDS, polling=50)  # ``expect`` looks twice a second; every frame would be dear
        assert self.page.get_by_test_id("stException").count() == 0, "the page shows an exception"
        return self.page

    def menu(self, name: str = "") -> Locator:
        """The menu at the foot of the page, open; with a name that list of it, too, drawn."""
        page = self.settle()
        menu = page.get_by_test_id("stPopoverBody")
        if not menu.is_visible():
            page.get_by_test_id("stPopover").get_by_role("button", name="More").click()
        if name and menu.locator("details[open] > summary").filter(has_text=name).count() == 0:
            menu.locator("summary").filter(has_text=name).click()
        return menu

    def save(self, name: str) -> Download:
        """What a button of the menu's list Download gives."""
        page, menu = self.page, self.menu("Download")
        button = menu.get_by_role("button", name=name).first
        expect(button).to_be_visible()
        self.settle()
        with page.expect_download() as waiting:
            button.click()
        page.keyboard.press("Escape")
        expect(menu).to_be_hidden()  # it fades: the next call would take it for open
        return waiting.value

    @property
    def page(self) -> Page:
        """What the tab shows."""
        return self.tab.page

    @property
    def context(self) -> BrowserContext:
        """The window, with room for more tabs."""
        return self.tab.page.context

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
def bare(chromium: Browser) -> Iterator[BrowserContext]:
    """A window for what stands alone, without the app. Its first tab stays open, as in the other `window`."""
    context = chromium.new_context(viewport=LAPTOP)
    context.set_default_timeout(WAIT_MS)
    context.new_page()
    yield context
    context.close()


@pytest.fixture
def empty(bare: BrowserContext) -> Iterator[Page]:
    """A tab with nothing in it."""
    page = bare.new_page()
    yield page
    page.close()


@pytest.fixture(scope="session")
def window(chromium: Browser) -> Iterator[BrowserContext]:
    """A laptop's window with reduced motion; all journeys share its cache, which saves each a second of compiling."""
    context = chromium.new_context(viewport=LAPTOP, reduced_motion="reduce")
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    context.set_default_timeout(WAIT_MS)
    context.new_page()  # stays open: then a journey's page is a tab, and no window that loads parts of Chromium's own
    yield context
    context.close()


def _of_a_view_left(complaint: str, page: Page) -> bool:
    """Whether what could not be loaded is a file that the session has dropped with the view it belonged to.

    Streamlit's client asks once for each file that a button offers, which may be after the next run has begun.
    """
    if "Client Error: Download Button source error - 404" in complaint:  # its own note of the same answer
        return True
    file = re.search(r"status of 404 .*/media/(\w+\.\w+)\)$", complaint)
    return file is not None and file[1] not in page.content()


@contextmanager
def visiting(tab: Tab, address: str) -> Iterator[Visitor]:
    """A visitor with a tab, whose journey must end without complaints.

    What it stored in the browser is cleared, also when it failed: an open sidebar would cover a telephone.
    """
    context = tab.page.context
    before = context.pages
    person = Visitor(tab, address)

    def asked(request: Request) -> None:
        person.requests.append(request.url)

    def said(message: ConsoleMessage) -> None:
        url = message.location.get("url", "")
        if message.type == "error" and not url.endswith(PROBES):
            person.complaints.append(f"{message.text} ({url})")

    def failed(error: WebError) -> None:
        person.complaints.append(str(error.error))

    def connected(socket: WebSocket) -> None:
        person.requests.append(socket.url)

    context.on("request", asked)
    context.on("console", said)
    context.on("weberror", failed)
    tab.page.on("websocket", connected)
    tab.page.bring_to_front()  # a tab behind another draws nothing
    try:
        yield person
    finally:
        for page in context.pages:
            if page not in before:
                page.close()
        context.remove_listener("request", asked)
        context.remove_listener("console", said)
        context.remove_listener("weberror", failed)
        tab.page.remove_listener("websocket", connected)
        if tab.page.url.startswith(address):
            tab.page.evaluate("localStorage.clear()")
    assert person.strangers() == []
    assert [complaint for complaint in person.complaints if not _of_a_view_left(complaint, tab.page)] == []


def comes_true(shown: Locator, condition: str) -> None:
    """Wait until a condition in JavaScript holds: while a run goes on, Streamlit lets what it replaces fade."""
    end = time.monotonic() + WAIT_MS / 1000
    while not shown.evaluate(condition):
        assert time.monotonic() < end, f"{condition}\ndoes not hold of {shown}"
        shown.page.wait_for_timeout(100)


@contextmanager
def new_tab(context: BrowserContext) -> Iterator[Tab]:
    """A tab that is closed in the end."""
    tab = Tab(context)
    try:
        yield tab
    finally:
        tab.page.close()


class Line:
    """The line from the server to a page, on which messages can be held up; make it before the page is loaded."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._held: list[Callable[[], None]] | None = None
        self._said = b""
        page.route_web_socket(re.compile("/_stcore/stream"), self._connect)

    def _connect(self, browser: WebSocketRoute) -> None:
        browser.connect_to_server().on_message(lambda message: self._carry(browser, message))

    def _carry(self, browser: WebSocketRoute, message: str | bytes) -> None:
        if self._held is None:
            browser.send(message)
        else:
            self._said += message if isinstance(message, bytes) else message.encode()
            self._held.append(lambda: browser.send(message))

    def hold(self) -> None:
        """Let nothing through from here on."""
        self._held, self._said = [], b""

    def wait_for(self, words: bytes) -> None:
        """Wait until the server has said ``words``, which the page has not heard."""
        end = time.monotonic() + WAIT_MS / 1000
        while words not in self._said:
            assert time.monotonic() < end, f"the server did not say {words!r}"
            self._page.wait_for_timeout(50)  # messages come in only while Playwright waits

    def release(self) -> None:
        """Let through what was held, in its order, and all that comes."""
        held, self._held = self._held or [], None
        for send in held:
            send()


@pytest.fixture(scope="session")
def tabs() -> Iterator[dict[str, Tab]]:
    """The tabs that journeys share one after the other: a laptop's and a telephone's."""
    tabs: dict[str, Tab] = {}
    yield tabs
    for tab in tabs.values():
        tab.page.close()


@pytest.fixture(scope="session")
def warm(window: BrowserContext, tabs: dict[str, Tab], server: str) -> str:
    """The address of an app that has loaded torch, which no journey waits for: that may take long on a busy machine."""
    tab = tabs[str(LAPTOP["width"])] = Tab(window)
    with visiting(tab, server) as person:
        tab.load(f"{server}/encoder?model=dir-tiny-bert")
        expect(tab.page.get_by_role("group", name="Tokens of the sentence")).to_be_visible(timeout=6 * WAIT_MS)
        person.settle()
    return server


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Remember that a journey failed: its tab may stand anywhere."""
    report = yield
    item.stash[FAILED] = item.stash.get(FAILED, False) or report.failed
    return report


@contextmanager
def sharing(request: pytest.FixtureRequest, size: ViewportSize) -> Iterator[Visitor]:
    """A visitor in the tab that journeys with a window of this size share; after one that failed it is another."""
    window, tabs, name = request.getfixturevalue("window"), request.getfixturevalue("tabs"), str(size["width"])
    address = request.getfixturevalue("warm")
    if name not in tabs:
        tabs[name] = Tab(window)
    if tabs[name].page.viewport_size != size:
        tabs[name].page.set_viewport_size(size)
    with visiting(tabs[name], address) as person:
        yield person
    if request.node.stash[FAILED]:
        tabs.pop(name).page.close()


@pytest.fixture
def visitor(request: pytest.FixtureRequest) -> Iterator[Visitor]:
    """A visitor with a laptop, of the app that all journeys share."""
    with sharing(request, LAPTOP) as person:
        yield person


@pytest.fixture
def traveller(window: BrowserContext, warm: str) -> Iterator[Visitor]:
    """A visitor of the same app with a tab of their own, where a :class:`Line` stays as long as the tab."""
    with new_tab(window) as tab, visiting(tab, warm) as person:
        yield person


@pytest.fixture
def telephone(request: pytest.FixtureRequest) -> Iterator[Visitor]:
    """A visitor of the same app with a telephone."""
    with sharing(request, TELEPHONE) as person:
        yield person
