"""Causal language modelling: the targets are the input one place on."""

import numpy as np

from core.objectives import causal


def test_every_token_is_asked_of_those_before_it() -> None:
    example = causal.corrupt(["the", "cat", "sat"], "<s>")
    assert [(cell.token, cell.target) for cell in example.source] == [("<s>", "the"), ("the", "cat"), ("cat", "sat")]
    assert [cell.origin for cell in example.source] == [None, 0, 1]
    assert np.array_equal(example.visible[0].allowed, [[1, 0, 0], [1, 1, 0], [1, 1, 1]])


def test_without_a_beginning_the_first_token_is_never_asked() -> None:
    example = causal.corrupt(["the", "cat", "sat"])
    assert [cell.target for cell in example.source] == ["cat", "sat"]
