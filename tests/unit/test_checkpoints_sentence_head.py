"""A head that hears the whole sentence, on numbers worked out by hand."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from core.checkpoints.sentence_head import SentenceHead

MASK = 4


class Reader(nn.Module):
    """An encoder whose state at a position is the row of its token: what is not attended to has no state."""

    config = SimpleNamespace(hidden_size=2)

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Parameter(
            torch.tensor([[9.0, 9.0], [3.0, 0.0], [0.0, 4.0], [1.0, 0.0], [7.0, 7.0], [0.0, 1.0]])
        )

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> SimpleNamespace:
        assert bool((attention_mask[input_ids == MASK] == 0).all())  # the reader does not see masks
        return SimpleNamespace(last_hidden_state=self.table[input_ids])


@pytest.fixture
def head() -> SentenceHead:
    made = SentenceHead(Reader(), MASK)
    with torch.no_grad():
        made.about.weight.copy_(torch.tensor([[1.0, 2.0], [0.5, 1.0]]))
        made.repeated.weight.copy_(torch.tensor([[1.0, 0.0]]))
        made.repeated.bias.fill_(-1.0)
    return made


def test_a_vector_is_the_unit_mean_of_what_is_seen(head: SentenceHead) -> None:
    ids = torch.tensor([[1, MASK, 2], [3, 5, 0]])
    attend = torch.tensor([[1, 1, 1], [1, 1, 0]])  # the second row is padded
    root = math.sqrt(0.5)
    torch.testing.assert_close(head.vectors(ids, attend), torch.tensor([[0.6, 0.8], [root, root]]))


def test_what_is_added_is_what_the_sentence_is_about_less_what_has_been_said(head: SentenceHead) -> None:
    words = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [2.0, 2.0], [1.0, 1.0], [-5.0, 0.0]])
    ids = torch.tensor([[1, MASK, 2, 1]])  # word 1 stands there twice and costs once
    found = head(ids, torch.ones_like(ids), words)[0]
    # s = (6, 4) / sqrt(52); A s = (14, 7) / sqrt(52)
    about = torch.tensor([0.0, 1.0, 0.5, 3.0, 1.5, -5.0]) * 14 / math.sqrt(52)
    cost = {1: math.log(2.0), 2: math.log(1 + math.exp(-1.0)), MASK: math.log(2.0)}
    expected = about - torch.tensor([cost.get(word, 0.0) for word in range(6)])
    torch.testing.assert_close(found, expected)


def test_the_reader_does_not_learn(head: SentenceHead) -> None:
    ids = torch.tensor([[1, MASK, 2]])
    head(ids, torch.ones_like(ids), torch.randn(6, 2)).sum().backward()  # type: ignore[no-untyped-call]
    assert head.reader.table.grad is None
    assert head.about.weight.grad is not None
    assert head.repeated.weight.grad is not None
