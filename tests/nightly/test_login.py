"""``ATLAS_LOGIN=on`` with a provider of OpenID Connect on this machine: needs ``requirements-login.txt``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

import pytest
from playwright.sync_api import Browser, expect

from core.content import content
from tests.browser.conftest import STANDS, wait_until_healthy
from tests.ports import free_port

pytest.importorskip("authlib")
jwt = pytest.importorskip("joserfc.jwt")
RSAKey = pytest.importorskip("joserfc.jwk").RSAKey
ROOT = Path(__file__).parents[2]
WORDS = content("server", "login")
CLIENT = "atlas"


class Provider(BaseHTTPRequestHandler):
    """Lets everybody in as Ada: metadata, keys, consent, and the token for a code, which is its request's nonce."""

    key = RSAKey.generate_key(2048, {"kid": "one", "use": "sig", "alg": "RS256"})

    def do_GET(self) -> None:
        issuer = f"http://127.0.0.1:{self.server.server_address[1]}"
        parts = urlsplit(self.path)
        if parts.path == "/authorize":
            asked = dict(parse_qsl(parts.query))
            self.send_response(302)
            answer = urlencode({"code": asked["nonce"], "state": asked["state"]})
            self.send_header("Location", f"{asked['redirect_uri']}?{answer}")
            self.end_headers()
        elif parts.path == "/keys":
            self._say({"keys": [self.key.as_dict(private=False)]})
        else:
            self._say(
                {
                    "issuer": issuer,
                    "authorization_endpoint": f"{issuer}/authorize",
                    "token_endpoint": f"{issuer}/token",
                    "jwks_uri": f"{issuer}/keys",
                    "id_token_signing_alg_values_supported": ["RS256"],
                }
            )

    def do_POST(self) -> None:
        asked = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        now = int(time.time())
        claims = {
            "iss": f"http://127.0.0.1:{self.server.server_address[1]}",
            "aud": CLIENT,
            "sub": "ada",
            "name": "Ada",
            "iat": now,
            "exp": now + 600,
            "nonce": asked["code"][0],
        }
        token = jwt.encode({"alg": "RS256", "kid": "one"}, claims, self.key)
        self._say({"access_token": "one", "token_type": "Bearer", "id_token": token, "expires_in": 600})

    def _say(self, answer: dict[str, object]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, *words: object) -> None:
        """Nothing."""


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """The address of an app that asks for a log-in at :class:`Provider`."""
    provider = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    threading.Thread(target=provider.serve_forever, daemon=True).start()
    port = free_port()
    secrets = {
        "redirect_uri": f"http://localhost:{port}/oauth2callback",
        "cookie_secret": "a secret of this test, longer than thirty-two bytes",
        "client_id": CLIENT,
        "client_secret": "known to both",
        "server_metadata_url": f"http://127.0.0.1:{provider.server_address[1]}/.well-known/openid-configuration",
    }
    lines = [f"{name} = {json.dumps(value)}" for name, value in secrets.items()]
    (tmp_path / "secrets.toml").write_text("\n".join(["[auth]", *lines]))
    environment = os.environ | {
        "ATLAS_LOGIN": "on",
        "STREAMLIT_SERVER_PORT": str(port),
        "STREAMLIT_SECRETS_FILES": str(tmp_path / "secrets.toml"),
    }
    command = [sys.executable, "-m", "streamlit", "run", "app.py"]
    with (tmp_path / "log.txt").open("w") as log:
        server = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)
        try:
            wait_until_healthy(f"http://127.0.0.1:{port}", server, tmp_path / "log.txt")
            yield f"http://localhost:{port}"
        finally:
            server.terminate()
            server.wait(30)
            provider.shutdown()


def test_a_visitor_logs_in_looks_around_and_logs_out(address: str, chromium: Browser) -> None:
    context = chromium.new_context()
    context.set_default_timeout(120_000)
    page = context.new_page()

    def stands(path: str) -> None:
        page.goto(address + path)
        page.wait_for_function(STANDS)

    for path in ("/", "/glossary", "/encoder?system=roberta"):
        stands(path)
        expect(page.get_by_role("heading", level=1)).to_have_text(WORDS.title)
        expect(page.get_by_text(WORDS.part("Log in"))).to_be_visible()
        assert page.get_by_role("link").all_inner_texts() == ["Skip to main content"]
    with page.expect_navigation():
        page.get_by_role("button", name=WORDS.label("button")).click()
    out = page.get_by_role("button", name=WORDS.label("out"))
    page.wait_for_url(f"{address}/encoder?system=roberta")
    page.wait_for_function(STANDS)
    expect(page.get_by_role("heading", level=1)).to_contain_text(content("encoder").title)
    expect(out).to_be_visible(timeout=60_000)
    stands("/")
    expect(page.get_by_role("heading", level=1)).not_to_contain_text(content("encoder").title)
    stands("/glossary")
    expect(page.get_by_role("heading", level=1)).to_have_text(content("glossary").title)
    out.click()
    expect(page.get_by_role("button", name=WORDS.label("button"))).to_be_visible()
    stands("/glossary")
    expect(page.get_by_role("heading", level=1)).to_have_text(WORDS.title)
    context.close()
