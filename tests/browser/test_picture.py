"""The main picture comes first: where it begins, and how much stands above it, on a laptop and on a telephone."""

from __future__ import annotations

import pytest

from tests.browser.conftest import Visitor
from tests.browser.picture import first_picture

VIEWS = (
    *("/", "/encoder", "/decoder", "/encoder-decoder", "/efficient", "/transformer", "/attention"),
    *("/attention?tab=block", "/objectives", "/objectives?tab=masks", "/generation?tab=beam"),
    *("/training?tab=train", "/vectors"),
)
"""The main views; every section is in ``tests/nightly/test_axe.py``."""


@pytest.mark.parametrize("path", VIEWS)
def test_the_main_picture_comes_first(visitor: Visitor, path: str) -> None:
    picture = first_picture(visitor.open(path))
    assert picture.y <= 250
    assert picture.words <= 40, picture.said
    assert picture.controls <= 8


@pytest.mark.parametrize("path", VIEWS)
def test_a_telephone_shows_the_main_picture_on_its_first_screen(telephone: Visitor, path: str) -> None:
    assert first_picture(telephone.open(path)).y <= 680
