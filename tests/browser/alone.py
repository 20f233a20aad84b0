"""Pages that stand alone: opened in a browser, with an ear for everything that goes wrong."""

from __future__ import annotations

from playwright.sync_api import BrowserContext, Page, ViewportSize

from core.webpage import data_url

DRAWN = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))"
"""What a page draws once it knows its size is drawn: a busy browser comes to it after the page has loaded."""


def open_alone(bare: BrowserContext, html: str, viewport: ViewportSize | None = None) -> tuple[Page, list[str]]:
    """The page as the app shows it, from a ``data:`` address; and what it asked for, complained of, or put up."""
    page = bare.new_page()
    if viewport:
        page.set_viewport_size(viewport)
    trouble: list[str] = []
    page.on("request", lambda request: None if request.url.startswith("data:") else trouble.append(request.url))
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on("dialog", lambda dialog: (trouble.append("dialog"), dialog.dismiss()))
    page.on("console", lambda message: trouble.append(message.text) if message.type == "error" else None)
    page.goto(data_url(html))
    page.evaluate(DRAWN)
    return page, trouble
