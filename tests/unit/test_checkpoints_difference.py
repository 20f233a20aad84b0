"""Differences, and a head that reads the whole sentence, worked out by hand."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from core.checkpoints.bundled import apply
from core.checkpoints.heads import SentenceHead
from core.errors import CheckpointRefused


def base() -> dict[str, torch.Tensor]:
    return {"w": torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), "b": torch.tensor([1.0, 1.0, 1.0])}


def test_low_rank() -> None:
    b = torch.tensor([[1.0], [0.0], [2.0]])  # out x r
    a = torch.tensor([[10.0, 20.0]])  # r x in
    got = apply(base(), {"w.lora_B": b, "w.lora_A": a})
    assert got["w"].tolist() == [[11.0, 22.0], [3.0, 4.0], [25.0, 46.0]]
    assert got["b"].tolist() == [1.0, 1.0, 1.0]


def test_low_rank_in_some_rows() -> None:
    stored = {"w.lora_B": torch.tensor([[1.0], [2.0]]), "w.lora_A": torch.tensor([[10.0, 20.0]])}
    got = apply(base(), stored | {"w.lora_rows": torch.tensor([0, 2], dtype=torch.int32)})
    assert got["w"].tolist() == [[11.0, 22.0], [3.0, 4.0], [25.0, 46.0]]


def test_replacement_and_new_tensor() -> None:
    got = apply(base(), {"b": torch.tensor([9.0, 8.0]), "head": torch.tensor([[7.0]], dtype=torch.float16)})
    assert got["b"].tolist() == [9.0, 8.0]
    assert got["head"].tolist() == [[7.0]]
    assert got["head"].dtype == torch.float32


def test_rows_replace_and_extend() -> None:
    got = apply(base(), {"w.rows.2": torch.tensor([[50.0, 60.0], [70.0, 80.0]])})
    assert got["w"].tolist() == [[1.0, 2.0], [3.0, 4.0], [50.0, 60.0], [70.0, 80.0]]
    got = apply(base(), {"w.rows.0": torch.tensor([[0.0, 0.0]])})
    assert got["w"].tolist() == [[0.0, 0.0], [3.0, 4.0], [5.0, 6.0]]


def test_tiles_are_repeated_and_updated() -> None:
    tiles = {"w.tiles.2": torch.tensor([[1.0, 2.0], [3.0, 4.0]])}
    assert apply(base(), tiles)["w"].tolist() == [[1.0, 2.0], [3.0, 4.0]] * 2
    product = {"w.lora_A": torch.tensor([[1.0, 0.0]]), "w.lora_B": torch.tensor([[0.0], [0.0], [0.0], [5.0]])}
    assert apply(base(), product | tiles)["w"].tolist()[2:] == [[1.0, 2.0], [8.0, 4.0]]


def test_low_rank_on_top_of_a_replacement_in_any_order() -> None:
    difference = {
        "w.lora_A": torch.tensor([[1.0, 1.0]]),
        "w": torch.zeros(3, 2),
        "w.lora_B": torch.tensor([[1.0], [2.0], [3.0]]),
    }
    assert apply(base(), difference)["w"].tolist() == [[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]


def test_half_precision_is_added_in_float32() -> None:
    got = apply(
        {"w": torch.full((1, 1), 2048.0, dtype=torch.float16)},
        {"w.lora_A": torch.ones(1, 1).half(), "w.lora_B": torch.ones(1, 1).half()},
    )
    assert got["w"].item() == 2049.0  # float16 would round to 2048


def test_arguments_are_not_changed() -> None:
    before = base()
    apply(before, {"w.rows.0": torch.zeros(3, 2), "b": torch.zeros(3)})
    assert before["w"].tolist() == base()["w"].tolist()
    assert before["b"].tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    "difference",
    [
        {"w.lora_A": torch.ones(1, 2)},
        {"w.lora_B": torch.ones(3, 1)},
        {"w.lora_A": torch.ones(1, 3), "w.lora_B": torch.ones(3, 1)},
        {"w.lora_A": torch.ones(2, 2), "w.lora_B": torch.ones(3, 1)},
        {"x.lora_A": torch.ones(1, 2), "x.lora_B": torch.ones(3, 1)},
        {"w.lora_rows": torch.tensor([0])},
        *(
            {"w.lora_A": torch.ones(1, 2), "w.lora_B": torch.ones(2, 1), "w.lora_rows": rows}
            for rows in (
                torch.tensor([0]),
                torch.tensor([0, 3]),
                torch.tensor([-1, 0]),
                torch.tensor([1, 1]),
                torch.tensor([0.0, 1.0]),
                torch.tensor([[0, 1]]),
            )
        ),
        {"w.rows.4": torch.ones(1, 2)},
        {"w.rows.-1": torch.ones(1, 2)},
        {"w.tiles.-1": torch.ones(1, 2)},
        {"b.tiles.": torch.ones(1, 2)},
        {"w.rows.0": torch.ones(1, 3)},
        {"x.rows.0": torch.ones(1, 2)},
    ],
)
def test_what_does_not_fit_is_refused(difference: dict[str, torch.Tensor]) -> None:
    with pytest.raises(CheckpointRefused):
        apply(base(), difference)


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


def test_a_sentence_vector_is_the_normalized_mean_of_attended_states(head: SentenceHead) -> None:
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
