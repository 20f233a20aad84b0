"""A journey through the objectives: hide more, draw again, cover the answers, another objective, a link's state."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import Visitor, pick


def test_what_a_model_is_asked(visitor: Visitor) -> None:
    page = visitor.open("/objectives?objective=replaced&text=The+king+gave+his+daughter+a+golden+ring.")
    picture = page.get_by_role("img", name=re.compile("^Replaced tokens: 9 of 11 positions"))
    expect(picture).to_be_visible()
    expect(page.get_by_text("ELECTRA's loss is the sum", exact=False)).to_be_visible()
    page.get_by_role("button", name="Again").click()
    expect(page).to_have_url(re.compile("seed=1"))
    page.get_by_text("Guess first", exact=True).click()
    expect(page).to_have_url(re.compile("cover=yes"))
    expect(picture).not_to_contain_text("original")
    expect(page.get_by_text("ELECTRA's loss is the sum", exact=False)).to_have_count(0)
    page.get_by_text("Guess first", exact=True).click()
    expect(picture).to_contain_text("original")
    visitor.settle()
    pick(page.get_by_role("combobox", name=re.compile("Objective")), re.compile("^Next token"))
    expect(page).to_have_url(re.compile("objective=causal"))
    expect(page.get_by_role("img", name=re.compile("^Next token"))).to_be_visible()
    visitor.settle()  # until then the box of the objective before stands there, too
    expect(page.get_by_label("Your sentence")).to_have_value("The king gave his daughter a golden ring.")
    expect(page.get_by_role("figure", name=re.compile("Attention mask"))).to_be_visible()


def test_the_picture_wraps_on_a_telephone(telephone: Visitor) -> None:
    page = telephone.open("/objectives?objective=epochs&epoch=13")
    expect(page.get_by_role("figure", name=re.compile("^static masks"))).to_be_visible()
    box = page.get_by_role("img", name=re.compile("^Masks over epochs")).bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 400
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
