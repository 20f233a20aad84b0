"""A journey through the page of vectors: a word through the layers."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.browser.conftest import Visitor


def section(page: Page, name: str) -> None:
    page.get_by_role("radiogroup").get_by_role("radio", name=name, exact=True).first.click()


def test_a_word_through_the_layers(visitor: Visitor) -> None:
    page = visitor.open("/vectors?model=atlas-bert")
    picture = page.get_by_role("figure", name=re.compile("^12 vectors of one word"))
    expect(picture).to_be_visible()
    expect(page.get_by_text("12 occurrences, 192 dimensions each")).to_be_visible()
    slider = page.get_by_role("slider", name="Layer")
    slider.focus()
    page.keyboard.press("Home")
    expect(page.get_by_text("lie on one point", exact=False)).to_be_visible()
    expect(page).to_have_url(re.compile("layer=-1"))
    visitor.settle()
    section(page, "Distances")
    expect(page.get_by_role("figure", name=re.compile("^Cosines between"))).to_be_visible()
    expect(page).to_have_url(re.compile("show=distances"))
    section(page, "t-SNE")
    expect(page.get_by_role("button", name="New seed")).to_be_visible()
