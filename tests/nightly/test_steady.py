"""Any section, on a desk and on a telephone: nothing that somebody reads already jumps while the rest loads."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, ViewportSize

from core.ui.section import pages
from tests.browser.conftest import LAPTOP, TELEPHONE, new_tab, visiting
from tests.browser.test_frame import POOR, SHIFTS
from tests.nightly.test_axe import SECTIONS, address

__all__ = ["address"]


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
