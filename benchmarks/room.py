"""A room of forty: what followers' looks at their room cost, and how long until all see the instructor's next view.

Followers speak the server's own protocol and look as often as a browser is told to. The processors' share is measured
while nothing changes; then the instructor opens one link after the other, and the seconds are counted from that click
until the instructor's own page is complete, and until each follower's is. A look comes every `core.rooms.POLL` seconds,
so half of that belongs to it on average.

    python benchmarks/room.py 40
"""

from __future__ import annotations

import asyncio
import re
import statistics
import sys
import time
from urllib.parse import parse_qs, urlencode

from _app import App, app
from _harness import goal
from _visitor import sentence
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import ClientConnection, connect

QUIET, VIEWS, PAUSE, MOST = 20.0, 6, 2.0, 60.0
"""Seconds without a change; the views that the instructor shows then, the seconds between two, and those for each."""
SHARE, DELAY = 0.2, 4.0
"""Goals: processors that the looks take, and seconds of p95 until a follower has the view: a look and 2 s."""


class Tab:
    """One session; keeps what its browser would send back."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._state = ClientState()
        self.buttons: dict[str, str] = {}
        self.html = ""
        self._timers: dict[str, tuple[float, float]] = {}
        """Of each fragment that the server wants run again: when next, and how often, in seconds."""
        self.idle = asyncio.Event()
        self.complete = 0.0
        """When its last run of a whole page was complete."""

    async def listen(self) -> None:
        """Take what the server sends until the socket closes."""
        async for data in self._socket:
            message = ForwardMsg.FromString(data)  # type: ignore[arg-type]
            kind = message.WhichOneof("type")
            if kind == "new_session":
                self._state.page_script_hash = message.new_session.page_script_hash
                if not message.metadata.run.fragment_ids:  # a browser's timers begin anew with each run of a page
                    self._timers = {}
            elif kind == "page_info_changed":
                self._state.query_string = message.page_info_changed.query_string
            elif kind == "auto_rerun":
                interval = message.auto_rerun.interval
                self._timers[message.auto_rerun.fragment_id] = (time.perf_counter() + interval, interval)
            elif kind == "script_finished" and message.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN:
                if message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY:  # a whole page, no fragment
                    self.complete = time.perf_counter()
                self.idle.set()
            elif kind == "delta" and message.delta.WhichOneof("type") == "new_element":
                element = message.delta.new_element
                assert element.WhichOneof("type") != "exception", element.exception.message
                if element.WhichOneof("type") == "button":
                    self.buttons[element.button.label] = element.button.id
                elif element.WhichOneof("type") == "html":
                    self.html += element.html.body

    async def _send(self, message: BackMsg) -> None:
        self.idle.clear()
        await self._socket.send(message.SerializeToString())

    def shows(self, text: str, since: float) -> bool:
        """Whether a page with this text in its link was complete after ``since``."""
        return self.complete > since and parse_qs(self._state.query_string).get("text") == [text]

    async def open(self, page: str, **query: str) -> None:
        """Open a link, and wait for the page."""
        message = BackMsg()
        message.rerun_script.page_name, message.rerun_script.query_string = page, urlencode(query)
        message.rerun_script.is_history_navigation = True
        await self._send(message)
        await self.idle.wait()

    async def press(self, label: str) -> None:
        """Press a button, and wait for the page."""
        message = BackMsg()
        message.rerun_script.CopyFrom(self._state)
        state = message.rerun_script.widget_states.widgets.add()
        state.id, state.trigger_value = self.buttons[label], True
        await self._send(message)
        await self.idle.wait()

    async def look(self) -> None:
        """Run the fragments as often as the server says."""
        while True:
            await asyncio.sleep(0.02)
            for fragment, (due, interval) in list(self._timers.items()):
                if time.perf_counter() < due:
                    continue
                self._timers[fragment] = (due + interval, interval)
                message = BackMsg()
                message.rerun_script.CopyFrom(self._state)
                message.rerun_script.fragment_id, message.rerun_script.is_auto_rerun = fragment, True
                await self._send(message)


async def measure(server: App, followers: int) -> None:
    """Print both measurements."""
    address = server.address.replace("http", "ws", 1) + "/_stcore/stream"
    tabs, tasks = [], []
    for _ in range(followers + 1):
        socket = await connect(address, subprotocols=["streamlit"], max_size=None, proxy=None)  # type: ignore[list-item]
        tabs.append(Tab(socket))
        tasks.append(asyncio.create_task(tabs[-1].listen()))
    leads, *rest = tabs
    await leads.open("encoder", text=f"The {sentence(0, 5)} is a [MASK].")
    await leads.press("Open a room")
    failed = [task.exception() for task in tasks if task.done()]
    assert not failed, failed
    found = re.search(r'atlas-code">([A-Z]{4})<', leads.html)
    assert found
    code = found[1]
    for tab in rest:
        await tab.open("", room=code)
    before, begun = server.processor_seconds(), time.perf_counter()
    await asyncio.sleep(QUIET)
    idle = (server.processor_seconds() - before) / (time.perf_counter() - begun)
    tasks += [asyncio.create_task(tab.look()) for tab in tabs]
    await asyncio.sleep(2)
    before, begun = server.processor_seconds(), time.perf_counter()
    await asyncio.sleep(QUIET)
    share = (server.processor_seconds() - before) / (time.perf_counter() - begun) - idle
    waits: list[float] = []
    own: list[float] = []
    for number in range(VIEWS):
        text, click = f"The {sentence(number + 1, 5)} is a [MASK].", time.perf_counter()
        await leads.open("encoder", text=text)
        own.append(leads.complete - click)
        here: dict[int, float] = {}
        while len(here) < followers:
            assert time.perf_counter() < click + MOST, "a follower has not come along"
            here |= {i: tab.complete - click for i, tab in enumerate(rest) if i not in here and tab.shows(text, click)}
            await asyncio.sleep(0.02)
        waits += here.values()
        await asyncio.sleep(PAUSE)
    for task in tasks:
        task.cancel()
    waits.sort()
    p95 = waits[int(0.95 * (len(waits) - 1))]
    print(f"{followers} followers: their looks take {share:.2f} processors")
    print(f"from the click, the instructor's page takes {statistics.median(own):.2f} s (p50), {max(own):.2f} s at most")
    print(f"the followers' {statistics.median(waits):.2f} s (p50), {p95:.2f} s (p95), {waits[-1]:.2f} s at most")
    goal("processors of the looks", share, SHARE, "processors")
    goal("p95 until a follower has the view", p95, DELAY, "s")


if __name__ == "__main__":
    with app() as started:
        started.wait()
        asyncio.run(measure(started, int(sys.argv[1]) if len(sys.argv) > 1 else 40))
