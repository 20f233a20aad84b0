"""A presentation by its keys, and a section in a frame."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import Visitor

SMALL = """
() => [...document.querySelectorAll("[data-testid=stMain] *")].filter((one) => one.checkVisibility()
  && [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim())
  && !one.closest(".katex, style, [role=status]") && parseFloat(getComputedStyle(one).fontSize) < 28)
  .map((one) => `${one.tagName}: ${one.textContent.slice(0, 40)}`)
"""


def test_p_presents_a_section_in_large_type_and_escape_returns(visitor: Visitor) -> None:
    page = visitor.open("/tokenizers?tab=noise")
    box = page.get_by_role("textbox", name="Text").first
    box.press("p")
    expect(page).not_to_have_url(re.compile("present"))
    page.get_by_role("heading", level=1).click()
    page.keyboard.press("p")
    expect(page.get_by_role("button", name="Exit")).to_be_visible()
    expect(page).to_have_url(re.compile("present=1"))
    expect(page.get_by_test_id("stSidebar")).to_be_hidden()
    visitor.settle()
    assert page.evaluate(SMALL) == []
    page.keyboard.press("Escape")
    expect(page).not_to_have_url(re.compile("present"))
    expect(page.get_by_role("button", name="Present")).to_be_visible()
