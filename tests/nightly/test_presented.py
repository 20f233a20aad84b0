"""Any section in a lecture hall: nothing fails, no type below 28 pixels, nothing wider than the screen."""

from __future__ import annotations

import pytest

from tests.browser.conftest import LAPTOP, Tab, visiting
from tests.browser.test_frame import SMALL
from tests.browser.test_widths import TROUBLE
from tests.nightly.test_axe import SECTIONS, address, themed

__all__ = ["address", "themed"]


@pytest.mark.parametrize(("page", "section"), SECTIONS)
def test_a_section_can_be_read_from_the_last_row(themed: Tab, address: str, page: str, section: str) -> None:
    themed.page.set_viewport_size(LAPTOP)
    with visiting(themed, address) as person:
        shown = person.open(f"/{'' if page == 'home' else page}?tab={section}&present=1")
        assert shown.evaluate(SMALL) == []
        shown.wait_for_function(f"() => !({TROUBLE})([]).length")
