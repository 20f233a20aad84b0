"""The server that ``streamlit run app.py`` starts: it asks no other host, whoever knocks."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import connect

from tests.ports import free_port

ROOT = Path(__file__).resolve().parents[2]
RECORDER = """
import html, os, socket, sys

def recording(kept):
    def asked(*words, **named):
        address = words[1] if kept is connect else words
        host = str(address[0]) if isinstance(address, tuple) else ""
        silent = kept is connect and words[0].type == socket.SOCK_DGRAM  # chooses an interface, sends nothing
        if not silent and host and not host.startswith(("127.", "0.0.0.0", "localhost")):
            with open(os.environ["ASKED"], "a") as file:
                print(host, file=file)
            raise OSError("no network here")
        return kept(*words, **named)
    return asked

connect, lookup = socket.socket.connect, socket.getaddrinfo
socket.socket.connect, socket.getaddrinfo = recording(connect), recording(lookup)

def opened(event, words):
    if event == "open" and words[2] & (os.O_WRONLY | os.O_RDWR):
        os.write(written, f"{words[0]}\\n".encode())

written = os.open(os.environ["WRITTEN"], os.O_WRONLY | os.O_CREAT)
sys.addaudithook(opened)

def escaped(text, quote=True, kept=html.escape):
    if "defect" in text:
        raise ValueError(f"{text!r} has met a defect")
    return kept(text, quote)

html.escape = escaped
"""
"""Python runs it first, as ``sitecustomize``: it writes down each name that is looked up, each connection and each file
that is opened for writing, and plants a defect that only some texts meet."""


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, Path, Path]]:
    """The port of a server that has just started and has run no page, as in a container; what it asked; its log."""
    folder = tmp_path_factory.mktemp("server")
    (folder / "sitecustomize.py").write_text(RECORDER)
    asked, log = folder / "asked.txt", folder / "log.txt"
    asked.touch()
    port = free_port()
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("ATLAS_", "STREAMLIT_"))}
    environment |= {"PYTHONPATH": str(folder), "ASKED": str(asked), "WRITTEN": str(folder / "written.txt")}
    environment |= {"ATLAS_CHECKPOINT_DIR": str(folder / "nowhere")}
    environment |= {"STREAMLIT_SERVER_ADDRESS": "0.0.0.0", "STREAMLIT_SERVER_PORT": str(port)}
    environment |= {"STREAMLIT_SERVER_BASE_URL_PATH": "atlas", "ATLAS_HOSTS": "atlas.example"}
    with log.open("w") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "streamlit", "run", "app.py"],
            cwd=ROOT,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/atlas/_stcore/health", timeout=5).close()
                break
            except OSError:
                assert process.poll() is None, log.read_text()
                time.sleep(0.1)
        yield port, asked, log
    finally:
        process.terminate()
        process.wait(120)


def handshake(port: int, origin: str, host: str = "127.0.0.1") -> str:
    """The first line with which the server answers to a browser's wish for a WebSocket."""
    with socket.create_connection(("127.0.0.1", port), timeout=120) as stream:
        lines = (
            "GET /atlas/_stcore/stream HTTP/1.1",
            f"Host: {host}:{port}",
            f"Origin: {origin}",
            "Upgrade: websocket",
            "Connection: Upgrade",
            "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        )
        stream.sendall("".join(f"{line}\r\n" for line in (*lines, "")).encode())
        return stream.recv(1000).decode().splitlines()[0]


def test_a_foreign_origin_is_refused_without_a_question_to_another_host(started: tuple[int, Path, Path]) -> None:
    port, asked, _ = started
    assert " 403 " in handshake(port, "http://evil.example")
    assert " 101 " in handshake(port, f"http://127.0.0.1:{port}")
    assert " 101 " in handshake(port, f"http://atlas.example:{port}", "atlas.example")
    assert " 403 " in handshake(port, f"http://evil.example:{port}", "evil.example")
    with pytest.raises(urllib.error.HTTPError, match="421"):
        urllib.request.urlopen(
            urllib.request.Request(f"http://127.0.0.1:{port}/atlas/", headers={"Host": "evil.example"})
        )
    assert asked.read_text() == ""


def test_the_log_says_at_the_start_that_the_checkpoint_directory_is_missing(started: tuple[int, Path, Path]) -> None:
    _, _, log = started
    end = time.monotonic() + 120
    while "ATLAS_CHECKPOINT_DIR names does not exist" not in log.read_text():
        assert time.monotonic() < end, log.read_text()
        time.sleep(0.1)


def test_pages_and_files_carry_the_security_headers_and_measures_are_closed(started: tuple[int, Path, Path]) -> None:
    port, _, _ = started
    for path in ("/", "/encoder", "/_stcore/host-config"):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/atlas{path}", timeout=120) as page:
            assert "frame-ancestors 'self'" in page.headers["Content-Security-Policy"]
            assert page.headers["X-Content-Type-Options"] == "nosniff"
    for path in ("/metrics", "/atlas/metrics", "/atlas/_stcore/metrics"):
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=120)
    end = time.monotonic() + 120
    while not is_ready(port):
        assert time.monotonic() < end
        time.sleep(0.1)


def is_ready(port: int) -> bool:
    """Whether the server says that it is ready; any answer but yes and not yet is an error."""
    try:
        return urllib.request.urlopen(f"http://127.0.0.1:{port}/atlas/ready", timeout=120).read() == b"ready"
    except urllib.error.HTTPError as error:
        if error.code == 503:
            return False
        raise


def visit(port: int, page: str, text: str) -> bytes:
    """All that a browser is sent which opens a page with a text in its link."""
    message, said = BackMsg(), b""
    message.rerun_script.page_name = page
    message.rerun_script.query_string = urlencode({"text": text})
    address = f"ws://127.0.0.1:{port}/atlas/_stcore/stream"
    with connect(address, subprotocols=["streamlit"], max_size=None, proxy=None) as line:
        line.send(message.SerializeToString())
        ended = None
        while ended is None or ended == ForwardMsg.FINISHED_EARLY_FOR_RERUN:
            data = line.recv(timeout=120)
            said += data
            part = ForwardMsg.FromString(data)
            ended = part.script_finished if part.WhichOneof("type") == "script_finished" else None
    return said


def test_a_visitors_text_is_in_no_log_and_in_no_file(started: tuple[int, Path, Path]) -> None:
    port, _, log = started
    assert b"platypus" in visit(port, "tokenizers", "The platypus sat.")
    visit(port, "tokenizers", "The platypus sat. A defective wombat sat.")
    assert re.search("core/ui/tokenizers.*ValueError", log.read_text(), re.DOTALL)
    written = (log.parent / "written.txt").read_text().splitlines()
    for path in map(Path, ["log.txt", *written]):
        if (log.parent / path).is_file():
            assert not re.search(rb"platypus|defective|wombat", (log.parent / path).read_bytes()), path


def test_the_first_runs_of_a_server_go_through_the_page_table() -> None:
    asked = "import app; from core.ui.streamlit_internals import has_page_table; print(has_page_table())"
    said = subprocess.run([sys.executable, "-c", asked], cwd=ROOT, capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "True"
