"""A page that loads stays where it is: what arrives later does not push what somebody reads already."""

from __future__ import annotations

import pytest

from tests.browser.conftest import Visitor

SHIFTS = """
() => new Promise((done) => {
  const found = [];
  new PerformanceObserver((list) => {
    for (const shift of list.getEntries()) if (!shift.hadRecentInput) found.push(shift.value);
  }).observe({ type: "layout-shift", buffered: true });
  setTimeout(() => done(found.reduce((sum, value) => sum + value, 0)), 500);
})
"""
"""The cumulative layout shift since the page was loaded."""


POOR = 0.25
"""What Web Vitals call poor. Free, these pages have at most 0.02; beside two other tests up to 0.11; not held
steady, 0.7."""


@pytest.mark.parametrize("path", ["/calculators?tab=pipeline", "/zoo", "/timeline"])
def test_nothing_jumps_while_a_page_loads(visitor: Visitor, path: str) -> None:
    page = visitor.arrive(path)
    visitor.settle()
    assert page.evaluate(SHIFTS) < POOR
