"""No page is wider than its window, and the row of system, model and sections is whole, zoomed and on a telephone."""

from __future__ import annotations

import pytest
from playwright.sync_api import TimeoutError, ViewportSize, expect

from core.catalogue.schema import BRANCHES
from core.content import content
from tests.browser.axe import findings
from tests.browser.conftest import ROOT, Visitor

PATHS = {file.stem: f"/{file.stem}" for file in sorted((ROOT / "pages").glob("*.py"))} | {"home": "/"}
"""Every page's file and its path."""
VIEWS = (
    *("/encoder?facts=open", "/decoder?system=gpt-3&tab=tree", "/glossary?term=rotary-positions"),
    *("/catalogue?tab=table&pins=bert,gpt-2", "/catalogue?tab=trees&left=bert&right=t5", "/tokenizers?tab=languages"),
    "/catalogue?tab=memory&system=llama&device=l4&bits=32",
)
"""What a page shows beside its first view, where it is widest; every section is in ``tests/nightly/test_axe.py``."""
SECTIONS = [content("branch", section).title for section in ("demo", "tree")]
ZOOMED, TELEPHONE = 853, 400
"""CSS pixels: where there is least room beside the sidebar (1,280 at a zoom of 150%), and a telephone."""
TROUBLE = """
(names) => {
  const found = [];
  const main = document.querySelector("[data-testid=stMain]");
  for (const box of [document.scrollingElement, main])
    if (box.scrollWidth > box.clientWidth) found.push(`${box.tagName} scrolls by ${box.scrollWidth - box.clientWidth}`);
  const whole = (element) => {
    const own = element.getBoundingClientRect();
    for (let at = element.parentElement; at; at = at.parentElement) {
      const box = at.getBoundingClientRect();
      const clips = at === document.body || getComputedStyle(at).overflowX !== "visible";
      if (clips && (own.right > box.right + 1 || own.left < box.left - 1)) return false;
    }
    return own.width > 0 && [element, ...element.querySelectorAll("*")].every(
      (part) => part.scrollWidth <= part.clientWidth + 1 || getComputedStyle(part).display === "inline");
  };
  const shown = [...main.querySelectorAll("[role=radio], input[role=combobox]")];
  for (const name of names) {
    const one = shown.find((element) => (element.value || element.textContent).startsWith(name));
    if (!one) found.push(`${name} is missing`);
    else if (!whole(one)) found.push(`${name} is cut`);
  }
  return found;
}
"""
"""What is wrong with a page as it stands; ``names`` begin the choices that have to be there whole."""


def fits(visitor: Visitor, *names: str) -> None:
    """Wait on a telephone, and zoomed where choices have to be whole, until the page has no trouble."""
    for width in (ZOOMED, TELEPHONE) if names else (TELEPHONE,):
        size: ViewportSize = {"width": width, "height": 800}
        visitor.page.set_viewport_size(size)
        try:
            visitor.page.wait_for_function(f"(names) => !({TROUBLE})(names).length", arg=names, polling=50)
        except TimeoutError:
            trouble = visitor.page.evaluate(TROUBLE, names)
            assert trouble == [], f"at {width} pixels"


@pytest.mark.parametrize("name", PATHS)
def test_a_page_opens_and_never_scrolls_sideways_and_branches_show_all_their_sections(
    visitor: Visitor, name: str
) -> None:
    page = visitor.open(PATHS[name])
    title = "Transformer Atlas"
    expect(page).to_have_title(title if name == "home" else f"{content(name).title} · {title}")
    assert page.get_by_test_id("stAlertContentError").count() == 0
    assert findings(page) == []  # every section, in both themes and on a telephone too: tests/nightly/test_axe.py
    fits(visitor, *(SECTIONS if name in BRANCHES else ()))


def test_the_longest_names_of_a_system_and_a_model_are_whole(visitor: Visitor) -> None:
    visitor.open("/decoder?system=transformer-xl")
    fits(visitor, "Transformer-XL (2019)", "Atlas Transformer-XL · trained here", *SECTIONS)


def test_views_fit_a_telephone(telephone: Visitor) -> None:
    for path in VIEWS:
        page = telephone.open(path)
        expect(page).to_have_url(telephone.address + path)
        page.wait_for_function(f"() => !({TROUBLE})([]).length", polling=50)


def test_a_page_chosen_in_the_sidebar_is_uncovered_on_a_telephone(telephone: Visitor) -> None:
    page = telephone.arrive("/glossary")
    page.get_by_test_id("stExpandSidebarButton").click()
    page.get_by_test_id("stSidebarNav").get_by_role("link", name="Catalogue").click()
    expect(page.get_by_role("heading", name="Catalogue", level=1)).to_be_visible()
    expect(page.get_by_test_id("stExpandSidebarButton")).to_be_visible()
    telephone.settle()
