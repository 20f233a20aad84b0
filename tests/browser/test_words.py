"""A journey by words: a search from any page to its place."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import Visitor


def test_a_search_by_keyboard_leads_to_a_place_and_keeps_the_page_until_then(traveller: Visitor) -> None:
    page = traveller.open("/zoo?branch=decoder")
    side = page.get_by_test_id("stSidebar")
    box = side.get_by_role("textbox", name="Search the Atlas")
    box.focus()
    page.keyboard.type("sop")
    page.keyboard.press("Enter")
    term = side.get_by_role("link", name="Sentence-order prediction", exact=True)
    expect(term).to_be_visible()
    expect(page).to_have_url(re.compile("branch=decoder"))  # nothing is lost
    expect(page.get_by_role("table", name="Live models").get_by_role("rowheader", name="Atlas GPT-2")).to_be_visible()
    page.keyboard.press("Tab")
    expect(term).to_be_focused()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/glossary.term=sentence-order-prediction"))
    traveller.settle()
    expect(page.get_by_role("heading", name="Sentence-order prediction")).to_be_visible()
    page.go_back()
    expect(page).to_have_url(re.compile("/zoo.branch=decoder"))
