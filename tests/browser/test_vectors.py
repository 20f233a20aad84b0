"""A journey through the page of vectors: a word through the layers, its own sentences, and the other sections."""

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


def test_sentences_of_ones_own(visitor: Visitor) -> None:
    page = visitor.open("/vectors?model=atlas-bert")
    box = page.get_by_role("textbox", name="Sentences")
    box.fill("pet | The cat sleeps.\nNo such animal.\nbig | A wild cat came </script> by night.")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("“play” stands in none of the 3 sentences", exact=False)).to_be_visible()
    word = page.get_by_role("textbox", name="Word", exact=True)
    word.fill("cat")
    page.keyboard.press("Enter")
    expect(page.get_by_text("does not stand in line 2", exact=False)).to_be_visible()
    expect(page.get_by_role("figure", name=re.compile("^2 vectors of one word"))).to_be_visible()
    rows = page.get_by_role("table", name="The nearest words of each occurrence")
    expect(rows.get_by_role("rowheader", name=re.compile(r"3 big.*\[cat\]"))).to_be_visible()
    expect(page).to_have_url(re.compile("word=cat"))
    visitor.settle()
    page.get_by_role("button", name="Examples").click()
    page.get_by_role("button", name=re.compile("^bank:")).click()
    expect(page.get_by_role("figure", name=re.compile("^10 vectors of one word"))).to_be_visible()


def test_the_other_sections_by_their_links(visitor: Visitor) -> None:
    page = visitor.open("/vectors?tab=layers&measure=strangers")
    expect(
        page.get_by_role("figure", name=re.compile("^Anisotropy baseline by layer.*Atlas GPT-2 from"))
    ).to_be_visible()
    section(page, "ELMo's scalar mix")
    expect(page.get_by_text("they are LSTMs", exact=False)).to_be_visible()
    page.get_by_role("button", name="Presets").click()
    page.get_by_role("button", name="The last layer alone").click()
    expect(page).to_have_url(re.compile("weights="))
    visitor.settle()
    section(page, "Input embeddings")
    chips = page.get_by_role("group", name="Tokens")
    chips.get_by_role("button", name=re.compile("^milk")).click()
    expect(page).to_have_url(re.compile("part=6"))
    expect(page.get_by_role("figure", name=re.compile("^Token 5, the"))).to_be_visible()
    visitor.settle()
    section(page, "Positions")
    expect(page.get_by_role("figure", name=re.compile("^Mean cosine of two positions"))).to_be_visible()
    section(page, "Rotary")
    expect(page.get_by_role("table", name="Both moved by the same number")).to_be_visible()
    expect(page).to_have_url(re.compile("kind=rotary"))
