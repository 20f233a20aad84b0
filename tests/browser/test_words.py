"""Journeys by words: a search from any page to its place, a term and where it is tried."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import Visitor


def test_a_search_by_keyboard_leads_to_a_place_and_keeps_the_page_until_then(visitor: Visitor) -> None:
    page = visitor.open("/zoo?branch=decoder")
    side = page.get_by_test_id("stSidebar")
    box = side.get_by_role("textbox", name="Search the atlas")
    box.focus()
    page.keyboard.type("sop")
    page.keyboard.press("Enter")
    term = side.get_by_role("link", name="Sentence-order prediction")
    expect(term).to_be_visible()
    expect(page).to_have_url(re.compile("branch=decoder"))  # nothing is lost
    expect(page.get_by_role("table", name="Live models").get_by_role("rowheader", name="Atlas GPT-2")).to_be_visible()
    page.keyboard.press("Tab")
    expect(term).to_be_focused()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/glossary.term=sentence-order-prediction"))
    visitor.settle()
    expect(page.get_by_role("heading", name="Sentence-order prediction")).to_be_visible()
    page.go_back()
    expect(page).to_have_url(re.compile("/zoo.branch=decoder"))


def test_nonsense_gets_a_sentence_and_the_page_of_search_shows_everything(visitor: Visitor) -> None:
    page = visitor.open("/about")
    side = page.get_by_test_id("stSidebar")
    box = side.get_by_role("textbox", name="Search the atlas")
    box.fill("<img src=x onerror=alert(1)>")
    box.press("Enter")
    expect(side.get_by_text("Nothing here fits that.", exact=False)).to_be_visible()
    box.fill("bert")
    box.press("Enter")
    side.get_by_role("link", name="Everything that fits").click()
    expect(page).to_have_url(re.compile("/search.q=bert"))
    expect(page.get_by_test_id("stMain").get_by_role("heading", name="Systems")).to_be_visible()
    page.get_by_test_id("stMain").get_by_role("link", name="BERT", exact=True).first.click()
    expect(page).to_have_url(re.compile("/encoder.system=bert"))


def test_a_term_of_a_page_leads_to_the_glossary_and_from_there_to_where_it_is_tried(visitor: Visitor) -> None:
    page = visitor.open("/encoder?system=albert&tab=facts")
    link = page.get_by_role("link", name="sentence-order prediction")
    expect(link).to_have_attribute("title", re.compile("^Sentence-order prediction: Two neighbouring"))
    link.click()
    expect(page).to_have_url(re.compile("/glossary.term=sentence-order-prediction"))
    visitor.settle()
    page.get_by_role("link", name=re.compile("^Try: ALBERT")).click()
    expect(page).to_have_url(re.compile("/encoder.system=albert&tab=facts"))
