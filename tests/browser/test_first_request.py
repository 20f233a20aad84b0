"""A copied link as the very first request after a start, when no page of the app has run yet."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import BrowserContext, expect

from tests.browser.conftest import running_app, visiting

VIEW = {"tab": "heads", "model": "dir-tiny-bert", "text": "the cat looked at the dog", "layer": 2, "head": 1}


def test_deep_link_right_after_a_start_opens_its_view(window: BrowserContext, tiny_root: Path, tmp_path: Path) -> None:
    with running_app(tiny_root, tmp_path) as address, visiting(window, address) as visitor:
        page = visitor.open(f"/encoder?{urlencode(VIEW)}")
        expect(page).to_have_title("Encoder · Transformer Atlas")
        expect(page.get_by_test_id("stSidebarNav").get_by_role("link", name="Encoder-decoder")).to_be_visible()
        expect(page.get_by_role("textbox", name="Text")).to_have_value("the cat looked at the dog")
        expect(page.get_by_role("figure", name="Heat map of layer 2, head 1")).to_be_visible()
        assert "layer=2" in visitor.query
