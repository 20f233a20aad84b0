"""Links: copied, set back, and with a long text."""

from __future__ import annotations

import re
from urllib.parse import urlencode

from playwright.sync_api import expect

from tests.browser.conftest import Visitor

TEXT = "the cat sat on the mat"


def test_copy_link_and_reset(visitor: Visitor) -> None:
    page = visitor.open(f"/encoder?{urlencode({'model': 'dir-tiny-bert', 'text': TEXT, 'mask': '2'})}")
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_text("Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == page.url
    page.get_by_role("button", name="Reset").click()
    expect(page.get_by_role("textbox", name="Sentence")).not_to_have_value(TEXT)
    expect(page).not_to_have_url(re.compile("text="))
