"""Every section in both themes, on a telephone and presented: all can be read and used, nothing jumps, and the main
picture stands on the first screen."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import pytest
from playwright.sync_api import Browser, ViewportSize

from core.ui.section import pages
from tests.browser.axe import findings
from tests.browser.conftest import LAPTOP, TELEPHONE, WAIT_MS, Tab, new_tab, running_app, visiting
from tests.browser.picture import first_picture
from tests.browser.test_frame import HALL, POOR, SHIFTS, can_be_read_from_the_last_row
from tests.browser.test_widths import TROUBLE

SECTIONS = [(page.slug, section.slug) for page in pages().values() for section in page.sections]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("axe")
    with running_app(folder, folder) as own:
        yield own


@pytest.fixture(scope="module", params=["light", "dark"])
def themed(request: pytest.FixtureRequest, chromium: Browser) -> Iterator[Tab]:
    scheme: Literal["light", "dark"] = request.param
    context = chromium.new_context(reduced_motion="reduce", color_scheme=scheme)
    context.set_default_timeout(WAIT_MS)
    with new_tab(context) as tab:
        yield tab
    context.close()


@pytest.mark.parametrize("width", [1440, 400])
@pytest.mark.parametrize(("page", "section"), SECTIONS)
def test_a_section_can_be_read_and_used(themed: Tab, address: str, page: str, section: str, width: int) -> None:
    themed.page.set_viewport_size({"width": width, "height": 800})
    path = "/" if page == "home" else f"/{page}"
    with visiting(themed, address) as person:
        shown = person.open(f"{path}?tab={section}" if len(pages()[page].sections) > 1 else path)
        assert findings(shown) == []
        shown.wait_for_function(f"() => !({TROUBLE})([]).length")


@pytest.mark.parametrize(("size", "most"), [(LAPTOP, 400), (TELEPHONE, 700)], ids=["desk", "telephone"])
@pytest.mark.parametrize(("page", "section"), SECTIONS)
def test_a_sections_main_picture_stands_on_the_first_screen(
    themed: Tab, address: str, page: str, section: str, size: ViewportSize, most: int
) -> None:
    themed.page.set_viewport_size(size)
    path = "/" if page == "home" else f"/{page}"
    with visiting(themed, address) as person:
        shown = person.open(f"{path}?tab={section}" if len(pages()[page].sections) > 1 else path)
        assert first_picture(shown).y <= most


@pytest.mark.parametrize(("page", "section"), SECTIONS)
def test_a_section_can_be_read_from_the_last_row(themed: Tab, address: str, page: str, section: str) -> None:
    themed.page.set_viewport_size(LAPTOP)
    with visiting(themed, address) as person:
        shown = person.open(f"/{'' if page == 'home' else page}?tab={section}&present=1")
        if page != "transformer":  # drawn whole
            assert shown.evaluate(HALL) == []
        shown.wait_for_function(f"() => !({TROUBLE})([]).length")


@pytest.mark.parametrize("path", ["/catalogue?tab=timeline", "/catalogue?tab=trees", "/generation?tab=cache"])
def test_a_presented_picture_stands_at_the_top(themed: Tab, address: str, path: str) -> None:
    themed.page.set_viewport_size(LAPTOP)
    with visiting(themed, address) as person:
        can_be_read_from_the_last_row(person, path)


@pytest.mark.parametrize("size", [LAPTOP, TELEPHONE], ids=["desk", "telephone"])
@pytest.mark.parametrize(("page", "section"), SECTIONS)
def test_a_section_stays_where_it_is(
    chromium: Browser, address: str, page: str, section: str, size: ViewportSize
) -> None:
    path = "/" if page == "home" else f"/{page}"
    context = chromium.new_context(viewport=size)
    with new_tab(context) as tab, visiting(tab, address) as person:
        shown = person.arrive(f"{path}?tab={section}" if len(pages()[page].sections) > 1 else path)
        assert shown.evaluate(SHIFTS) < POOR
    context.close()
