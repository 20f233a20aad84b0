"""Expressions of numbers: their values, and what is refused."""

from __future__ import annotations

import math

import pytest

from core.errors import InputUnusable
from core.lessons.calculation import MOST, calculate


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1*3 + 2*1", 5),
        ("(1*3 + 2*1) / sqrt(2)", 3.5355339),
        ("-ln(0.5)", 0.6931472),
        ("-2**2", -4),
        ("log2(8) + exp(0)", 4),
        ("max(1, 2.5) - min(3, 4, 2)", 0.5),
        ("softmax(1, 1, 1, 1)", 0.25),
        ("softmax(0, ln(3))", 0.25),
        ("softmax(1000, 0)", 1),
        ("softmax(0, 1000)", 0),
        ("(" * 140 + "1" + ")" * 140, 1),
        ("2 ** 0.5 * 2 ** 0.5", 2),
    ],
)
def test_the_value(text: str, value: float) -> None:
    assert calculate(text) == pytest.approx(value)


def test_a_whole_number_is_one() -> None:
    assert isinstance(calculate("6 / 2"), int)
    assert isinstance(calculate("7 / 2"), float)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        "1 +",
        "2 // 1",
        "True",
        "'a' * 9",
        "1j",
        "sqrt",
        "sqrt()",
        "sqrt(1, 2)",
        "max(1)",
        "sqrt(x=1)",
        "sqrt(*[1])",
        "(1).real",
        "[1][0]",
        "__import__('os')",
        "1 if 1 else 2",
        "(lambda: 1)()",
        "1 / 0",
        "sqrt(-1)",
        "ln(0)",
        "(-8) ** (1/3)",
        "10 ** 400",
        "9 ** 9 ** 9",
        "1e999",
        "1e300 * 1e300",
        "exp(1000)",
        "-" * (MOST - 1) + "x",
    ],
)
def test_all_else_is_refused_in_a_sentence(text: str) -> None:
    with pytest.raises(InputUnusable, match=r"cannot be computed\. Use numbers|has no finite value\.$"):
        calculate(text)


def test_it_is_bounded() -> None:
    with pytest.raises(InputUnusable, match="has 301 characters; 300 fit"):
        calculate("1" * (MOST + 1))
    assert math.isfinite(calculate("-" * (MOST - 1) + "1"))
