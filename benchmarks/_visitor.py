"""A visitor without a browser: opens links and types over the server's own protocol, and waits for the page."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from _app import App
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import connect

if TYPE_CHECKING:
    from playwright.sync_api import Browser

TEXT = (
    "king queen daughter forest river castle horse bread winter summer garden teacher city water music bridge soldier "
    "ship island letter market window mountain doctor village story paper silver golden small great old young quiet day"
)
WORDS = TEXT.split()


def sentence(number: int, words: int) -> str:
    """A text of so many words that belongs to ``number`` alone."""
    digits = [WORDS[number // len(WORDS) ** place % len(WORDS)] for place in range(3)]
    return " ".join(
        [*digits, *(WORDS[(number * 7 + place * place + place) % len(WORDS)] for place in range(words - 3))]
    )


class Visitor:
    """One session with the app; what the page shows is received, handed to ``heard``, and passed over."""

    def __init__(self, server: App, heard: Callable[[bytes], object] = len) -> None:
        address = server.address.replace("http", "ws", 1) + "/_stcore/stream"
        self._socket = connect(address, subprotocols=["streamlit"], max_size=None, proxy=None)  # type: ignore[list-item]
        self._link = BackMsg()
        self._boxes: dict[str, str] = {}
        self._buttons: dict[str, str] = {}
        self._heard = heard
        self.received = 0
        """Bytes of all messages so far."""

    def __enter__(self) -> Visitor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the tab."""
        self._socket.close()

    def open(self, page: str, **query: object) -> None:
        """Open a link in this session, as Back does."""
        self._link = BackMsg()
        self._link.rerun_script.page_name = page
        self._link.rerun_script.query_string = urlencode(query)
        self._boxes, self._buttons = {}, {}
        message = BackMsg()
        message.CopyFrom(self._link)
        message.rerun_script.is_history_navigation = True
        self._run(message)

    def type(self, text: str) -> None:
        """Type into the page's first text box that holds several words."""
        message = BackMsg()
        message.CopyFrom(self._link)
        box = next(name for name, held in self._boxes.items() if " " in held)
        state = message.rerun_script.widget_states.widgets.add()
        state.id, state.string_value = box, text
        self._run(message)

    def press(self, label: str) -> None:
        """Press the button with this label, and wait for the end of what it does."""
        message = BackMsg()
        message.CopyFrom(self._link)
        state = message.rerun_script.widget_states.widgets.add()
        state.id, state.trigger_value = self._buttons[label], True
        self._run(message)

    def _run(self, message: BackMsg) -> None:
        self._socket.send(message.SerializeToString())
        for said in self._said():
            kind = said.WhichOneof("type")
            if kind == "script_finished" and said.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN:
                return
            if kind == "page_info_changed":
                self._link.rerun_script.query_string = said.page_info_changed.query_string
            elif kind == "delta" and said.delta.WhichOneof("type") == "new_element":
                self._seen(said.delta.new_element)

    def _said(self) -> Iterator[ForwardMsg]:
        while True:
            data = self._socket.recv(timeout=300)
            assert isinstance(data, bytes)
            self.received += len(data)
            self._heard(data)
            yield ForwardMsg.FromString(data)

    def _seen(self, element: Element) -> None:
        kind = element.WhichOneof("type")
        if kind == "exception":
            raise AssertionError(f"{self._link.rerun_script.page_name}: {element.exception.message}")
        if kind in ("text_area", "text_input"):
            box = getattr(element, kind)
            self._boxes[box.id] = box.value or box.default
        if kind == "button":
            self._buttons[element.button.label] = element.button.id


class Tab:
    """As :class:`Visitor`, in a tab of Chromium: each link is a page load, and complete when it is drawn."""

    STANDS = """() => document.querySelector("[data-testid=stApp][data-test-script-state=notRunning]")
        && document.querySelector("h1") && !document.querySelector("[data-stale=true]")"""

    def __init__(self, server: App, browser: Browser, heard: Callable[[bytes], object] = len) -> None:
        self._address = server.address
        self._context = browser.new_context()
        self._page = self._context.new_page()
        self._heard = heard
        self._page.on("websocket", lambda socket: socket.on("framereceived", self._receive))
        self.received = 0

    def close(self) -> None:
        """Close the tab."""
        self._context.close()

    def open(self, page: str, **query: object) -> None:
        """Open a link."""
        self._page.goto(f"{self._address}/{'' if page == 'home' else page}?{urlencode(query)}")
        self._page.wait_for_function(self.STANDS, timeout=300_000)

    def type(self, text: str) -> None:
        """Type into the page's first text area, and leave it."""
        begun = self.received
        box = self._page.locator("textarea").first
        box.fill(text)
        box.press("Control+Enter")
        while self.received == begun:
            self._page.wait_for_timeout(20)
        self._page.wait_for_function(self.STANDS, timeout=300_000)

    def _receive(self, message: bytes | str) -> None:
        data = message if isinstance(message, bytes) else message.encode()
        self.received += len(data)
        self._heard(data)


def megabytes(server: App) -> float:
    """What the server holds in memory; not a number where the system does not say."""
    try:
        return int(Path(f"/proc/{server.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    except OSError:
        return float("nan")
