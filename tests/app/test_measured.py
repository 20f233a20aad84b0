"""Measurements on this server: refused where the host wants none."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from core import session
from core.errors import MeasuringOff
from core.settings import settings
from tests.pages import opened, shown


@pytest.fixture(autouse=True)
def _measuring_off(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("ATLAS_MEASURE", "off")
    settings.cache_clear()
    session.results.clear()
    yield
    settings.cache_clear()


@pytest.mark.parametrize(("page", "query"), [("catalogue", {"tab": "models"}), ("generation", {"tab": "draft"})])
def test_a_host_turns_every_measurement_off(page: str, query: dict[str, str]) -> None:
    at = opened(page, **query)
    assert not at.error
    assert "turned off measurements" in shown(at)
    assert not [button.label for button in at.button if button.label.startswith(("Measure", "Time it", "Train"))]


def test_no_other_way_leads_to_a_measurement() -> None:
    """All measurements pass through one function; what a demo shows beside its predictions is no measurement alone."""
    with pytest.raises(MeasuringOff, match="turned off"):
        session.measured("a key", lambda: 1, lambda share, doing: None)
    assert session.measured("a key", lambda: 1, lambda share, doing: None, part=True) == 1
    assert session.measured("a key", lambda: 2, lambda share, doing: None) == 1, "a stored one stays"
