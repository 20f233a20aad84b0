"""What surrounds every page: the way in, the way around, and paths that do not exist."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from core.content import page_title
from tests.browser.conftest import ROOT, Visitor

PAGES = sorted({path.stem for path in (ROOT / "pages").glob("*.py")} - {"home"})


def test_sidebar_names_every_page_and_leads_there(visitor: Visitor) -> None:
    """That each page opens, under its title, is tested with its widths."""
    page = visitor.arrive("/")
    expect(page.get_by_role("heading", level=1)).to_have_text("Transformer Atlas")
    assert visitor.requests
    side = page.get_by_test_id("stSidebarNav")
    for name in PAGES:
        link = side.get_by_role("link", name=page_title(name), exact=True)
        expect(link).to_have_attribute("href", re.compile(f"/{name}$"))
    side.get_by_role("link", name=page_title("sources"), exact=True).click()
    expect(page).to_have_title(f"{page_title('sources')} · Transformer Atlas")
    expect(page).to_have_url(re.compile("/sources($|[?])"))
    visitor.settle()


def test_unknown_path_says_so_and_shows_home(visitor: Visitor) -> None:
    page = visitor.page
    page.goto(visitor.address + "/no-such-page")
    expect(page.get_by_role("dialog")).to_contain_text("Page not found")
    page.keyboard.press("Escape")
    visitor.settle()
    expect(page.get_by_role("heading", level=1)).to_have_text("Transformer Atlas")
    visitor.forgive("does not seem to exist")
