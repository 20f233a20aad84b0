"""Small print, light buttons and long lines: what has to be read from the last row, and on a telephone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext, Locator, expect

from tests.browser.conftest import TELEPHONE, Tab, Visitor, comes_true, new_tab, visiting

CONTRAST = """
(element) => {
  const parts = (color) => color.match(/[\\d.]+/g).map(Number);
  const over = (top, share, under) => top.slice(0, 3).map((value, i) => value * share + under[i] * (1 - share));
  const light = (color) => {
    const [r, g, b] = color.map((v) => v / 255).map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  let ground = null, share = 1;
  const svg = element instanceof SVGElement;
  for (let at = element; at; at = at.parentElement) {
    const style = getComputedStyle(at), own = parts(style.backgroundColor);
    share *= Number(style.opacity);
    if (!ground && (own[3] ?? 1) === 1) ground = own.slice(0, 3);
  }
  const style = getComputedStyle(element), ink = parts(svg ? style.fill : style.color);
  const [a, b] = [light(over(ink, share * (ink[3] ?? 1), ground)), light(ground)];
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}
"""
"""WCAG's contrast of a text with the first opaque ground below it, opacities on the way included."""


SCHEME = """
() => [matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light",
  getComputedStyle(document.querySelector("[data-testid=stApp]")).colorScheme]
"""
"""The theme that was wished for, and the one that the app has."""


def readable(text: Locator) -> None:
    """Wait until ``text`` has a contrast of 4.5 to 1."""
    expect(text).to_be_visible()
    comes_true(text, f"(element) => ({CONTRAST})(element) >= 4.5")


@pytest.fixture(scope="module")
def themed(window: BrowserContext) -> Iterator[Tab]:
    """A telephone's tab in the dark theme; both are in ``tests/nightly/test_axe.py``."""
    with new_tab(window) as tab:
        tab.page.set_viewport_size(TELEPHONE)
        tab.page.emulate_media(color_scheme="dark")
        yield tab


@pytest.fixture
def reader(themed: Tab, warm: str) -> Iterator[Visitor]:
    """A visitor with a telephone in the dark theme."""
    with visiting(themed, warm) as person:
        yield person


def test_small_print_and_titles_of_axes_can_be_read_in_the_dark(reader: Visitor) -> None:
    page = reader.open("/vectors?tab=sum")
    wished, shown = page.evaluate(SCHEME)
    assert shown == wished
    page.get_by_text("How it works").last.click()
    caption = page.get_by_test_id("stCaptionContainer").last
    readable(caption.locator("p").last)
    readable(caption.get_by_role("link").last)
    for title in page.locator(".xtitle, .ytitle").all():
        readable(title)


def test_a_long_link_to_a_page_breaks_on_a_telephone(telephone: Visitor) -> None:
    page = telephone.open("/decoder?system=gpt-4&tab=tree")
    page.get_by_text("What it changed, and why").click()
    link = page.get_by_test_id("stMain").get_by_test_id("stPageLink-NavLink").filter(has_text="GPT-3").first
    expect(link).to_be_visible()
    line = link.locator("p")
    comes_true(line, "(text) => text.scrollWidth <= text.clientWidth")
    comes_true(line, "(text) => text.getClientRects()[0].right <= window.innerWidth")


def test_a_long_formula_breaks_on_a_telephone(telephone: Visitor) -> None:
    page = telephone.open("/vectors?tab=places&kind=rotary")
    page.get_by_text("How it works").first.click()
    formula = page.locator(".katex-display").first
    expect(formula).to_be_visible()
    comes_true(
        formula,
        "(shown) => [...shown.querySelectorAll('.base')].every("
        "(part) => part.getBoundingClientRect().right <= window.innerWidth)",
    )


def test_a_row_of_choices_breaks_on_a_telephone(telephone: Visitor) -> None:
    page = telephone.open("/tokenizers?tab=steps")
    for name in ("BPE merges", "WordPiece matches", "Unigram probabilities"):
        choice = page.get_by_role("radio", name=name)
        expect(choice).to_be_visible()
        comes_true(choice, "(button) => button.getBoundingClientRect().right <= window.innerWidth")
