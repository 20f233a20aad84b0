"""Nothing typed is lost: text, then at once a click elsewhere or Back, faster than the page is drawn."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from urllib.parse import quote_plus

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.conftest import TELEPHONE, WAIT_MS, Visitor, new_tab, visiting

PAGES = {
    "encoder?model=dir-tiny-bert": "Sentence with [MASK]",
    "decoder?model=dir-tiny-gpt2": "Prompt",
    "objectives?tab=masks": "Your sentence",
    "tokenizers": "Your text",
}
"""A view of each page, and its box."""
AT_ONCE, SOON, LATER = 0, 80, 200


def box_of(page: Page, label: str) -> Locator:
    return page.get_by_role("textbox", name=label).first


def middle(target: Locator) -> tuple[float, float]:
    """Where to press: looked up before, since to look takes longer than a hand."""
    target.scroll_into_view_if_needed()
    place = target.bounding_box()
    assert place is not None
    return place["x"] + place["width"] / 2, place["y"] + place["height"] / 2


def typed(page: Page, label: str, text: str, wait: int) -> None:
    """Type; at once leaves the focus in the box, so that the press takes it away."""
    box = box_of(page, label)
    box.fill(text)
    if wait:
        box.blur()
        page.wait_for_timeout(wait)


def other_section(page: Page) -> Locator:
    return page.get_by_role("radiogroup", name="Show").get_by_role("radio", checked=False).first


def there_and_back(person: Visitor, label: str, wait: int, press: Callable[[float, float], None]) -> None:
    page = person.page
    target = other_section(page)
    where = middle(target)
    name = target.text_content()
    typed(page, label, "The old dog sleeps.", wait)
    press(*where)
    expect(page.get_by_role("radio", name=name, exact=True)).to_be_checked()
    expect(page).to_have_url(re.compile(quote_plus("The old dog sleeps.").replace("+", r"\+")))
    person.settle()
    page.go_back()
    expect(box_of(page, label)).to_have_value("The old dog sleeps.")
    person.settle()


@pytest.mark.parametrize("wait", [AT_ONCE, SOON, LATER])
@pytest.mark.parametrize("view", PAGES)
def test_a_press_on_another_section_or_page_keeps_what_was_typed(view: str, wait: int, traveller: Visitor) -> None:
    label, page = PAGES[view], traveller.arrive(f"/{view}")
    there_and_back(traveller, label, wait, page.mouse.click)
    where = middle(page.get_by_test_id("stSidebarNav").get_by_role("link", name="Sources"))
    typed(page, label, "A young cat runs.", wait)
    page.mouse.click(*where)
    expect(page).to_have_url(re.compile("/sources$"))
    traveller.settle()
    page.go_back()
    expect(box_of(page, label)).to_have_value("A young cat runs.")
    traveller.settle()


@pytest.mark.parametrize("wait", [AT_ONCE, SOON, LATER])
def test_back_keeps_what_was_typed_for_forward(wait: int, traveller: Visitor) -> None:
    page = traveller.arrive("/sources")
    page.get_by_test_id("stSidebarNav").get_by_role("link", name="Tokenizers").click()
    expect(page).to_have_url(re.compile("/tokenizers$"))
    traveller.settle()
    typed(page, "Your text", "The old dog sleeps.", wait)
    page.go_back()
    steps = 1 if page.url.endswith("/sources") else 2  # what was typed may have become a step of its own
    for _ in range(steps - 1):
        page.go_back()
    expect(page).to_have_title(re.compile("^Sources"))
    traveller.settle()
    for _ in range(steps):
        page.go_forward()
        traveller.settle()
    expect(box_of(page, "Your text")).to_have_value("The old dog sleeps.")


@pytest.fixture
def toucher(chromium: Browser, warm: str) -> Iterator[Visitor]:
    """A visitor with a telephone that is touched."""
    context = chromium.new_context(viewport=TELEPHONE, has_touch=True, reduced_motion="reduce")
    context.set_default_timeout(WAIT_MS)
    with new_tab(context) as tab, visiting(tab, warm) as person:
        yield person
    context.close()


@pytest.mark.parametrize("wait", [AT_ONCE, SOON, LATER])
def test_a_tap_keeps_what_was_typed(wait: int, toucher: Visitor) -> None:
    page = toucher.arrive("/encoder?model=dir-tiny-bert")
    there_and_back(toucher, "Sentence with [MASK]", wait, page.touchscreen.tap)
