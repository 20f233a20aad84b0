"""A real server with many visitors: its limits, the place in the queue, and long work that is stopped."""

from __future__ import annotations

import re
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
from _app import App, app
from _visitor import Visitor, sentence

PLACES = 12


@pytest.fixture(scope="module")
def server() -> Iterator[App]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATLAS_MAX_SESSIONS", str(PLACES))
        patch.setenv("ATLAS_METRICS", "on")
        with app() as started:
            started.wait()
            with Visitor(started) as first:
                first.open("attention", tab="all", text="The king")
                first.open("generation", text="The king", length=8)
            yield started


def metric(server: App, name: str) -> float:
    with urllib.request.urlopen(f"{server.address}/metrics", timeout=30) as answer:
        (value,) = re.findall(rf"^{name} (\S+)$", answer.read().decode(), re.MULTILINE)
    return float(value)


def test_one_visitor_too_many_reads_so_and_those_before_go_on(server: App) -> None:
    heard: list[bytes] = []
    with ExitStack() as tabs:
        visitors = [tabs.enter_context(Visitor(server)) for _ in range(PLACES)]
        for visitor in visitors:
            visitor.open("glossary")
        late = tabs.enter_context(Visitor(server, heard.append))
        late.open("encoder")
        assert b"The server is full" in b"".join(heard)
        assert metric(server, "atlas_refused_runs") == 1
        assert metric(server, "atlas_sessions") == PLACES
        visitors[0].open("encoder")
        visitors[1].close()
        heard.clear()
        time.sleep(1)  # the server learns that a tab is closed
        late.open("encoder")
        assert b"The server is full" not in b"".join(heard)


def test_who_waits_reads_how_many_are_ahead(server: App) -> None:
    heard: list[bytes] = []

    def visit(number: int) -> None:
        with Visitor(server, heard.append) as visitor:
            visitor.open("attention", tab="all", text=sentence(number, 200))

    threads = [threading.Thread(target=visit, args=(number,)) for number in range(PLACES)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert re.search(rb"\d+ visitors? (?:is|are) ahead of you", b"".join(heard))
    assert metric(server, "atlas_waiting_runs") == 0


class Leaves(Exception):
    """A visitor closes the tab."""


def test_a_closed_tab_ends_its_training(server: App) -> None:
    def hear(data: bytes) -> None:
        if b"fine-tuning.growing" in data:  # the chart of the first epochs
            raise Leaves

    with pytest.raises(Leaves), Visitor(server, hear) as visitor:
        visitor.open("training", tab="train", epochs=40, seed=7)
    closed = time.monotonic()
    while True:  # 40 epochs of three runs would take their 30 seconds each
        with urllib.request.urlopen(f"{server.address}/metrics", timeout=30) as answer:
            if b'atlas_run_seconds_count{page="training"} 1.0' in answer.read():
                break
        assert time.monotonic() - closed < 10
        time.sleep(0.1)


@pytest.mark.parametrize(
    ("page", "query"),
    [
        ("generation", {"text": "The old", "rules": "beam-8", "length": 200}),
        ("attention", {"tab": "all", "together": "flow", "text": sentence(77, 26)}),
    ],
)
def test_long_work_ends_where_it_is_stopped(server: App, page: str, query: dict[str, Any]) -> None:
    stop = BackMsg()
    stop.stop_script = True
    with Visitor(server) as visitor:
        timer = threading.Timer(0.5, lambda: visitor._socket.send(stop.SerializeToString()))
        begun = time.monotonic()
        timer.start()
        visitor.open(page, **query)
        spent = time.monotonic() - begun
        again = time.monotonic()
        visitor.open(page, **query)  # the whole of it
        assert spent < 0.5 * (time.monotonic() - again) + 0.5
