"""Nothing typed is lost: text, then at once a press elsewhere, faster than the page is drawn."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from urllib.parse import quote_plus

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from core.content import content
from tests.browser.conftest import TELEPHONE, WAIT_MS, Visitor, new_tab, visiting

PAGES = {
    "encoder?model=dir-tiny-bert": "Sentence",
    "decoder?model=dir-tiny-gpt2": "Prompt",
    "objectives": "Your sentence",
    "tokenizers": "Your text",
}
"""A view of each page, and its box."""
WAITS = (0, 80, 200)
"""Milliseconds between what is typed and the press."""
ROUNDS = {"encoder?model=dir-tiny-bert": 0, "tokenizers": 80}
"""How long a page with a model and one without wait here: all waits of all pages are in ``tests/nightly``."""


def box_of(page: Page, label: str) -> Locator:
    return page.get_by_role("textbox", name=label, exact=True).first


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


def other_section(person: Visitor, label: str, wait: int, press: Callable[[float, float], None]) -> None:
    """Type, press another section, and go Back."""
    page, text = person.page, f"The old dog sleeps {wait} hours."
    section = page.get_by_role("radiogroup", name="Show").get_by_role("radio", checked=False).first
    name, where = section.text_content() or "", middle(section)
    typed(page, label, text, wait)
    press(*where)
    expect(page.get_by_role("radio", name=name, exact=True)).to_be_checked()
    expect(page).to_have_url(re.compile(f"(tab=.*{re.escape(quote_plus(text))}|{re.escape(quote_plus(text))}.*tab=)"))
    person.settle()
    page.go_back()
    expect(box_of(page, label)).to_have_value(text)
    person.settle()


def other_page(person: Visitor, label: str, wait: int) -> None:
    """Type, press a link of the sidebar, and go Back."""
    page, text = person.page, f"A young cat runs {wait} miles."
    where = middle(page.get_by_test_id("stSidebarNav").get_by_role("link", name=content("glossary").title))
    typed(page, label, text, wait)
    page.mouse.click(*where)
    expect(page).to_have_url(re.compile("/glossary$"))
    person.settle()
    page.go_back()
    expect(box_of(page, label)).to_have_value(text)
    person.settle()


def presses(person: Visitor, view: str, waits: Sequence[int]) -> None:
    page = person.arrive(f"/{view}")
    for wait in waits:
        other_section(person, PAGES[view], wait, page.mouse.click)
        other_page(person, PAGES[view], wait)


@pytest.mark.parametrize("view", ROUNDS)
def test_a_press_on_another_section_or_page_keeps_what_was_typed(view: str, visitor: Visitor) -> None:
    presses(visitor, view, [ROUNDS[view]])


@pytest.fixture(scope="module")
def screen(chromium: Browser) -> Iterator[BrowserContext]:
    """A telephone's window that is touched."""
    context = chromium.new_context(viewport=TELEPHONE, has_touch=True, reduced_motion="reduce")
    context.set_default_timeout(WAIT_MS)
    context.new_page()  # stays open, as in the other `window`
    yield context
    context.close()


@pytest.fixture
def toucher(screen: BrowserContext, warm: str) -> Iterator[Visitor]:
    """A visitor with a telephone that is touched."""
    with new_tab(screen) as tab, visiting(tab, warm) as person:
        yield person


def taps(person: Visitor, waits: Sequence[int]) -> None:
    page = person.arrive("/encoder?model=dir-tiny-bert")
    for wait in waits:
        other_section(person, "Sentence", wait, page.touchscreen.tap)


def test_a_tap_keeps_what_was_typed(toucher: Visitor) -> None:
    taps(toucher, WAITS[:1])


def backs(person: Visitor, view: str, waits: Sequence[int]) -> None:
    """Back leads to another page first, then to another text of the same view; Forward finds what was typed, and its
    result is computed: the address has it."""
    texts = ["Blue whales sing.", *(f"An owl sees {wait} mice." for wait in waits)]
    page = person.arrive("/glossary?letter=Z")
    person.go(f"/{view}{quote_plus(texts[0])}")
    box = box_of(page, PAGES[view.removesuffix("&text=").removesuffix("?text=")])
    for number, wait in enumerate(waits):
        box.fill(texts[number + 1])
        page.wait_for_timeout(wait)
        page.go_back()
        if number:
            expect(box).to_have_value(texts[number - 1])
        else:
            expect(page).to_have_title(re.compile(f"^{content('glossary').title}"))
        person.settle()
        page.go_forward()
        expect(box).to_have_value(texts[number + 1])
        expect(page).to_have_url(re.compile(re.escape(quote_plus(texts[number + 1]))))
        person.settle()


def test_back_while_the_focus_is_in_the_box_keeps_what_was_typed(visitor: Visitor) -> None:
    backs(visitor, "tokenizers?text=", (0, 200))
