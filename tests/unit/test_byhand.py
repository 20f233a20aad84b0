"""Attention by hand: the numbers of the example, worked out on paper, and cells of a link.

``tests/byhand.json`` holds the cases; ``tests/js/byhand.test.js`` reads the same.
"""

from __future__ import annotations

import json
import math
from itertools import chain, product
from pathlib import Path
from typing import Any, get_args

import pytest
import torch
from pydantic import ValidationError
from torch.nn.functional import scaled_dot_product_attention

from core.attention import byhand
from core.attention.byhand import MODES, MOST_CHARACTERS, Mode, compute, example, read_cells
from core.attention.scores import rotate
from core.ui.byhand import Changed, numbers_table

CASES = json.loads((Path(__file__).parents[1] / "byhand.json").read_text(encoding="utf-8"))["cases"]


@pytest.mark.parametrize("case", CASES, ids=[case["about"] for case in CASES])
def test_a_case_by_hand(case: dict[str, Any]) -> None:
    tensors = compute(read_cells(case["cells"]), case["mode"], causal=case["causal"])
    for name, rows in case["expected"].items():
        expected = [-math.inf if value is None else value for value in chain(*rows)]
        assert list(chain(*tensors[name])) == pytest.approx(expected, abs=6e-5), name
    assert [sum(row) for row in tensors["a1"]] == pytest.approx([1, 1, 1])


@pytest.mark.parametrize(("mode", "causal"), product(MODES, (True, False)))
def test_torch_computes_the_same(mode: Mode, causal: bool) -> None:
    cells = read_cells("q121_-3.5~k132_2~p21_7~g11_33~t11_2~w43_1.25")
    tensors = compute(cells, mode, causal=causal)
    outputs = []
    for head in "12" if mode == "heads" else "1":
        q, k, v = (torch.tensor(cells[f"{name}{head}"], dtype=torch.float64)[None] for name in "qkv")
        if mode == "rotation":
            angles = torch.tensor([[math.radians(33 * position)] for (position,) in cells["p"]], dtype=torch.float64)
            cos, sin = angles.cos().expand(3, 2), angles.sin().expand(3, 2)
            q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        scale = 2**-0.5 / (2 if mode == "temperature" else 1)
        outputs.append(scaled_dot_product_attention(q, k, v, is_causal=causal, scale=scale)[0])
        assert list(chain(*tensors[f"o{head}"])) == pytest.approx(outputs[-1].flatten().tolist())
    if mode == "heads":
        projected = torch.cat(outputs, dim=1) @ torch.tensor(cells["w"], dtype=torch.float64)
        assert list(chain(*tensors["y"])) == pytest.approx(projected.flatten().tolist())


def test_the_first_score_is_the_one_of_the_lessons() -> None:
    cells = example().cells
    assert (cells["q1"][2], cells["k1"][0]) == ((1, 2), (3, 1))
    assert example().tokens == ("Mary", "saw", "herself")
    assert compute(cells, "head", causal=True)["s1"][2][0] == 5


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ("q131_abc", "no cell"),
        ("q131_1e999", "no cell"),
        ("q131_nan", "no cell"),
        ("q131_", "no cell"),
        ("q141_1", "no cell"),
        ("q133_1", "no cell"),
        ("s111_1", "no cell"),
        ("q131_٣", "no cell"),
        ("q131_100", "from -99 to 99"),
        ("q131_-99.01", "from -99 to 99"),
        ("p11_1.5", "at most 0 decimals"),
        ("p11_-1", "from 0 to 999"),
        ("t11_0", "from 0.01 to 99"),
        ("g11_361", "from -360 to 360"),
        ("<script>", "no cell"),
        ("q111_1~" * 200, "at most"),
    ],
)
def test_a_link_with_other_cells_is_refused(written: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        read_cells(written)


def test_the_longest_link_fits() -> None:
    longest = {"p": "999", "g": "-359.99", "t": "98.99"}
    cells = [
        f"{name}{row + 1}{column + 1}_{longest.get(name, '-98.99')}"
        for name, rows in example().cells.items()
        for row, values in enumerate(rows)
        for column, _ in enumerate(values)
    ]
    written = "~".join(cells)
    assert len(written) <= MOST_CHARACTERS
    assert read_cells(written)["q1"][2] == (-98.99, -98.99)
    assert Changed(cells=written, mode="heads", mask="none", at="y31", until="output")


@pytest.mark.parametrize("at", ["", "s1", "<b>", "s1310", "z131", "s130"])
def test_a_message_names_a_number_of_the_page(at: str) -> None:
    with pytest.raises(ValidationError):
        Changed(cells="", mode="head", mask="causal", at=at, until="output")


def test_the_table_has_every_number() -> None:
    tensors = compute(example().cells, "head", causal=True)
    table = numbers_table(tensors, example().tokens)
    assert ("s1", "herself", 1, 5.0) in table.rows
    assert ("a1", "Mary", 1, 1.0) in table.rows
    assert len(table.rows) == sum(len(row) for rows in tensors.values() for row in rows)


def test_a_half_turn_is_exact() -> None:
    assert byhand.rotate((1, 2), 180) == (-1, -2)
    assert byhand.rotate((1, 0), -90) == (0, -1)
    assert byhand.rotate((1, 0), 45) == pytest.approx((2**-0.5, 2**-0.5))
    assert set(get_args(Mode)) == set(MODES)
