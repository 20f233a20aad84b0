"""Encoder-decoder and efficient: the main picture stands, its controls change it, and the link carries them."""

from __future__ import annotations

import re
from urllib.parse import urlencode

from playwright.sync_api import expect

from tests.browser.conftest import Visitor


def test_text_in_text_out_with_cross_attention(visitor: Visitor) -> None:
    query = {"model": "dir-tiny-t5", "text": "The cat sat on the mat.", "length": 6}
    page = visitor.open(f"/encoder-decoder?{urlencode(query)}")
    expect(page.get_by_role("textbox", name="Text in")).to_have_value("The cat sat on the mat.")
    expect(page.get_by_text("6 tokens.", exact=False)).to_be_visible()
    expect(page.get_by_text("Step 1: what could have come here")).to_be_visible()
    box = page.get_by_role("textbox", name="Text in")
    box.fill("A small dog runs in the garden.")
    box.press("Control+Enter")
    expect(page).to_have_url(re.compile("small(\\+|%20)dog"))
    visitor.settle()


def test_cross_attention_heads_from_a_link(visitor: Visitor) -> None:
    query = {"model": "dir-tiny-t5", "tab": "heads", "map": "cross", "layer": 2, "head": 2}
    page = visitor.open(f"/encoder-decoder?{urlencode(query)}")
    expect(page.get_by_role("figure", name="Heat map of layer 2, head 2")).to_be_visible()


def test_sparse_against_full_attention(visitor: Visitor) -> None:
    query = {"model": "dir-tiny-bigbird", "tokens": 256, "block": 16, "random": 1}
    page = visitor.open(f"/efficient?{urlencode(query)}")
    expect(page.get_by_role("figure", name="Pattern of sparse attention")).to_be_visible()
    expect(page.get_by_text("Scores computed")).to_be_visible()
    picture = page.get_by_role("figure", name="Pattern of sparse attention")
    before = picture.get_attribute("aria-label") or ""
    page.get_by_role("spinbutton", name="Random blocks").fill("3")
    page.get_by_role("spinbutton", name="Random blocks").press("Enter")
    expect(page).not_to_have_url(re.compile("random=1"))
    expect(picture).not_to_have_attribute("aria-label", before)


def test_from_a_child_to_the_2017_transformer_and_into_its_tree(visitor: Visitor) -> None:
    page = visitor.open("/encoder-decoder?system=bart&tab=facts")
    page.get_by_role("link", name="See the Transformer of 2017").click()
    expect(page).to_have_url(re.compile("system=transformer"))
    expect(page.get_by_text("63,045,632").first).to_be_visible()
    expect(page.get_by_text("computed here, Vaswani et al. 2017", exact=False)).to_be_visible()
    page.get_by_role("radio", name="Module tree").click()
    expect(page.get_by_text("The whole Transformer: one matrix of tokens", exact=False)).to_be_visible()
    visitor.settle()
