"""The numbers of the bundled cards that are not measured every day."""

from __future__ import annotations

import pytest

from tests.unit.test_training_cards import BUNDLED, QUICK, states_what_is_measured


@pytest.mark.parametrize("slug", sorted({*BUNDLED} - QUICK))
def test_card_states_what_is_measured(slug: str) -> None:
    states_what_is_measured(slug)
