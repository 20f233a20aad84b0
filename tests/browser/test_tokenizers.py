"""Journeys through the tokenizers: type, follow the link, save."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import quote

from playwright.sync_api import expect

from tests.browser.conftest import Visitor


def test_a_text_typed_is_cut_at_once_and_travels_in_the_link(visitor: Visitor) -> None:
    page = visitor.open("/tokenizers")
    run = page.get_by_role("group", name=re.compile("^WordPiece: "))
    expect(run.get_by_text("blacksmith")).to_be_visible()
    box = page.get_by_role("textbox", name="Your text")
    box.fill("Ünknown 猫 <b>bold</b>")
    box.press("Control+Enter")
    expect(page.get_by_role("group", name=re.compile("^Bytes: "))).to_contain_text("‹e7›")
    expect(run).to_contain_text("bold")
    expect(page).to_have_url(re.compile("text="))
    assert page.locator(".tk-run b").count() == 0, "what is typed is text, not markup"
    page.get_by_role("radio", name="Tokens", exact=True).click()
    expect(page.get_by_text("The ids decode to", exact=False)).to_be_visible()
    assert visitor.save("Download CSV").suggested_filename.startswith("atlas-")


def test_the_only_file_of_a_table_is_one_that_no_spreadsheet_runs(visitor: Visitor) -> None:
    page = visitor.open(f"/tokenizers?tab=beside&below=pieces&text={quote('=HYPERLINK(1)')}")
    expect(page.get_by_text("The ids decode to", exact=False)).to_be_visible()
    page.get_by_test_id("stDataFrame").hover()
    expect(page.get_by_role("button", name="Search")).to_be_visible()
    expect(page.get_by_role("button", name="Fullscreen")).to_be_visible()
    assert page.locator("[aria-label^='Download as CSV']").count() == 1, "Streamlit names it otherwise now"
    expect(page.locator("[aria-label^='Download as CSV']")).to_be_hidden()
    saved = visitor.save("Download CSV: tokens")
    assert saved.suggested_filename == "atlas-tokens.csv"
    assert ",'=," in Path(saved.path()).read_text(encoding="utf-8")
