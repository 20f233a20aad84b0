"""Who is answered: security headers on every response, and hosts, origins and paths that are refused.

A request whose ``Host`` names another machine is refused: a foreign page could otherwise read a local Atlas by
resolving its own name to 127.0.0.1 (DNS rebinding). ``ATLAS_HOSTS`` lists the names that are accepted.
"""

from __future__ import annotations

import html
import ipaddress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import streamlit as st
from starlette.datastructures import MutableHeaders
from starlette.responses import HTMLResponse, PlainTextResponse
from starlette.websockets import WebSocketClose

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

# Streamlit's client writes styles and compiles functions for its charts; the pages of bertviz are data: frames with
# scripts of their own. Nothing may come from, or go to, another host.
POLICY = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self' 'unsafe-inline' 'unsafe-eval' 'wasm-unsafe-eval' blob:",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "font-src 'self' data:",
        "connect-src 'self' data: blob:",
        "worker-src 'self' blob:",
        "frame-src 'self' data: blob:",
        "frame-ancestors 'self'",
        "object-src 'none'",
        "base-uri 'self'",
        "form-action 'self'",
    )
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
}
PRIVATE = ("/metrics", "/_stcore/metrics")
"""Paths that answer 404 unless the host opens them."""
_FILES = ("static", "media", "component", "vendor", "app", "auth")
"""First parts of Streamlit's paths of files and of a log-in, beside those that begin with an underscore."""
_FORWARDED = {b"forwarded", b"x-forwarded-for", b"x-real-ip"}
"""Headers of a request that came through a proxy."""


class Secured:
    """ASGI middleware: adds :data:`HEADERS` to responses, hides :data:`PRIVATE` paths, refuses foreign hosts and
    origins."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_secured(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        headers = dict(scope.get("headers", ()))
        host, origin, accepted = (headers.get(name, b"").decode("latin-1") for name in (b"host", b"origin", b"accept"))
        if scope["type"] == "websocket":
            # ASGI turns a WebSocket that is closed before it opens into a response with status 403.
            answer = self.app if answers_to(host) and may_connect(origin, host) else WebSocketClose()
            await answer(scope, receive, send)
        elif scope["type"] != "http":
            await self.app(scope, receive, send)
        else:
            if not answers_to(host):
                answer = _other_host()
            elif scope["path"].endswith(PRIVATE) and not _may_measure(scope):
                answer = PlainTextResponse("Not found", 404)
            elif "text/html" in accepted and _is_below_a_page(scope["path"]):
                answer = _no_page()
            else:
                answer = self.app
            await answer(scope, receive, send_secured)


def _other_host() -> PlainTextResponse:
    """The response to a foreign ``Host``."""
    from core.content import content

    return PlainTextResponse(content("frame", "links").part("Other host"), 421)


def prefix() -> str:
    """What the host's ``server.baseUrlPath`` puts before every path, without slashes around it."""
    return (st.get_option("server.baseUrlPath") or "").strip("/")


def _is_below_a_page(path: str) -> bool:
    """Whether a path has a part more than any page: Streamlit would answer with its own page, whose scripts are named
    relative to the path, so it would stay blank."""
    parts = path.strip("/").removeprefix(prefix()).strip("/").split("/")
    return len(parts) > 1 and not parts[0].startswith(("_", "~")) and parts[0] not in _FILES


def _no_page() -> HTMLResponse:
    """The response to a path that is no page's, with a link to Home."""
    from core.content import content

    words = content("frame", "links")
    link = f'<a href="/{html.escape(prefix())}">{html.escape(words.label("home"))}</a>'
    text = html.escape(words.part("No page"))
    return HTMLResponse(f'<!doctype html><html lang="en"><title>404</title><p>{text} {link}</p></html>', 404)


def may_connect(origin: str, host: str) -> bool:
    """Whether a page of this ``Origin`` may open a session: ours, or one that the host names in
    ``server.corsAllowedOrigins``. Streamlit would let in every port of this machine, another user's included. No
    browser omits the header."""
    try:
        same_host = urlsplit(origin).netloc.lower() == host.lower()
    except ValueError:
        return False
    named = (str(name).strip().rstrip("/") for name in st.get_option("server.corsAllowedOrigins") or ())
    return not origin or same_host or origin in named or not st.get_option("server.enableCORS")


def _may_measure(scope: Scope) -> bool:
    """Whether the host opened the measures, and the request comes from inside: a proxy to the outside names whom it
    forwards for, Prometheus asks each process itself."""
    return setting("metrics") == "on" and not _FORWARDED & dict(scope.get("headers", ())).keys()


def answers_to(host: str) -> bool:
    """Whether requests for this ``Host`` are accepted: IP addresses and localhost always, names by ``ATLAS_HOSTS``.

    Only a name can be resolved to another address. No browser omits the header.
    """
    try:
        name = (urlsplit(f"//{host}").hostname or "").rstrip(".")
    except ValueError:
        return False
    if not host or name == "localhost" or name.endswith(".localhost") or _is_address(name):
        return True
    hosts = setting("hosts")
    if not hosts:
        return not _is_loopback(st.get_option("server.address"))
    patterns = hosts.lower().replace(",", " ").split()
    return any(name == pattern or (pattern.startswith("*") and name.endswith(pattern[1:])) for pattern in patterns)


def _is_address(name: str) -> bool:
    try:
        return bool(ipaddress.ip_address(name))
    except ValueError:
        return False


def _is_loopback(address: str | None) -> bool:
    """Whether the server listens on this machine only; without an address it listens on all interfaces."""
    return address == "localhost" or (
        address is not None and _is_address(address) and ipaddress.ip_address(address).is_loopback
    )


def setting(name: str) -> str | None:
    """The value of a setting; None if the settings are invalid, which the pages report."""
    from core.errors import SettingUnusable
    from core.settings import settings

    try:
        value: str | None = getattr(settings(), name)
    except SettingUnusable:
        return None
    return value
