"""What surrounds every page: the way in, the way around, and paths that do not exist."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import Visitor

PAGES = {
    "/encoder": "Encoder",
    "/decoder": "Decoder",
    "/encoder-decoder": "Encoder-decoder",
    "/efficient": "Efficient",
    "/attention": "Attention",
    "/calculators": "Calculators",
    "/zoo": "Models",
    "/sources": "Sources and errata",
    "/glossary": "Glossary",
    "/search": "Search",
    "/about": "About",
}


def test_sidebar_leads_everywhere(visitor: Visitor) -> None:
    page = visitor.arrive("/")
    expect(page.get_by_role("heading", level=1)).to_have_text("Transformer Atlas")
    assert visitor.requests
    side = page.get_by_test_id("stSidebarNav")
    for path, title in PAGES.items():
        side.get_by_role("link", name=title, exact=True).click()
        expect(page).to_have_title(f"{title} · Transformer Atlas")
        expect(page).to_have_url(re.compile(f"{re.escape(visitor.address + path)}($|[?])"))
        visitor.settle()
        assert page.get_by_test_id("stAlertContentError").count() == 0, path


def test_unknown_path_says_so_and_shows_home(visitor: Visitor) -> None:
    page = visitor.page
    page.goto(visitor.address + "/no-such-page")
    expect(page.get_by_role("dialog")).to_contain_text("Page not found")
    page.keyboard.press("Escape")
    visitor.settle()
    expect(page.get_by_role("heading", level=1)).to_have_text("Transformer Atlas")
    visitor.forgive("does not seem to exist")
