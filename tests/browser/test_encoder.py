"""The encoder's journeys: mask words by keyboard and mouse, see the predictions; the heads; hostile text."""

from __future__ import annotations

import re
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import Visitor

TINY = "dir-tiny-bert"
TEXT = "the cat sat on the mat"


def link(**query: object) -> str:
    return f"/encoder?{urlencode({'model': TINY, **query})}"


def chips(visitor: Visitor) -> Locator:
    return visitor.page.get_by_role("group", name="Tokens of the sentence")


def test_words_can_be_masked_by_keyboard_alone(visitor: Visitor) -> None:
    page = visitor.open(link(text=TEXT))
    box = page.get_by_role("textbox", name="Sentence")
    box.focus()
    for _ in range(8):  # Tab from the sentence reaches the chips, past the box's own help button
        page.keyboard.press("Tab")
        if chips(visitor).locator(":focus").count():
            break
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    expect(page.locator("p").filter(has_text="in place of “cat”")).to_be_visible()
    expect(page.get_by_role("figure", name="Mask 1, in place of “cat”")).to_be_visible()
    expect(page).to_have_url(re.compile(r"mask=2(&|$)"))
    chips(visitor).get_by_role("button", name="mat", exact=False).click()
    expect(page.get_by_text("in place of “mat”")).to_be_visible()


SCRIPT = "</script><script>top.hacked=1</script>"
MARKUP = "<img src=x onerror=top.hacked=1> [a](http://evil.test)"


@pytest.mark.parametrize("text", [SCRIPT, MARKUP], ids=["script", "markup"])
def test_what_was_typed_is_never_run(visitor: Visitor, text: str) -> None:
    page = visitor.open(link(text=text))
    expect(page.get_by_role("textbox", name="Sentence")).to_have_value(text)
    expect(chips(visitor).get_by_role("button").nth(9)).to_be_visible()
    assert page.evaluate("window.hacked") is None
    assert page.locator("a[href*='//evil'], main img").count() == 0
