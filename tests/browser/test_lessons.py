"""A lesson in the browser: the arrow keys change the step and its view, and progress stays in this browser."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import Visitor


def test_arrow_keys_open_steps_but_not_while_typing(traveller: Visitor) -> None:
    page = traveller.arrive("/lessons?lesson=1-what-attention-computes&step=4")
    number = page.get_by_role("spinbutton").first
    number.fill("100")
    number.press("ArrowLeft")
    page.get_by_role("button", name="Check", exact=True).click()
    expect(page.get_by_test_id("stAlert").filter(has_text="100")).to_be_visible()
    expect(page).to_have_url(re.compile("step=4"))
    page.get_by_role("heading", name="From scores to weights").click()
    page.keyboard.press("ArrowRight")
    expect(page).to_have_url(re.compile("step=5"))
    expect(page.locator("iframe[title='The mask']")).to_have_count(1)
    assert '"far":5' in page.evaluate("localStorage.getItem('atlas.lessons')")
