"""Nothing typed is lost, on each page and after each wait: a press beside it, and Back."""

from __future__ import annotations

import pytest

from tests.browser.conftest import Visitor
from tests.browser.test_typed import PAGES, WAITS, backs, presses, screen, taps, toucher

__all__ = ["screen", "toucher"]


@pytest.mark.parametrize("view", PAGES)
def test_a_press_keeps_what_was_typed(view: str, traveller: Visitor) -> None:
    presses(traveller, view, WAITS)


@pytest.mark.parametrize("who", ["traveller", "toucher"])
@pytest.mark.parametrize("view", ["encoder?model=dir-tiny-bert&text=", "tokenizers?text="])
def test_back_keeps_what_was_typed(view: str, who: str, request: pytest.FixtureRequest) -> None:
    backs(request.getfixturevalue(who), view, WAITS)


def test_a_tap_keeps_what_was_typed(toucher: Visitor) -> None:
    taps(toucher, WAITS)
