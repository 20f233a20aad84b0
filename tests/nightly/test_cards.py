"""The numbers of those bundled cards that take long to be measured."""

from __future__ import annotations

import pytest

from tests.unit.test_training_cards import SLOW, states_what_is_measured


@pytest.mark.parametrize("slug", sorted(SLOW))
def test_card_states_what_is_measured(slug: str) -> None:
    states_what_is_measured(slug)
