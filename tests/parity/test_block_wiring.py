"""How the steps of a block hang together, for every family: sums are what they are drawn to be the sum of."""

from __future__ import annotations

import re
from functools import lru_cache

import numpy as np
import pytest

from core.attention.architectures.vectors import attention_layers
from core.attention.inside.block import Block, block
from core.attention.inside.steps import step_text
from core.attention.inside.wiring import wires
from core.checkpoints.spec import Checkpoint
from tests import tinyfamilies

TEXT = "The cat sat on the mat and looked at the dog."
FAMILIES = [*tinyfamilies.FAMILIES]
_COMMANDS = re.compile(r"\\(text\{[^}]*\}|[A-Za-z]+)")


@lru_cache
def made(name: str) -> Checkpoint:
    return tinyfamilies.make(name)


@lru_cache
def blocks(name: str) -> tuple[Block, ...]:
    """Every block of a family; tests read it only."""
    checkpoint = made(name)
    sides = [side for side in ("encoder", "decoder") if side in attention_layers(checkpoint)]
    return tuple(
        block(checkpoint, TEXT, layer, side)
        for side in sides
        for layer in range(len(attention_layers(checkpoint)[side]))
    )


@pytest.mark.parametrize("name", FAMILIES)
def test_sums_and_terms_are_those_of_their_sources(name: str) -> None:
    for found in blocks(name):
        hang = wires(found.steps)
        assert len({wire.slug for wire in hang}) == len(hang)
        for i, (step, wire) in enumerate(zip(found.steps, hang, strict=True)):
            assert all(source < i for source in wire.of)
            assert wire.of or wire.outside, wire.slug
            several = step.name == "scores" and any(one.name.startswith("scores: ") for one in found.steps)
            if step.name in ("residual", "sum") or (several and step.part == "attention"):
                total = sum(found.steps[source].values for source in wire.of)
                np.testing.assert_allclose(step.values, total, atol=1e-4, err_msg=wire.slug)
        used = {source for wire in hang for source in wire.of}
        assert used == set(range(len(hang) - 1)), [hang[i].slug for i in set(range(len(hang) - 1)) - used]


@pytest.mark.parametrize("name", FAMILIES)
def test_every_letter_of_a_formula_is_named(name: str) -> None:
    for found in blocks(name):
        for step in found.steps:
            words = step_text(step)
            assert words.text.endswith(".")
            rest = step.formula
            for latex, meaning in sorted(words.symbols, key=lambda symbol: -len(symbol[0])):
                assert meaning
                rest = rest.replace(latex, " ") if len(latex) > 1 else rest
            rest = _COMMANDS.sub(" ", rest.replace(r"\sum_i", " "))
            for latex, _ in words.symbols:
                rest = rest.replace(latex, " ") if len(latex) == 1 else rest
            assert not re.search("[A-Za-z]", rest), (step.formula, rest)
