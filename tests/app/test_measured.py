"""The measured section: stored numbers at once, a measurement on request, and a refusal where the host wants none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from core import session
from core.efficiency import lengths
from core.efficiency.compress import Recipe
from core.errors import MeasuringOff
from core.settings import settings
from core.ui.zoo import compression
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


def test_the_gradient_noise_of_a_live_decoder_is_measured_by_a_click() -> None:
    at = opened("efficient", tab="batches", decoder="atlas-gpt-neo")
    assert "Atlas GPT-Neo: the gradient noise scale is about 790 tokens" in shown(at)
    assert "stored" in shown(at)
    assert "beside two rules that start at the smallest batch" in described(at)
    widget(at.button, "Measure here").click().run()
    assert "measured on this server" in shown(at)
    assert "the gradient noise scale is about 790 tokens" in shown(at), "the same texts give the same gradients"


@pytest.fixture
def measuring_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATLAS_MEASURE", "off")
    settings.cache_clear()
    session.results.clear()


OPENED = [
    ("efficient", {"tab": "measured"}),
    ("efficient", {"tab": "batches"}),
    ("zoo", {}),
    ("zoo", {"tab": "compression"}),
    ("generation", {"tab": "draft"}),
]


@pytest.mark.parametrize(("page", "query"), OPENED)
def test_a_host_turns_every_measurement_off(measuring_off: None, page: str, query: dict[str, str]) -> None:
    at = opened(page, **query)
    assert not at.error
    assert "turned off measurements" in shown(at)
    assert not [button.label for button in at.button if button.label.startswith(("Measure", "Time it", "Train"))]
    assert at.get("plotly_chart") or page == "zoo" or query["tab"] == "draft"


def test_no_other_way_leads_to_a_measurement(measuring_off: None) -> None:
    """All measurements pass through one function; what a demo shows beside its predictions is no measurement alone."""
    with pytest.raises(MeasuringOff, match="turned off"):
        session.measured("a key", lambda: 1, lambda share, doing: None)
    assert session.measured("a key", lambda: 1, lambda share, doing: None, part=True) == 1
    assert session.measured("a key", lambda: 2, lambda share, doing: None) == 1, "a stored one stays"
    assert len(lengths.stored()) > 20


def test_a_compressed_model_is_measured_again_with_its_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[float] = []
    monkeypatch.setattr(compression, "measure", _told(compression.measure, told))
    at = opened("zoo", tab="compression", model="atlas-bert", bits="4", pruned="90", heads="75", layers="2")
    assert "Not measured yet" in shown(at)
    widget(at.button, "Measure here").click().run()
    assert "On this server" in shown(at)
    assert "times smaller" in shown(at), "a combination that is not stored is shown when it was measured"
    assert len(told) > 10
    assert told == sorted(told)
    assert widget(at.button, "Measure here"), "it can be repeated"


def _told(measure: Any, told: list[float]) -> Any:
    """The measurement, which also lists the shares that it tells, of both models one after the other."""

    def listed(checkpoint: Any, recipe: Recipe, watch: Any) -> Any:
        return measure(checkpoint, recipe, lambda share: told.append(share + (recipe != Recipe())) or watch(share))

    return listed
