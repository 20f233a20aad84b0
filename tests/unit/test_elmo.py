"""The small ELMo's network: what each direction reads, and how both are combined."""

from __future__ import annotations

import torch

from core.checkpoints.recurrent import BidirectionalLM
from core.vectors.elmo import combined


def small() -> BidirectionalLM:
    torch.manual_seed(0)
    return BidirectionalLM(20, 4, 8).eval()


def test_each_direction_reads_its_own_side_alone() -> None:
    model, ids, real = small(), torch.tensor([[2, 7, 8, 9, 3]]), torch.ones(1, 5, dtype=torch.long)
    changed = ids.clone()
    changed[0, 2] = 11
    before, after = model.states(ids, real), model.states(changed, real)
    moved = (before - after).abs().sum(-1)[:, :, 0] > 0  # (layers, directions, n)
    assert moved[0].tolist() == [[False, False, True, False, False]] * 2
    assert moved[1:, 0].tolist() == [[False, False, True, True, True]] * 2
    assert moved[1:, 1].tolist() == [[True, True, True, False, False]] * 2


def test_padding_changes_nothing() -> None:
    model, ids = small(), torch.tensor([[2, 7, 8, 3, 0, 0]])
    real = (ids != 0).long()
    alone = model.states(ids[:, :4], real[:, :4])
    torch.testing.assert_close(model.states(ids, real)[..., :4, :], alone)
    left, right = model.predicting(ids, real)
    assert left.shape == right.shape == (3, 4)


def test_both_sides_are_multiplied_and_the_frequency_is_divided_by() -> None:
    model, ids, real = small(), torch.tensor([[2, 7, 8, 3]]), torch.ones(1, 4, dtype=torch.long)
    torch.nn.init.normal_(model.bias)
    left, right, both = combined(model, ids, real, torch.tensor([2])).exp()[:, 0]
    by_hand = left * right / model.bias.softmax(-1)
    torch.testing.assert_close(both, by_hand / by_hand.sum())
    first, last = (
        combined(model, torch.tensor([row]), real, torch.tensor([2])).exp()[:, 0]
        for row in ([2, 9, 8, 3], [2, 7, 8, 9])
    )
    torch.testing.assert_close(last[0], left)  # another token after it
    torch.testing.assert_close(first[1], right)  # another one before it
    assert not torch.equal(first[0], left)
    assert not torch.equal(last[1], right)
