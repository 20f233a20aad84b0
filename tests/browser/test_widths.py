"""Each page in one visit: nothing keeps anybody from using it, its main picture comes first, and it fits its window.

The row of system, model and sections is whole, zoomed and on a telephone.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import TimeoutError, ViewportSize, expect

from core.catalogue.schema import BRANCHES
from core.content import content
from tests.browser.axe import findings
from tests.browser.conftest import ROOT, TELEPHONE, Visitor
from tests.browser.picture import first_picture

PATHS = {file.stem: f"/{file.stem}" for file in sorted((ROOT / "pages").glob("*.py"))} | {"home": "/"}
"""Every page's file and its path."""
PICTURES = (
    *("/", "/encoder", "/decoder", "/encoder-decoder", "/efficient", "/transformer", "/attention"),
    *("/attention?tab=block", "/objectives", "/objectives?tab=masks", "/generation?tab=beam"),
    *("/training?tab=train", "/transformer?tab=by-hand", "/vectors"),
)
"""The main views, which begin with a picture; every section is in ``tests/nightly/test_axe.py``."""
READ = ("/", "/encoder", "/attention", "/catalogue", "/lessons", "/tokenizers")
"""A page of each kind, on which axe-core looks; every section is in ``tests/nightly/test_axe.py``."""
VIEWS = ("/encoder?facts=open", "/decoder?system=gpt-3&tab=tree", "/catalogue?tab=table&pins=bert,gpt-2")
"""What only a link opens, where a page is widest; every section is in ``tests/nightly/test_axe.py``."""
SECTIONS = [content("branch", section).title for section in ("demo", "tree")]
ZOOMED: ViewportSize = {"width": 853, "height": 800}
"""CSS pixels: where there is least room beside the sidebar (1,280 at a zoom of 150%)."""
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
    for size in (ZOOMED, TELEPHONE) if names else (TELEPHONE,):
        visitor.page.set_viewport_size(size)
        try:
            visitor.page.wait_for_function(f"(names) => !({TROUBLE})(names).length", arg=names, polling=50)
        except TimeoutError:
            trouble = visitor.page.evaluate(TROUBLE, names)
            assert trouble == [], f"at {size['width']} pixels"


def has_its_picture_first(visitor: Visitor) -> None:
    """Within the first screen, on a telephone too, with little to read and to choose above it."""
    picture = first_picture(visitor.page)
    if visitor.page.viewport_size == TELEPHONE:
        assert picture.y <= 680
    else:
        assert picture.y <= 250
        assert picture.words <= 40, picture.said
        assert picture.controls <= 8


@pytest.mark.parametrize("path", [*PATHS.values(), *(path for path in PICTURES if path not in PATHS.values())])
def test_a_page_can_be_used_begins_with_its_picture_and_never_scrolls_sideways(visitor: Visitor, path: str) -> None:
    page, name = visitor.open(path), path.strip("/").partition("?")[0]
    title = "Transformer Atlas"
    expect(page).to_have_title(f"{content(name).title} · {title}" if name else title)
    assert page.get_by_test_id("stAlertContentError").count() == 0
    if path in PICTURES:
        has_its_picture_first(visitor)
    if path in READ:  # every section, in both themes and on a telephone too: tests/nightly/test_axe.py
        assert findings(page) == []
    fits(visitor, *(SECTIONS if name in BRANCHES else ()))  # ends with a telephone
    if path in PICTURES:
        has_its_picture_first(visitor)


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
