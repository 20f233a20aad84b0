"""The grid page: its numbers are those of the map, it asks for nothing, and its colors are the app's."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import pytest

from core.attention import combine
from core.attention.trace import AttentionMap, MapKind
from core.attention.views import grid
from core.errors import OutOfRange
from tests.attention_pages import data_of, unpacked


def _map(kind: MapKind = "encoder", n: int = 5, layers: int = 2, heads: int = 3, **more: Any) -> AttentionMap:
    weights = np.random.default_rng(0).dirichlet(np.ones(n), (layers, heads, n)).astype(np.float32)
    names = ("[CLS]", *(f"t{i}" for i in range(1, n)))
    return AttentionMap(kind, names, names, weights, **more)


@pytest.mark.parametrize(("bits", "steps"), [(8, 255), (16, 65535)])
def test_weights_come_back_within_half_a_step_of_their_head(bits: Any, steps: int) -> None:
    found = _map()
    error = np.abs(unpacked(data_of(grid.render(found, bits=bits))["weights"]) - found.weights).max(axis=(2, 3))
    assert (error <= found.weights.max(axis=(2, 3)) / steps / 2 + 1e-7).all()
    assert error.max() <= 1 / 2 / steps


def test_differences_keep_their_sign() -> None:
    found = combine.difference(combine.part(_map(), layer=0), combine.part(_map(), layer=1))
    data = data_of(grid.render(found))
    assert data["signed"]
    np.testing.assert_allclose(unpacked(data["weights"]), found.weights, atol=np.abs(found.weights).max() / 254 + 1e-7)
    assert data["note"].startswith("Differences: ")
    assert data_of(grid.render(_map(), difference=True))["signed"]


def test_what_was_not_computed_is_told_and_has_a_legend() -> None:
    whole, part = grid.render(_map()), grid.render(_map("decoder"))
    assert data_of(whole)["computed"] is None
    assert "not computed" not in whole.split("<main>")[1].split("</main>")[0]
    assert "not computed" in part.split("<main>")[1].split("</main>")[0]
    kept = data_of(part)["computed"]
    flags = np.unpackbits(np.frombuffer(base64.b64decode(kept["bytes"]), np.uint8))[:25].reshape(5, 5)
    assert (flags == np.tri(5)).all()


def test_special_tokens_and_the_second_sentence_travel() -> None:
    data = data_of(grid.render(_map(second=3)))
    assert data["specials"] == {"queries": [0], "keys": [0]}
    assert data["second"] == 3


def test_a_head_that_is_asked_for_is_open() -> None:
    assert not data_of(grid.render(_map()))["open"]
    assert not data_of(grid.render(_map(), layer=1))["open"]
    data = data_of(grid.render(_map(), layer=1, head=2))
    assert (data["layer"], data["head"], data["open"]) == (1, 2, True)
    assert data_of(grid.render(_map(layers=1, heads=1)))["open"]
    for wanted in ({"layer": 2}, {"head": -1}):
        with pytest.raises(OutOfRange):
            grid.render(_map(), **wanted)
