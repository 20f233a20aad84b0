"""A copied link as the very first request after a start, when no page of the app has run yet."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import BrowserContext, expect

from tests.browser.conftest import new_tab, running_app, visiting

VIEW = {"system": "bert", "tab": "tree", "node": "encoder.layer"}


def test_deep_link_right_after_a_start_opens_its_view(window: BrowserContext, tiny_root: Path, tmp_path: Path) -> None:
    with running_app(tiny_root, tmp_path) as address, new_tab(window) as tab, visiting(tab, address) as visitor:
        page = visitor.open(f"/encoder?{urlencode(VIEW)}")
        expect(page).to_have_title("Encoder · Transformer Atlas")
        expect(page.get_by_test_id("stSidebarNav").get_by_role("link", name="Encoder-decoder")).to_be_visible()
        expect(page.get_by_role("tree").locator("[aria-selected=true]").first).to_contain_text("layer")
        assert "node=encoder.layer" in visitor.query
