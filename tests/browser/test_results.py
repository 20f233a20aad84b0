"""A journey through the results: from a system's page to its figures and their file."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import Visitor, pick


def test_from_a_systems_page_to_its_figures_and_a_file(visitor: Visitor) -> None:
    page = visitor.open("/encoder?system=albert&tab=facts")
    link = page.get_by_role("link", name=re.compile(r"All \d+ figures of ALBERT"))
    link.focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/results\?.*system=albert"))
    table = page.get_by_role("table", name="Published figures")
    expect(table.get_by_role("rowheader").first).to_contain_text("ALBERT")
    pick(page.get_by_role("combobox", name="Split"), "training")
    expect(page).to_have_url(re.compile("split=training"))
    expect(table.get_by_role("rowheader")).to_have_count(8)
    visitor.settle()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download CSV").click()
    lines = waiting.value.path().read_text(encoding="utf-8").splitlines()
    assert len(lines) == 9
    assert lines[0].startswith("system,variant,size,")
