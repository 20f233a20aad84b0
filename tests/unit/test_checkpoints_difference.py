"""Differences worked out by hand."""

from __future__ import annotations

import pytest
import torch

from core.checkpoints.bundled import apply
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
        {"w.rows.0": torch.ones(1, 3)},
        {"x.rows.0": torch.ones(1, 2)},
    ],
)
def test_what_does_not_fit_is_refused(difference: dict[str, torch.Tensor]) -> None:
    with pytest.raises(CheckpointRefused):
        apply(base(), difference)
