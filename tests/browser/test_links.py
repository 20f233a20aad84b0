"""Links: what was seen comes back by link and by Back; what a link asks for in vain gets a sentence."""

from __future__ import annotations

import re
from urllib.parse import urlencode

from playwright.sync_api import expect

from tests.browser.conftest import Visitor

TEXT = "the cat sat on the mat"


def hidden(visitor: Visitor) -> object:
    return visitor.page.get_by_role("group", name="Tokens of the sentence").locator("[aria-pressed=true]")


def test_link_restores_text_model_and_hidden_words(visitor: Visitor) -> None:
    page = visitor.open(f"/encoder?{urlencode({'model': 'dir-tiny-bert', 'text': TEXT, 'mask': '2.6'})}")
    expect(page.get_by_role("textbox", name="Sentence")).to_have_value(TEXT)
    expect(hidden(visitor)).to_have_text([re.compile("cat"), re.compile("mat")])


def test_what_a_link_asks_for_in_vain_is_named(visitor: Visitor) -> None:
    query = {"model": "no-such-model", "system": "no-such-system", "layer": "9999", "unknown": "x", "text": "a [MASK]"}
    page = visitor.open(f"/encoder?{urlencode(query)}")
    said = page.get_by_test_id("stAlert")
    for word in ("no-such-model", "no-such-system", "9999", "unknown"):
        expect(said.filter(has_text=word)).to_have_count(1)
    expect(page.get_by_role("textbox", name="Sentence")).to_have_value("a [MASK]")


def test_copy_link_and_reset(visitor: Visitor) -> None:
    page = visitor.open(f"/encoder?{urlencode({'model': 'dir-tiny-bert', 'text': TEXT, 'mask': '2'})}")
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_text("Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == page.url
    page.get_by_role("button", name="Reset").click()
    expect(page.get_by_role("textbox", name="Sentence")).not_to_have_value(TEXT)
    expect(page).not_to_have_url(re.compile("text="))


def test_a_long_text_travels_in_the_link(visitor: Visitor) -> None:
    page = visitor.open("/encoder?model=dir-tiny-bert")
    text = "the cat sat on a mat, and the dog saw it. " * 60
    box = page.get_by_role("textbox", name="Sentence")
    box.fill(text)
    box.press("Control+Enter")
    expect(page).to_have_url(re.compile("text=deflate"))
    assert len(page.url) < 300
    page.reload()
    expect(page.get_by_role("textbox", name="Sentence")).to_have_value(text)


def test_text_too_long_for_a_link_stays_and_the_page_says_so(visitor: Visitor) -> None:
    page = visitor.open("/encoder?model=dir-tiny-bert")
    box = page.get_by_role("textbox", name="Sentence")
    text = "".join(chr(0x4E00 + (i * 7919) % 20_000) for i in range(6_000))  # hardly anything comes twice
    box.fill(text)
    box.press("Control+Enter")
    expect(page.get_by_text("a link to this page leaves it out")).to_be_visible()
    expect(box).to_have_value(text)
    assert "text=" not in visitor.query
