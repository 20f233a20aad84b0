"""A journey through the zoo: from the table to a model's page and back."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import Visitor, pick


def test_from_the_table_to_a_model_and_back(traveller: Visitor) -> None:
    page = traveller.open("/zoo")
    table = page.get_by_role("table", name="Live models")
    expect(table.get_by_role("rowheader", name="tiny-gpt2")).to_be_visible()
    pick(page.get_by_role("combobox", name="Branch"), "Decoder")
    expect(page).to_have_url(re.compile("branch=decoder"))
    expect(table.get_by_role("rowheader", name="MiniLM")).to_have_count(0)
    page.get_by_role("button", name="Measure on this machine").click()
    expect(page.get_by_text("one forward pass over 32 tokens", exact=False).first).to_be_visible()
    expect(table.get_by_text("not measured yet")).to_have_count(0)
    traveller.settle()
    link = table.get_by_role("link", name="GPT-2").first
    link.focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/decoder.*model="))
    traveller.settle()
    page.go_back()
    expect(page).to_have_url(re.compile("/zoo.*branch=decoder"))
    expect(table.get_by_role("rowheader", name="MiniLM")).to_have_count(0)
    expect(table.get_by_role("rowheader", name="tiny-gpt2")).to_be_visible()
