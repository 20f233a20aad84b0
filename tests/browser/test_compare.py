"""Journeys through the page that compares: the table by keyboard, sources, a download, and two trees."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.conftest import Visitor


def test_filter_read_the_sources_pin_and_download(visitor: Visitor) -> None:
    page = visitor.open("/compare")
    region = page.get_by_role("region", name="Systems, property by property")
    expect(region.get_by_role("columnheader")).to_have_count(13)
    page.get_by_role("textbox", name="Search", exact=True).fill("wordpiece")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("any=wordpiece"))
    expect(region.get_by_role("rowheader", name=re.compile("^GPT-2"))).to_have_count(0)
    bert = region.get_by_role("row", name=re.compile("^BERT 2018"))
    source = bert.get_by_text("A stored copy of the paper's own text", exact=False).first
    expect(source).to_be_hidden()
    box = bert.get_by_role("checkbox", name="Sources of BERT", exact=True)
    box.focus()
    page.keyboard.press("Space")
    expect(source).to_be_visible()
    visitor.settle()
    text = Path(visitor.save("Download CSV").path()).read_text(encoding="utf-8")
    assert text.startswith("Name,Name: read in,Type")
    assert "GPT-2" not in text.split("\n")[1].split(",")[0]


def test_two_trees_by_keyboard(visitor: Visitor) -> None:
    page = visitor.open("/compare?tab=trees&left=bert&right=roberta")
    expect(page.get_by_role("figure", name=re.compile("Parameters of BERT base to the left"))).to_be_visible()
    attention = page.locator("summary", has_text="Self-attention")
    queries = page.get_by_role("rowheader", name=re.compile("queries"))
    expect(queries).to_be_hidden()  # a group in which nothing differs is closed at first
    attention.focus()
    page.keyboard.press("Enter")
    expect(queries).to_be_visible()
    page.get_by_text("Differences", exact=True).click()
    expect(page).to_have_url(re.compile("rows=differences"))
    expect(attention).to_have_count(0)
    expect(page.get_by_role("rowheader", name=re.compile("token embeddings.*another size"))).to_be_visible()


def test_a_row_is_a_card_at_400_pixels(telephone: Visitor) -> None:
    page = telephone.open("/compare?any=wordpiece")
    card = page.get_by_role("row", name=re.compile("^BERT 2018"))
    expect(card.get_by_role("cell", name=re.compile("BooksCorpus"))).to_be_hidden()
    card.get_by_role("checkbox", name="All properties of BERT", exact=True).check()
    expect(card.get_by_text("BooksCorpus", exact=False).first).to_be_visible()
