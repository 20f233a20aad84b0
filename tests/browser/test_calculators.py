"""A journey through the calculators: one box changes the picture and the link."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import Visitor


def test_a_network_is_changed_kept_in_the_link_and_taken_away(visitor: Visitor) -> None:
    page = visitor.open("/calculators")
    expect(page.get_by_text("as many as GPT-2 small", exact=False)).to_be_visible()
    layers = page.get_by_role("spinbutton", name="Layers")
    layers.fill("24")
    layers.press("Enter")
    expect(page.get_by_role("heading", name="209.5 million parameters")).to_be_visible()
    expect(page).to_have_url(re.compile("layers=24"))
    expect(page.get_by_role("figure", name=re.compile("^Treemap of your network"))).to_be_visible()
    visitor.settle()
    page.get_by_test_id("stPopover").get_by_role("button", name="Download").first.click()
    with page.expect_download() as saved:
        page.get_by_test_id("stPopoverBody").get_by_role("button", name="Download CSV").click()
    assert saved.value.suggested_filename == "atlas-parameters.csv"
    page.get_by_role("radio", name="Tree", exact=True).click()
    expect(page.get_by_role("tree")).to_be_visible()
    expect(page).to_have_url(re.compile("drawing=tree"))
