"""The timeline in Chromium: walked by keyboard, saved, opened; its picture alone, where names must not meet."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from core.figures.lineage import Entry, family, line_of
from core.ui.catalogue.timeline import PICTURE, component_data
from tests.browser.conftest import MOUNT, Visitor

FAMILY = family()
LAST = FAMILY[-1].at
MEETING = """
(svg) => {
  const boxes = [...svg.querySelectorAll(".node .name")].map((one) => [one.textContent, one.getBoundingClientRect()]);
  const dots = [...svg.querySelectorAll(".node .shape")].map((one) => ["a marker", one.getBoundingClientRect()]);
  const meet = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3;
  const found = [];
  boxes.forEach(([name, box], i) => {
    boxes.slice(i + 1).forEach(([other, its]) => { if (meet(box, its)) found.push(name + " and " + other); });
    dots.forEach(([other, its]) => { if (meet(box, its)) found.push(name + " and " + other); });
  });
  return found;
}
"""
"""Names that share an area with another name or a marker, by what the browser has drawn; a line's air may overlap."""


def data_of(shown: tuple[Entry, ...] = FAMILY, axis: str = "branch", **more: Any) -> dict[str, Any]:
    usual = {"until": LAST, "chosen": None, "years": True, "count": 0}
    return component_data(shown, axis, "The family") | usual | more


@pytest.fixture
def alone(empty: Page) -> Page:
    empty.set_viewport_size({"width": 960, "height": 800})
    empty.emulate_media(reduced_motion="reduce")
    return empty


def mount(page: Page, data: dict[str, Any]) -> None:
    page.evaluate(MOUNT, [*PICTURE.files, data])


def focused(page: Page) -> str:
    """The name of the node that has the focus."""
    said = str(page.evaluate("document.activeElement.shadowRoot.activeElement.getAttribute('aria-label')"))
    return said.split(",")[0]


@pytest.mark.parametrize("axis", ["branch", "size"])
def test_no_name_lies_on_another(alone: Page, axis: str) -> None:
    mount(alone, data_of(axis=axis))
    assert alone.locator(".node .name").count() > 0.7 * len(FAMILY)
    assert alone.locator(".picture svg").evaluate(MEETING) == []


def test_arrows_walk_in_time_and_along_descent(alone: Page) -> None:
    mount(alone, data_of())
    expect(alone.locator(".node[tabindex='0']")).to_have_count(1)
    alone.get_by_role("link", name=re.compile("^BERT, October 2018")).focus()
    assert focused(alone) == "BERT"
    expect(alone.locator(".tip")).to_contain_text("109 M to 335 M parameters, 2 sizes")
    expect(alone.locator(".edge.lit")).to_have_count(len(line_of("bert", FAMILY)) - 1)
    alone.keyboard.press("ArrowDown")
    child = focused(alone)
    assert child == next(entry.name for entry in FAMILY if entry.parent == "bert")
    alone.keyboard.press("ArrowUp")
    assert focused(alone) == "BERT"
    alone.keyboard.press("ArrowUp")
    assert focused(alone) == "Transformer"
    alone.keyboard.press("ArrowRight")
    assert focused(alone) == FAMILY[1].name
    alone.keyboard.press("End")
    assert focused(alone) == FAMILY[-1].name
    alone.keyboard.press("Escape")
    expect(alone.locator(".tip")).to_be_hidden()


def test_the_slider_hides_what_is_later_and_tells_the_page_where_it_stops(alone: Page) -> None:
    mount(alone, data_of(until=2018 * 12 + 11))
    there = sum(entry.year <= 2018 for entry in FAMILY)
    expect(alone.locator(".picture .node:not(.later)")).to_have_count(there)
    expect(alone.locator("output")).to_have_text(f"December 2018: {there} of {len(FAMILY)}")
    slider = alone.get_by_role("slider", name="Last month shown")
    slider.focus()
    alone.keyboard.press("ArrowRight")
    expect(slider).to_have_attribute("aria-valuetext", re.compile("^January 2019"))
    assert alone.evaluate("window.sent") == [{"until": 2019 * 12, "count": 1}]
    alone.evaluate("data => window.again(data)", data_of(until=2018 * 12 + 11, count=0))  # an answer to an older move
    expect(slider).to_have_attribute("aria-valuetext", re.compile("^January 2019"))
    alone.evaluate("data => window.again(data)", data_of(until=2017 * 12 + 11, count=1))
    expect(slider).to_have_attribute("aria-valuetext", re.compile("^December 2017"))
    # an answer that comes while the slider is dragged leaves it in the hand
    slider.evaluate("(slider, month) => { slider.value = month; slider.dispatchEvent(new Event('input')); }", 2020 * 12)
    alone.evaluate("data => window.again(data)", data_of(until=2017 * 12 + 11, count=1))
    expect(slider).to_have_attribute("aria-valuetext", re.compile("^January 2020"))
    slider.dispatch_event("change")
    assert alone.evaluate("window.sent.at(-1)") == {"until": 2020 * 12, "count": 2}


def test_names_are_text_and_never_markup(alone: Page) -> None:
    bad = "<img src=x onerror=alert(1)>"
    shown = tuple(replace(e, name=bad, change=bad, organization=bad) if e.slug == "bert" else e for e in FAMILY)
    mount(alone, data_of(shown))
    alone.locator(".node", has_text="<img").first.focus()
    assert alone.locator("img").count() == 0
    expect(alone.locator(".tip")).to_contain_text(bad)


def test_a_narrow_window_has_a_list_that_follows_the_years(alone: Page) -> None:
    alone.set_viewport_size({"width": 400, "height": 800})
    mount(alone, data_of(until=2018 * 12 + 11, chosen="bert"))
    expect(alone.locator(".list .node:visible")).to_have_count(sum(entry.year <= 2018 for entry in FAMILY))
    expect(alone.locator(".picture .node:visible")).to_have_count(0)
    expect(alone.locator(".list h3:visible")).to_have_text(["2017", "2018"])
    expect(alone.locator(".list .node", has_text="GPT").first).to_have_attribute("href", "/decoder?system=gpt")
    assert alone.evaluate("document.documentElement.scrollWidth") <= 400
    alone.set_viewport_size({"width": 900, "height": 800})  # there is room again
    expect(alone.locator(".picture .node.chosen .name")).to_have_text("BERT")


def test_pictures_are_saved_as_they_stand(alone: Page) -> None:
    mount(alone, data_of(until=2019 * 12 + 11))
    with alone.expect_download() as done:
        alone.locator("button.svg").evaluate("button => button.click()")  # as the menu Download does
    saved = done.value
    assert saved.suggested_filename == "transformer-family.svg"
    text = saved.path().read_text(encoding="utf-8")
    assert 'xmlns="http://www.w3.org/2000/svg"' in text
    assert ">RoBERTa<" in text
    assert ">GPT-3<" not in text  # it is later than the year shown
    assert "href" not in text
    assert "var(" not in text
    with alone.expect_download() as done:
        alone.locator("button.png").evaluate("button => button.click()")
    assert done.value.path().read_bytes().startswith(b"\x89PNG")


def test_a_person_looks_filters_and_opens_a_system(visitor: Visitor) -> None:
    page = visitor.open("/catalogue?line=roberta&year=2020")
    expect(page.locator(".picture .node.later")).to_have_count(sum(entry.year > 2020 for entry in FAMILY))
    expect(page.get_by_role("rowheader", name="BERT → RoBERTa")).to_be_visible()
    page.get_by_role("radio", name="By size").click()
    expect(page).to_have_url(re.compile("axis=size"))
    page.get_by_role("button", name="Branches: all").click()
    page.get_by_role("button", name="Decoder", exact=True).click()
    expect(page).to_have_url(re.compile("branches=encoder"))
    expect(page.get_by_role("link", name=re.compile("^GPT-3, May 2020"))).to_have_count(0)
    page.keyboard.press("Escape")
    slider = page.get_by_role("slider", name="Last month shown")
    slider.focus()
    page.keyboard.press("ArrowLeft")
    expect(page).to_have_url(re.compile("month=11"))
    node = page.get_by_role("link", name=re.compile("^Longformer, April 2020"))
    node.focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/efficient\?system=longformer"))
    expect(page.get_by_role("heading", level=1)).to_contain_text("Efficient")
    page.go_back()
    expect(page).to_have_url(re.compile("/catalogue.*axis=size"))
    expect(slider).to_have_attribute("aria-valuetext", re.compile("^November 2020"))
