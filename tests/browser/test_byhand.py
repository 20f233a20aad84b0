"""Attention by hand in a browser: numbers are typed, walked to, refused in a sentence, and held by the link."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.axe import findings
from tests.browser.conftest import Visitor

PATH = "/transformer?tab=by-hand"


def cell(page: Page, block: str, row: int, column: int) -> Locator:
    """A cell of the block with a title, by row and column from 1."""
    table = page.locator(".byhand table").filter(has=page.locator("caption", has_text=block))
    return table.locator("tr").nth(row).locator("td.cell").nth(column - 1)


def computation(page: Page) -> Locator:
    return page.locator(".byhand output")


def test_a_number_is_changed_by_keys_and_all_that_follows_from_it(visitor: Visitor) -> None:
    page = visitor.open(PATH)
    expect(computation(page)).to_contain_text("1·3 + 2·1 = 5")
    sources = page.locator(".byhand .source")
    expect(sources).to_have_count(4)
    cell(page, "queries", 1, 1).locator("input").focus()
    for key in ("ArrowDown", "ArrowDown"):
        page.keyboard.press(key)
    expect(cell(page, "queries", 3, 1).locator("input")).to_be_focused()
    page.keyboard.type("2")
    expect(cell(page, "scores", 3, 1)).to_have_text("8")  # 2·3 + 2·1
    expect(cell(page, "weights", 3, 4)).to_have_text("1")
    page.keyboard.press("Enter")  # down from the last row: the block below
    expect(cell(page, "scores", 1, 1)).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(computation(page)).to_contain_text("2·3 + 2·1 = 8")
    for _ in range(3):
        page.keyboard.press("ArrowRight")  # past the end of a row: the block beside it
    expect(cell(page, "scaled", 3, 1)).to_be_focused()
    expect(computation(page)).to_contain_text("8 / √2 = 8 / 1.4142 = 5.66")
    expect(page).to_have_url(re.compile(r"cells=q131_2.*number=d131|number=d131.*cells=q131_2"))
    page.get_by_role("button", name="Restore the numbers").click()
    expect(cell(page, "scores", 3, 1)).to_have_text("5")
    expect(page).to_have_url(re.compile(r"/transformer\?tab=by-hand(&number=d131)?$"))


@pytest.mark.parametrize("typed", ["1e999", "x", "", "<img src=x onerror=alert(1)>", "100"])
def test_what_is_no_number_is_refused_beside_the_cells(visitor: Visitor, typed: str) -> None:
    page = visitor.open(PATH)
    box = cell(page, "queries", 3, 1).locator("input")
    box.fill(typed)
    expect(box).to_have_attribute("aria-invalid", "true")
    refusal = page.locator(".byhand .refused")
    expect(refusal).to_contain_text("Type a number from −99 to 99")
    if typed:
        expect(refusal).to_contain_text(f"“{typed[:20]}” is no number")
    expect(cell(page, "scores", 3, 1)).to_have_text("5")
    page.keyboard.press("Escape")
    expect(refusal).to_be_hidden()
    expect(box).to_have_value("1")


def test_a_pointer_shows_where_a_number_came_from(visitor: Visitor) -> None:
    page = visitor.open(PATH + "&mode=heads")
    cell(page, "projected", 3, 1).hover()
    expect(computation(page)).to_contain_text("3.6557·1 + 0.1189·0 + 0.1057·0 + 2.7357·1 = 6.39")
    expect(page.locator(".byhand .source")).to_have_count(8)
    expect(page.locator(".byhand .live .here")).to_contain_text("384 × 384")
    page.get_by_role("radio", name="Rotation").click()
    expect(computation(page)).to_contain_text("2·90° = 180°")
    page.get_by_label("Causal mask").uncheck()
    expect(cell(page, "masked", 1, 3)).to_have_text("−0.71")
    expect(page).to_have_url(re.compile(r"mode=rotation.*mask=none|mask=none.*mode=rotation"))
    page.go_back()


def test_a_lesson_shows_one_step_after_the_other(visitor: Visitor) -> None:
    page = visitor.open(PATH + "&until=scores")
    expect(page.locator(".byhand table")).to_have_count(4)
    more = page.get_by_role("button", name="Next step")
    for count in (5, 6, 7, 8):
        more.click()
        expect(page.locator(".byhand table")).to_have_count(count)
    expect(more).to_be_hidden()
    assert findings(page) == []
