"""A journey through the zoo: from the table to a model's page and back, two models on one sentence, the curves."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import Visitor, pick


def test_from_the_table_to_a_model_and_back(visitor: Visitor) -> None:
    page = visitor.open("/zoo")
    table = page.get_by_role("table", name="Live models")
    expect(table.get_by_role("rowheader", name="tiny-gpt2")).to_be_visible()
    pick(page.get_by_role("combobox", name="Branch"), "Decoder")
    expect(page).to_have_url(re.compile("branch=decoder"))
    expect(table.get_by_role("rowheader", name="MiniLM")).to_have_count(0)
    page.get_by_role("button", name="Measure on this machine").click()
    expect(page.get_by_text("one forward pass over 32 tokens", exact=False).first).to_be_visible()
    expect(table.get_by_text("not measured yet")).to_have_count(0)
    visitor.settle()
    link = table.get_by_role("link", name="GPT-2").first
    link.focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/decoder.*model="))
    visitor.settle()
    page.go_back()
    expect(page).to_have_url(re.compile("/zoo.*branch=decoder"))
    expect(table.get_by_role("rowheader", name="MiniLM")).to_have_count(0)
    expect(table.get_by_role("rowheader", name="tiny-gpt2")).to_be_visible()


def test_two_models_on_one_sentence_from_a_link(visitor: Visitor) -> None:
    page = visitor.open("/zoo?tab=compare&left=dir-tiny-bert&right=dir-tiny-gpt2&text=The+cat+sat+on+the+mat.")
    expect(page.get_by_text("in place of “mat”", exact=False)).to_be_visible()
    expect(page.get_by_role("figure", name="tiny-gpt2, What comes next")).to_be_visible()
    chips = page.get_by_role("group", name="Words of the sentence")
    chips.get_by_role("button", name="cat").click()
    expect(page.get_by_text("in place of “cat”", exact=False)).to_be_visible()
    expect(page).to_have_url(re.compile(r"mask=1\.5"))
    read = page.get_by_role("group", name="Tokens that tiny-bert reads")
    expect(read.get_by_role("button", name=re.compile(r"^\[MASK\]"))).to_have_count(2)
    visitor.settle()
    page.wait_for_timeout(600)  # a person's pace: what comes sooner after a change is taken for a click under way
    page.go_back()
    expect(page.get_by_text("in place of “cat”", exact=False)).to_have_count(0)


def test_the_curves_say_in_words_what_they_show(visitor: Visitor) -> None:
    page = visitor.open("/zoo?tab=curves&measure=held-out+bits+per+byte")
    said = re.compile("^held-out bits per byte over the tokens seen.*Atlas GPT-2 from 1.91 to")
    expect(page.get_by_role("figure", name=said)).to_be_visible()
    page.get_by_role("tab", name="As a table").click()
    expect(page.get_by_role("tabpanel").get_by_role("rowheader", name="Atlas GPT-2")).to_be_visible()
