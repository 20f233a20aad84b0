"""The measured section: stored numbers at once, a measurement on request, and a refusal where the host wants none."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from core import session
from core.efficiency import lengths
from core.settings import settings
from tests.pages import described, opened, shown, widget


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("core.ui.efficient.measured.LENGTHS", (128, 1024, 2048))
    settings.cache_clear()
    yield
    session.results.forget(("attention by length",))
    settings.cache_clear()


def test_stored_numbers_are_drawn_and_a_click_measures_here() -> None:
    at = opened("efficient", tab="measured")
    assert "measured when the Atlas was made" in shown(at)
    assert "Time, measured by number of tokens" in described(at)
    widget(at.selectbox, "Quantity").set_value("operations").run()
    assert "full 2.00; sparse, gathered 1.0" in described(at)
    widget(at.button, "Measure here").click().run()
    assert "measured on this server" in shown(at)
    assert widget(at.button, "Measure here")


def test_a_host_turns_measuring_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATLAS_MEASURE", "off")
    settings.cache_clear()
    at = opened("efficient", tab="measured")
    assert "turned measurements off" in shown(at)
    assert "Measure here" not in [button.label for button in at.button]
    assert len(lengths.stored()) > 20
