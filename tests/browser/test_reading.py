"""What needs no model: the family on Home opens a system, the tree can be walked and searched by keyboard alone."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import Visitor


def test_the_list_of_the_family_opens_a_system_by_keyboard(visitor: Visitor) -> None:
    page = visitor.open("/timeline")
    page.locator("summary").filter(has_text="As a list").focus()
    page.keyboard.press("Enter")
    system = page.get_by_role("link", name="ALBERT (2019)").first  # listed under Efficient as well
    expect(system).to_be_visible()
    system.focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/encoder.*system=albert"))


def test_tree_is_walked_and_searched_by_keyboard(visitor: Visitor) -> None:
    page = visitor.open("/decoder?system=gpt-3&tab=tree")
    expect(page.get_by_text(re.compile("174[.,]6")).first).to_be_visible()
    tree = page.get_by_role("tree")
    root = tree.get_by_role("treeitem").first
    root.focus()
    page.keyboard.press("ArrowDown")
    chosen = tree.locator("[aria-selected=true]").first
    expect(chosen).to_be_focused()
    expect(page).to_have_url(re.compile("node="))
    page.get_by_role("searchbox").fill("LayerNorm")
    expect(tree.locator("mark").first).to_have_text("LayerNorm")
