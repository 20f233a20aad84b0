"""Pages that stand alone: opened in a browser, with an ear for everything that goes wrong."""

from __future__ import annotations

from playwright.sync_api import BrowserContext, FrameLocator, Locator, Page, ViewportSize, expect

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


def step(page: Page | FrameLocator, name: str) -> Locator:
    """A choice of a page that stands alone or in a frame: two buttons around what is chosen."""
    return page.locator(f".step[aria-label='{name}']")


def choose(page: Page | FrameLocator, name: str, value: str) -> None:
    """Press *Next* until ``value`` is chosen."""
    group = step(page, name)
    values = group.locator("option").all_text_contents()
    chosen = group.locator(".now")
    at = values.index(chosen.inner_text())
    for _ in range((values.index(value) - at) % len(values)):
        group.get_by_role("button", name="Next").click()
    expect(chosen).to_have_text(value)
