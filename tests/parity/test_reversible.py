"""Recall of hashing and activations by depth, on a tiny Reformer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from core import checkpoints
from core.checkpoints.spec import Checkpoint
from core.efficiency.buckets import BUCKETS, prepare, recalls
from core.efficiency.reversible import saved_bytes, stored_by_depth
from core.sparse import reformer
from tests import tiny


@pytest.fixture
def checkpoint(tmp_path: Path, use_checkpoints: Callable[[Path], None]) -> Checkpoint:
    tiny.tiny_reformer(tmp_path / "atlas-reformer", axial=(32, 32), chunk=64, buckets=32)
    use_checkpoints(tmp_path)
    return checkpoints.load("dir-atlas-reformer")


def test_saved_bytes_of_a_product_are_its_factors() -> None:
    a, b = (torch.randn(8, 8, requires_grad=True) for _ in range(2))
    assert saved_bytes(lambda: a @ b, set()) == 2 * 8 * 8 * 4
    assert saved_bytes(lambda: a @ b, {b.untyped_storage().data_ptr()}) == 8 * 8 * 4
    with torch.no_grad():
        assert saved_bytes(lambda: a + 1, set()) == 0


def test_activations_grow_with_depth_only_without_reversible_layers(checkpoint: Checkpoint) -> None:
    ids = prepare(checkpoint, "a text of some length, " * 12)
    before = [parameter.requires_grad for parameter in checkpoint.model.parameters()]
    rows = stored_by_depth(checkpoint, ids, (1, 4, 8))
    layers = len(checkpoint.model.reformer.encoder.layers)
    assert rows[2].plain == pytest.approx(2 * rows[1].plain, rel=0.1)
    assert rows[2].reversible == rows[1].reversible or layers > 4
    assert rows[2].reversible < rows[2].plain
    assert rows[0].reversible - rows[0].plain == 2 * 320 * checkpoint.model.config.hidden_size * 4, "two streams"
    assert [parameter.requires_grad for parameter in checkpoint.model.parameters()] == before


def test_recall_is_whole_where_all_pairs_meet_and_rounds_only_add(checkpoint: Checkpoint) -> None:
    ids = prepare(checkpoint, "the cat sat on the mat and the dog sat on the cat. " * 5)
    layer = reformer.shape_of(checkpoint.model)[0][0]
    rows = {(row.buckets, row.rounds): row for row in recalls(checkpoint, ids, layer, 0, 0)}
    assert len(rows) == len(BUCKETS) * len(reformer.ROUNDS)
    for count in BUCKETS:
        assert rows[count, 1].work == pytest.approx(4 / count, rel=0.05)
        assert rows[count, 8].work == pytest.approx(8 * rows[count, 1].work)
        assert rows[count, 8].recall >= rows[count, 1].recall - 0.05  # other rotations, but eight of them
    assert rows[4, 1].recall == 1  # two chunks of half the text each
    assert 0 < rows[64, 1].recall < 1
