"""A small local server that speaks the Hugging Face Hub's protocol, with the faults that a network has.

What it knows of the protocol: the listing (``/api/models/ID``), ``/ID/resolve/REVISION/FILE`` which redirects, small
files relatively and large ones to another host name with ``X-Linked-Etag`` and ``X-Linked-Size``, byte ranges, and the
headers by which the client names a file in its cache.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

COMMIT = "c" * 40


@dataclass
class Hub:
    """A running server: what it serves, how it misbehaves, and what it was asked."""

    repositories: dict[str, dict[str, bytes]] = field(default_factory=dict)
    renamed: dict[str, str] = field(default_factory=dict)
    """Old ids, which redirect to new ones."""
    log: list[tuple[str, str, str | None]] = field(default_factory=list)
    """(method, path, Range header) of every request."""
    down: bool = False
    delay: float = 0.0
    """Seconds before any answer."""
    drop_after: int | None = None
    """Large files: the connection is cut after so many bytes of an answer, ``drops`` times."""
    drops: int = 0
    halved: bool = False
    """Large files: a well-formed answer that holds half of the file."""
    changed: bool = False
    """Large files: the right number of wrong bytes."""
    pause: float = 0.0
    """Large files: seconds between two pieces of 64 KB."""

    def start(self) -> str:
        """Serve on a free port of 127.0.0.1; returns the endpoint."""
        handler = type("Handler", (_Handler,), {"hub": self})
        self._server = _Server(("127.0.0.1", 0), handler)
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def stop(self) -> None:
        """Close the port."""
        self._server.shutdown()
        self._server.server_close()

    def serve_folder(self, hub_id: str, folder: Path) -> None:
        """Offer the files of a folder as repository ``hub_id``."""
        self.repositories[hub_id] = {file.name: file.read_bytes() for file in folder.iterdir()}

    def ranges(self) -> list[str]:
        """The Range headers that were sent, in order."""
        return [wanted for _, _, wanted in self.log if wanted]


def sha256(content: bytes) -> str:
    """The LFS hash."""
    return hashlib.sha256(content).hexdigest()


def git_hash(content: bytes) -> str:
    """git's hash of a blob."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def is_large(name: str) -> bool:
    """Whether the file is kept in LFS."""
    return name.endswith((".safetensors", ".bin"))


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Quiet: clients that give up are what these tests are about."""


class _Handler(BaseHTTPRequestHandler):
    hub: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, *args: Any) -> None:
        """Quiet."""

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def _answer(self, body: bool) -> None:
        path = urlparse(self.path).path
        self.hub.log.append((self.command, path, self.headers.get("Range")))
        time.sleep(self.hub.delay)
        if self.hub.down:
            return self._send(503, b"down", body)
        parts = path.strip("/").split("/")
        for old, new in self.hub.renamed.items():
            if f"/{old}/" in f"{path}/":
                return self._send(307, b"", body, {"Location": path.replace(old, new)})
        match parts:
            case ["api", "models", *name]:
                return self._listing("/".join(name), body)
            case ["small", *name, file]:
                content = self.hub.repositories["/".join(name)][file]
                return self._send(200, content, body, {"ETag": f'"{git_hash(content)}"', "X-Repo-Commit": COMMIT})
            case ["large", *name, file]:
                return self._large(self.hub.repositories["/".join(name)][file], body)
            case [*name, "resolve", _, file]:
                return self._resolve("/".join(name), file)
        return self._send(404, b"no such page", body)

    def _listing(self, name: str, body: bool) -> None:
        files = self.hub.repositories.get(name)
        if files is None:
            return self._send(404, b"{}", body, {"X-Error-Code": "RepoNotFound"})
        siblings: list[dict[str, Any]] = []
        for file, content in files.items():
            row: dict[str, Any] = {"rfilename": file, "size": len(content), "blobId": git_hash(content)}
            if is_large(file):
                row["lfs"] = {"sha256": sha256(content), "size": len(content), "pointerSize": 134}
            siblings.append(row)
        answer = {"id": name, "modelId": name, "sha": COMMIT, "siblings": siblings, "tags": [], "private": False}
        return self._send(200, json.dumps(answer).encode(), body, {"Content-Type": "application/json"})

    def _resolve(self, name: str, file: str) -> None:
        content = self.hub.repositories.get(name, {}).get(file)
        if content is None:
            return self._send(404, b"", True, {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": COMMIT})
        if not is_large(file):
            return self._send(307, b"", True, {"Location": f"/small/{name}/{file}", "X-Repo-Commit": COMMIT})
        elsewhere = f"http://localhost:{self.server.server_address[1]}/large/{name}/{file}"
        headers = {
            "Location": elsewhere,
            "X-Repo-Commit": COMMIT,
            "X-Linked-Etag": f'"{sha256(content)}"',
            "X-Linked-Size": str(len(content)),
        }
        return self._send(302, b"", True, headers)

    def _large(self, content: bytes, body: bool) -> None:
        if self.hub.changed:
            content = bytes(len(content))
        if self.hub.halved:
            return self._send(200, content[: len(content) // 2], body)
        start, headers = 0, {"Accept-Ranges": "bytes"}
        if wanted := self.headers.get("Range"):
            start = int(wanted.removeprefix("bytes=").split("-")[0])
            headers["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
        remaining = content[start:]
        self.send_response(206 if wanted else 200)
        for key, value in {**headers, "Content-Length": str(len(remaining))}.items():
            self.send_header(key, value)
        self.end_headers()
        if self.hub.drop_after is not None and self.hub.drops > 0:
            self.hub.drops -= 1
            self.wfile.write(remaining[: self.hub.drop_after])
            self.close_connection = True
            return
        for at in range(0, len(remaining), 65536):
            self.wfile.write(remaining[at : at + 65536])
            time.sleep(self.hub.pause)

    def _send(self, status: int, content: bytes, body: bool, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for key, value in {**(headers or {}), "Content-Length": str(len(content))}.items():
            self.send_header(key, value)
        self.end_headers()
        if body and self.command != "HEAD":
            self.wfile.write(content)
