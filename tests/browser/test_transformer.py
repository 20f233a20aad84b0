"""The Transformer's picture: stepped by key, drawn deeper, and followed by the link."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import WAIT_MS, Visitor


def test_the_picture_is_stepped_by_key_and_drawn_deeper(visitor: Visitor) -> None:
    page = visitor.open("/transformer?text=The+cat+sat+on+the+[MASK].")
    heading = page.locator(".text h3")
    expect(heading).to_have_text("1 of 15. Overview", timeout=4 * WAIT_MS)
    page.locator(".stage").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    expect(heading).to_have_text("2 of 15. Tokens")
    expect(page.locator(".part.active [aria-label='[CLS], position 1']")).to_be_visible()
    expect(page.locator(".text .shapes")).to_be_hidden()
    page.get_by_role("button", name="Tensors", exact=True).click()
    expect(page.locator(".text .shapes")).to_contain_text("9 ids")
    page.get_by_role("button", name="cat, position 3").click()
    expect(page).to_have_url(re.compile("step=embeddings&depth=tensors&.*position=3|depth=tensors.*position=3"))
    page.get_by_role("button", name="As a table").click()
    expect(page.get_by_test_id("stPopoverBody").get_by_role("row", name=re.compile("^token"))).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Numbers", exact=True).click()
    expect(page.get_by_role("row", name=re.compile("^token"))).to_be_visible()
    page.locator(".stage").focus()
    page.keyboard.press(" ")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    expect(heading).to_have_text("3 of 15. Token embeddings")
    page.keyboard.press(" ")
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    visitor.settle()
