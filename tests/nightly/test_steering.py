"""What `assets/content/interventions/steer.md` says of the bundled decoders, computed again."""

from __future__ import annotations

from statistics import fmean

import pytest

from core import checkpoints
from core.interventions import steering
from core.interventions.steering import Sweep, Written, bundled_sets, bundled_words, count_words


@pytest.fixture(autouse=True)
def _as_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("SEEDS", 40), ("SHORT", 48), ("ALPHAS", (-2.0, 0.0, 2.0, 4.0))):
        monkeypatch.setattr(steering, name, value)


def measured(slug: str) -> Sweep:
    sets = bundled_sets()
    return steering.sweep(checkpoints.load(slug), sets.prompt, sets.toward, sets.away, 1)


def counts(texts: tuple[Written, ...]) -> list[int]:
    """Words of joy and of sorrow."""
    return [sum(count_words(text.text, words) for text in texts) for words in bundled_words().values()]


def test_the_words_and_the_cost_of_the_direction_and_of_random_ones() -> None:
    """Within what a sampled token that falls otherwise changes, on another processor."""
    texts = measured("atlas-gpt-2")
    assert counts(texts.steered[0]) == pytest.approx([0, 55], abs=6)
    assert counts(texts.steered[1]) == pytest.approx([15, 15], abs=6)
    assert counts(texts.steered[2]) == pytest.approx([78, 0], abs=6)
    assert counts(texts.control[2]) == pytest.approx([17, 14], abs=6)
    costs = [fmean(text.nats for text in written) for written in texts.steered]
    assert costs[1:] == pytest.approx([2.59, 2.97, 3.88], abs=0.04)


def test_other_decoders_turn_less() -> None:
    turned = {
        slug: counts((texts := measured(slug)).steered[2])[0] - counts(texts.control[2])[0]
        for slug in ("atlas-gpt-2", "atlas-gpt-neo", "atlas-llama", "atlas-ctrl")
    }
    assert turned["atlas-gpt-2"] > 3 * max(turned["atlas-gpt-neo"], turned["atlas-llama"])
    assert min(turned["atlas-gpt-neo"], turned["atlas-llama"]) > 3
    assert abs(turned["atlas-ctrl"]) < 5
