"""The numbers of the bundled cards that are not measured every day."""

from __future__ import annotations

import pytest

from core.checkpoints.registry import get, part_of
from core.training import evaluate
from tests.unit.test_training_cards import BUNDLED, QUICK, states_what_is_measured


@pytest.mark.parametrize("slug", sorted({*BUNDLED} - QUICK))
def test_card_states_what_is_measured(slug: str) -> None:
    states_what_is_measured(slug)


def test_the_drafts_card_states_what_is_measured() -> None:
    card = part_of(get("atlas-gpt-2"), "draft").card
    assert card is not None
    stated = {(m.name, m.on): m.value for m in card.measures}
    found = evaluate.evaluate("atlas-gpt-2-draft")
    assert {m.name for m in found} == {"bits per byte", "drafted tokens accepted", "passes per token"}
    for measure in found:
        near = {"bits per byte": 0.01, "drafted tokens accepted": 2.0, "passes per token": 0.02}[measure.name]
        assert stated[measure.name, measure.on] == pytest.approx(measure.value, abs=near)
