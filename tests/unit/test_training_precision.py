"""Mixed precision on a processor: where it has bfloat16 and the recipe wants it."""

from __future__ import annotations

import pytest
import torch

from core.training import optimizers


@pytest.mark.parametrize(
    ("has", "wanted", "used"),
    [(True, True, torch.bfloat16), (False, True, torch.float32), (True, False, torch.float32)],
)
def test_products_are_in_bfloat16_where_it_is_had_and_wanted(
    monkeypatch: pytest.MonkeyPatch, has: bool, wanted: bool, used: torch.dtype
) -> None:
    monkeypatch.setattr(optimizers, "on_cpu", lambda: has)
    with optimizers.mixed("cpu", wanted=wanted):
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype is used


def test_this_processor_says_what_it_has() -> None:
    assert isinstance(optimizers.on_cpu(), bool)
