"""The page of generation in Chromium: a wide tree on a narrow screen, and what can be stopped."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import Visitor


def test_a_wide_tree_scrolls_in_its_own_box_on_a_narrow_screen(visitor: Visitor) -> None:
    page = visitor.open("/generation?tab=beam&beams=4&depth=3")
    tree = page.get_by_role("figure", name=re.compile("A tree of 3 steps"))
    page.set_viewport_size({"width": 400, "height": 900})
    expect(tree).to_be_visible()
    visitor.settle()
    assert tree.bounding_box()["width"] >= 8 * 66
    assert page.evaluate("document.scrollingElement.scrollWidth") <= 400


def test_what_takes_long_can_be_stopped_and_goes_on(visitor: Visitor) -> None:
    page = visitor.page
    ours = page.get_by_test_id("stMain").get_by_role("button", name="Stop")  # Streamlit has one of its own above
    page.goto(visitor.address + "/generation?length=200&rules=beam-8,beam-7,beam-6,beam-5")
    expect(page.locator("span[title^='step 5: probability']").first).to_be_visible()
    ours.click(delay=500)  # while the button is held down, the text goes on and must not move it from under the pointer
    expect(page.get_by_role("button", name="Continue")).to_be_visible()
    expect(page.get_by_text("Stopped.").first).to_be_visible()
    visitor.settle()
    steps = page.locator("span[title*=': probability']")
    done = steps.count()  # of all strategies: one of them may have ended before the click
    page.get_by_role("button", name="Continue").click()
    expect(steps.nth(done)).to_be_visible()
