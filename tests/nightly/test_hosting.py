"""Below a path prefix, behind nginx with TLS: what a browser asks for is there, and is asked of that host alone."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage

from tests.browser.conftest import PROBES, STANDS, executable, wait_until_healthy
from tests.ports import free_port

ROOT = Path(__file__).parents[2]
NAME = "atlas.example.org"
NGINX = """
daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/nginx.log;
events {{ worker_connections 256; }}
http {{
  access_log off;
  client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
  uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
  server {{
    listen 127.0.0.1:{tls} ssl;
    ssl_certificate {folder}/cert.pem;
    ssl_certificate_key {folder}/key.pem;
    location /atlas/ {{
      proxy_pass http://127.0.0.1:{port};
      proxy_http_version 1.1;
      proxy_set_header Host $http_host;
      proxy_set_header X-Forwarded-Proto $scheme;
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection "upgrade";
      proxy_read_timeout 1h;
      proxy_max_temp_file_size 0;
    }}
  }}
}}
"""
VIEWS = (
    "",
    "encoder",
    "attention",
    "attention?tab=roles",
    "catalogue",
    "tokenizers",
    "glossary?term=attention",
)
HREFS = """
() => [...document.querySelectorAll("*")].flatMap((one) => [one, ...(one.shadowRoot?.querySelectorAll("*") ?? [])])
  .map((one) => one.getAttribute("href") ?? one.getAttribute("src")).filter((href) => href?.startsWith("/"))
"""
"""Every address on the page that begins at the root of the host, in components too."""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the app below ``/atlas`` behind nginx, with a certificate of its own."""
    if not (shutil.which("nginx") and shutil.which("openssl")):
        pytest.skip("needs nginx and openssl")
    folder, port, tls = tmp_path_factory.mktemp("proxy"), free_port(), free_port()
    certify = f"openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN={NAME}"
    subprocess.run(shlex.split(certify), cwd=folder, check=True, capture_output=True)
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder, port=port, tls=tls))
    environment = os.environ | {
        "STREAMLIT_SERVER_PORT": str(port),
        "STREAMLIT_SERVER_BASE_URL_PATH": "atlas",
        "ATLAS_HOSTS": NAME,
        "ATLAS_METRICS": "on",
    }
    log = (folder / "log.txt").open("w")
    commands = (
        ([sys.executable, "-m", "streamlit", "run", "app.py"], environment),
        (["nginx", "-c", str(folder / "nginx.conf")], None),
    )
    started = [subprocess.Popen(command, cwd=ROOT, env=env, stdout=log, stderr=log) for command, env in commands]
    try:
        wait_until_healthy(f"http://127.0.0.1:{port}/atlas", started[0], folder / "log.txt")
        yield f"https://{NAME}:{tls}/atlas"
    finally:
        for process in started:
            process.send_signal(signal.SIGTERM)
            process.wait(30)
        log.close()


@pytest.fixture
def window(chromium: Browser) -> Iterator[BrowserContext]:
    """A window of a Chromium for which the proxy's name is this machine, and no other name exists."""
    browser = chromium.browser_type.launch(
        executable_path=executable(),
        args=["--no-sandbox", "--disable-gpu", f"--host-resolver-rules=MAP {NAME} 127.0.0.1, MAP * ~NOTFOUND"],
    )
    yield browser.new_context(ignore_https_errors=True)
    browser.close()


def complaint(message: ConsoleMessage) -> list[str]:
    """An error in the console, but for Streamlit's search for the place of its server, found at the second try."""
    url = message.location.get("url", "")
    return [f"{message.text} ({url})"] if message.type == "error" and not url.endswith(PROBES) else []


def test_every_request_and_every_link_stays_below_the_prefix(address: str, window: BrowserContext) -> None:
    window.set_default_timeout(120_000)
    page = window.new_page()
    asked, missing, wrong, links = list[str](), list[str](), list[str](), 0
    page.on("websocket", lambda socket: asked.append(socket.url.replace("wss:", "https:")))
    page.on("request", lambda request: asked.append(request.url))
    page.on("response", lambda answer: missing.append(answer.url) if answer.status >= 400 else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: wrong.extend(complaint(message)))
    for view in VIEWS:
        page.goto(f"{address}/{view}")
        page.wait_for_function(STANDS)
        assert page.get_by_test_id("stException").count() == 0
        hrefs = page.evaluate(HREFS)
        links += len(hrefs)
        wrong += [f"{view}: {href}" for href in hrefs if not href.startswith("/atlas/")]
    page.get_by_role("link", name="Catalogue").first.click()
    page.wait_for_url(f"{address}/catalogue")
    for route in ("health", "ready", "metrics"):
        assert page.evaluate("async (url) => (await fetch(url)).status", f"{address}/{route}") == 200
    here = (address, "data:", "blob:")
    assert [url for url in asked if not url.startswith(here)] == []
    assert [url for url in missing if not url.endswith(PROBES)] == []
    assert wrong == []
    assert links > 100
