"""Rooms on a real Redis: the unit tests of `core.rooms`, and a lecture over two processes while Redis comes and goes.

Needs redis-server on the path and ``requirements-redis.txt``.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from core.content import content
from core.errors import RoomsUnavailable
from core.rooms import Rooms
from core.rooms.store import REST, Store, redis_store
from tests.browser.conftest import STANDS, wait_until_healthy
from tests.ports import free_port
from tests.unit.test_rooms import *  # noqa: F403
from tests.unit.test_rooms import ENCODER
from tests.unit.test_rooms_classroom import *  # noqa: F403

redis = pytest.importorskip("redis")
SERVER = shutil.which("redis-server") or pytest.skip("needs redis-server", allow_module_level=True)
ROOT = Path(__file__).parents[2]
WORDS = content("frame", "room")


class Redis:
    """A server that can be killed and started again, empty."""

    def __init__(self) -> None:
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.start()

    def start(self) -> None:
        command = [SERVER, "--port", str(self.port), "--save", "", "--appendonly", "no", "--daemonize", "no"]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        client, end = redis.Redis.from_url(self.url), time.monotonic() + 30
        while True:
            try:
                client.ping()
                return
            except redis.RedisError:
                assert time.monotonic() < end
                time.sleep(0.05)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture(scope="module")
def server() -> Iterator[Redis]:
    started = Redis()
    yield started
    started.kill()


@pytest.fixture
def store(server: Redis) -> Store:
    redis.Redis.from_url(server.url).flushall()
    return redis_store(server.url)


def test_nothing_is_left_in_redis_for_good(store: Store, server: Redis) -> None:
    lead, client = Rooms(store), redis.Redis.from_url(server.url, decode_responses=True)
    code, token = lead.open(ENCODER)
    lead.join(code, "a")
    lead.ask(code, token, "?")
    room = lead.room(code)
    assert room is not None
    assert room.question is not None
    lead.answer(code, "a", room.question, "king")
    assert len(client.keys()) == 4
    assert {name for name in client.keys() if client.ttl(name) < 0} <= {"atlas:rooms"}  # noqa: SIM118
    lead.end(code, token)
    assert client.keys() == [f"atlas:room:{code}"]
    assert "king" not in str(client.hgetall(f"atlas:room:{code}"))


def test_redis_is_gone_and_comes_back_empty(server: Redis, store: Store) -> None:
    lead = Rooms(store)
    code, token = lead.open(ENCODER)
    server.kill()
    with pytest.raises(RoomsUnavailable):
        lead.version(code)
    begun = time.monotonic()
    with pytest.raises(RoomsUnavailable):
        lead.attend(code, token)
    assert time.monotonic() - begun < 0.1, "nobody waits for it twice"
    server.start()
    time.sleep(REST)
    assert lead.version(code) is None
    lead.open_again(ENCODER, code, token)
    assert lead.attend(code, token) == (0, 0)


@pytest.fixture
def apps(server: Redis, tmp_path: Path) -> Iterator[list[str]]:
    """The addresses of two app processes that share ``server``."""
    ports, started = [free_port(), free_port()], []
    for port in ports:
        environment = os.environ | {"ATLAS_REDIS_URL": server.url, "STREAMLIT_SERVER_PORT": str(port)}
        command = [sys.executable, "-m", "streamlit", "run", "app.py"]
        log = tmp_path / f"{port}.txt"
        with log.open("w") as file:
            started.append(subprocess.Popen(command, cwd=ROOT, env=environment, stdout=file, stderr=file))
    try:
        for port, process in zip(ports, started, strict=True):
            wait_until_healthy(f"http://127.0.0.1:{port}", process, tmp_path / f"{port}.txt")
        yield [f"http://127.0.0.1:{port}" for port in ports]
    finally:
        for process in started:
            process.terminate()
            process.wait(30)


def window(chromium: Browser, address: str) -> Page:
    context = chromium.new_context(viewport={"width": 1280, "height": 720})
    context.set_default_timeout(60_000)
    page = context.new_page()
    page.goto(address)
    page.wait_for_function(STANDS)
    return page


def test_a_lecture_over_two_processes_a_reload_and_a_lost_redis(
    apps: list[str], server: Redis, chromium: Browser
) -> None:
    expect.set_options(timeout=60_000)
    leads = window(chromium, f"{apps[0]}/catalogue")
    leads.get_by_role("button", name=WORDS.title).click()
    leads.get_by_role("button", name=WORDS.label("open")).click()
    code = leads.locator(".atlas-code").first.inner_text()
    assert re.fullmatch("[A-Z]{4}", code)
    follows = window(chromium, f"{apps[1]}/?room={code.lower()}")
    expect(follows).to_have_url(f"{apps[1]}/catalogue")
    expect(leads.get_by_text("1 follower", exact=True)).to_be_visible()

    leads.goto(f"{apps[0]}/encoder?text=The+old+%5BMASK%5D+slept.")  # as a reload: the tab's session is new
    expect(follows).to_have_url(re.compile(r"/encoder\?text=The\+old\+%5BMASK%5D\+slept"))
    expect(follows.get_by_role("textbox", name="Sentence")).to_have_value("The old [MASK] slept.")
    expect(leads.locator(".atlas-code").first).to_have_text(code)

    leads.get_by_role("button", name=WORDS.label("ask"), exact=True).click()
    leads.get_by_role("button", name=WORDS.label("send")).click()
    follows.get_by_role("textbox", name=WORDS.part("Which")).fill("<b>king</b>")
    follows.keyboard.press("Enter")
    expect(leads.get_by_text("1 answer", exact=False)).to_be_visible()
    leads.keyboard.press("Escape")
    leads.get_by_role("button", name=WORDS.label("reveal")).click()
    for page in (leads, follows):
        expect(page.get_by_role("rowheader", name="<b>king</b>")).to_be_visible()

    server.kill()
    expect(follows.get_by_text("Rooms cannot be reached")).to_be_visible()
    expect(leads.get_by_text("Rooms cannot be reached")).to_be_visible()
    server.start()
    expect(leads.get_by_text("1 follower", exact=True)).to_be_visible()
    leads.get_by_role("link", name="Glossary").first.click()
    expect(follows).to_have_url(f"{apps[1]}/glossary")

    follows.reload()
    follows.wait_for_function(STANDS)
    expect(follows.locator(".atlas-code").first).to_have_text(code)
    follows.get_by_text(WORDS.label("follow")).click()
    leads.get_by_role("link", name="Catalogue").first.click()
    leads.wait_for_function(STANDS)
    time.sleep(5)
    expect(follows).to_have_url(f"{apps[1]}/glossary")
    follows.get_by_text(WORDS.label("follow")).click()
    expect(follows).to_have_url(f"{apps[1]}/catalogue")
    leads.get_by_role("button", name=WORDS.label("end")).click()
    expect(follows.get_by_text(WORDS.part("Ended"))).to_be_visible()
    for page in (leads, follows):
        assert page.evaluate("sessionStorage.getItem('atlas.room')") is None
        page.context.close()
