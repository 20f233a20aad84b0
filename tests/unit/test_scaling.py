"""Decoders trained for the page: gradient noise by hand."""

from __future__ import annotations

import pytest
import torch

from core.efficiency.noise import Noise, measure


def test_the_noise_scale_by_hand() -> None:
    """Gradients (2, 0) and (2, 2): |G|² = g₁ · g₂ = 4; their variance is 2, so windows of 10 tokens give 5."""
    weights = torch.zeros(2, requires_grad=True)
    gradients = [torch.tensor(row) for row in ([2.0, 0.0], [2.0, 2.0], [3.0, 0.0], [3.0, 2.0], [9.0, 9.0])]
    losses = [lambda g=g: (g * weights).sum() for g in gradients]
    first, both = measure([weights], losses, 10, 2)
    assert (first.signals, first.noises) == ((4.0,), (2.0,))
    assert first.scale == 5
    assert first.interval is None, "one group has no spread"
    assert both.scale == pytest.approx(10 * 4 / 13)
    low, high = both.interval or (0, 0)
    assert low < (both.scale or 0) < high
    assert Noise(10, (-1.0, 0.5), (2.0, 2.0)).scale is None, "no common direction"
