"""The Gumbel-softmax of the gradient attack: by hand, and over many draws."""

from __future__ import annotations

from math import exp, log

import pytest
import torch

from core.finetuning.attack import gumbel_softmax


def test_a_gumbel_softmax_of_two_candidates_by_hand() -> None:
    logits, uniform = torch.tensor([2.0, 0.0]), torch.tensor([0.5, 0.9])
    first, second = 2 - log(-log(0.5)), -log(-log(0.9))  # 2.37 and 2.25
    expected = exp(first) / (exp(first) + exp(second))
    assert expected == pytest.approx(0.529, abs=1e-3)
    assert gumbel_softmax(logits, uniform).tolist() == pytest.approx([expected, 1 - expected], abs=1e-5)
    cold = 1 / (1 + exp((second - first) / 0.1))
    assert gumbel_softmax(logits, uniform, 0.1)[0].item() == pytest.approx(cold, abs=1e-4)


def test_the_largest_sum_is_a_sample_of_the_softmax() -> None:
    logits = torch.tensor([2.0, 0.0])
    drawn = gumbel_softmax(logits.expand(20_000, 2), torch.rand(20_000, 2, generator=torch.Generator().manual_seed(0)))
    share = (drawn.argmax(-1) == 0).float().mean().item()
    assert share == pytest.approx(1 / (1 + exp(-2)), abs=0.01)  # four standard errors of 20,000 draws


def test_a_uniform_number_of_zero_or_one_has_a_finite_softmax() -> None:
    ends = gumbel_softmax(torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0]))
    assert torch.isfinite(ends).all()
    assert ends.sum().item() == pytest.approx(1)
