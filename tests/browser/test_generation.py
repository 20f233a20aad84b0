"""Journeys through the page of generation: rules side by side, one step, a wide tree, what can be stopped."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import Visitor, pick


def test_rules_are_changed_on_the_page_and_come_back_by_link(visitor: Visitor) -> None:
    page = visitor.open("/generation?length=12")
    tokens = page.locator("span[title^='step 12: probability']")
    expect(tokens).to_have_count(4)
    expect(tokens.first).to_have_attribute("title", re.compile(r"surprisal \d+\.\d bits, entropy \d+\.\d bits"))
    pick(page.get_by_role("combobox", name="Strategy 2"), re.compile("Min-p"))
    expect(page.get_by_role("rowheader", name="Min-p, m = 0.1")).to_be_visible()
    expect(page).to_have_url(re.compile("rules=greedy%2Cmin_p-0.1"))
    page.get_by_role("button", name="Remove", exact=True).click()
    page.get_by_role("button", name="4 · Beam search").click()
    expect(page.get_by_role("rowheader", name="Beam search")).to_have_count(0)
    visitor.settle()
    page.get_by_label("Prompt").fill("The old wolf")
    page.keyboard.press("Control+Enter")
    expect(page.locator("p", has_text="The old wolf").first).to_be_visible()
    visitor.settle()
    link = page.url
    again = visitor.open(link.removeprefix(visitor.address))
    expect(again.get_by_role("rowheader", name="Min-p, m = 0.1")).to_be_visible()
    expect(again.get_by_role("rowheader", name="Beam search")).to_have_count(0)
    expect(again.get_by_label("Prompt")).to_have_value("The old wolf")


def test_one_step_is_chosen_by_its_token_and_cut_by_a_rule(visitor: Visitor) -> None:
    page = visitor.open("/generation?tab=step&length=10&rule=top_k&value=3")
    expect(page.get_by_role("figure", name=re.compile("Top-k at step 1 keeps 3 of 6,144 tokens"))).to_be_visible()
    chips = page.get_by_role("group", name=re.compile("Generated tokens"))
    chips.get_by_role("button").nth(4).click()
    expect(page.get_by_role("figure", name=re.compile("Top-k at step 5"))).to_be_visible()
    expect(page).to_have_url(re.compile("step=5"))
    pick(page.get_by_role("combobox", name="Logits processor"), re.compile("Typical"))
    expect(page.get_by_role("figure", name=re.compile("Typical at step 5"))).to_be_visible()
    expect(page.get_by_role("figure", name=re.compile("Surprisal of each token and the entropy"))).to_be_visible()
    visitor.settle()  # a button that is drawn anew between the press and its answer saves nothing
    page.get_by_role("button", name="Download", exact=True).first.click()
    with page.expect_download() as saved:
        page.get_by_test_id("stPopoverBody").get_by_role("button", name="Download CSV").click()
    assert saved.value.suggested_filename == "atlas-generation-step.csv"


def test_a_wide_tree_scrolls_in_its_own_box_on_a_narrow_screen(visitor: Visitor) -> None:
    page = visitor.open("/generation?tab=beam&beams=4&depth=3")
    tree = page.get_by_role("figure", name=re.compile("A tree of 3 steps"))
    page.set_viewport_size({"width": 400, "height": 900})
    expect(tree).to_be_visible()
    visitor.settle()
    assert tree.bounding_box()["width"] >= 8 * 66  # type: ignore[index]
    assert page.evaluate("document.scrollingElement.scrollWidth") <= 400


def test_what_takes_long_can_be_stopped_and_goes_on(visitor: Visitor) -> None:
    page = visitor.page
    ours = page.get_by_test_id("stMain").get_by_role("button", name="Stop")  # Streamlit has one of its own above
    page.goto(visitor.address + "/generation?tab=cache&model=atlas-t5&grow=1000")
    ours.click()
    expect(page.get_by_text("The measurement was stopped.")).to_be_visible()
    expect(page.get_by_role("button", name="Measure", exact=True)).to_be_visible()
    visitor.settle()
    page.goto(visitor.address + "/generation?length=200&rules=sample-1,beam-8")
    expect(page.locator("span[title^='step 5: probability']").first).to_be_visible()
    ours.click(delay=500)  # while the button is held down, the text goes on and must not move it from under the pointer
    expect(page.get_by_role("button", name="Continue")).to_be_visible()
    expect(page.get_by_text("Stopped.").first).to_be_visible()
    visitor.settle()
    page.get_by_role("button", name="Continue").click()
    expect(page.locator("span[title^='step 150: probability']").first).to_be_visible()
