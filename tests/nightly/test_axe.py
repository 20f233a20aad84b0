"""Any section, in light and dark, on a desk and on a telephone: nothing serious for axe-core, nothing too wide."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import pytest
from playwright.sync_api import Browser

from core.ui.section import pages
from tests.browser.axe import findings
from tests.browser.conftest import WAIT_MS, Tab, new_tab, running_app, visiting
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
