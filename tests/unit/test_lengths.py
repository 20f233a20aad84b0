"""Attention by length: counts by hand, slope and crossing of known curves, and a measurement with our own clock."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest

from core.efficiency import lengths
from core.efficiency.lengths import Row, crossing, measure, slope, stored, write


def row(kind: str, tokens: int, seconds: float) -> Row:
    return Row(kind, tokens, 1, 1, seconds, seconds, seconds, None)


def test_slopes_of_power_laws() -> None:
    assert slope([128, 1024, 8192], [n**2 for n in (128, 1024, 8192)]) == pytest.approx(2)
    assert slope([1, 10, 100], [3, 3, 3]) == pytest.approx(0)


def test_the_crossing_lies_where_the_curves_meet() -> None:
    at = (128, 256, 512, 1024, 2048)
    rows = [row("full", n, n**2) for n in at] + [row("sparse", n, 700 * n) for n in at]
    assert crossing(rows) == 700
    assert crossing([row("full", n, 1) for n in at] + [row("sparse", n, 2) for n in at]) is None
    assert crossing([row("full", n, 2) for n in at] + [row("sparse", n, 1) for n in at]) == 128
    assert crossing([row("full", 128, 1)]) is None


def test_a_measurement_counts_and_takes_the_clock() -> None:
    ticks = count()
    (batch,) = measure((1024,), ("full", "sparse"), rounds=3, clock=lambda: float(next(ticks)))
    full, sparse = batch
    assert (full.multiply_adds, full.score_bytes) == (2 * 1024**2 * 64, 4 * 1024**2)
    # 16 blocks of 64: 2 global rows of 16, 14 of 2 global, 3 window (2 beside the global ends) and 3 random blocks
    assert sparse.score_bytes == 4 * 64 * 64 * (2 * 16 + 14 * 8 - 2)
    assert full.seconds == full.fastest == full.slowest == 1.0
    assert full.peak_bytes is not None
    assert full.peak_bytes >= full.score_bytes
    assert sparse.peak_bytes is not None
    assert sparse.peak_bytes < full.peak_bytes


def test_all_kinds_compute_the_same_attention() -> None:
    import torch

    full, fused = (lengths.kernel(kind, 256)() for kind in ("full", "fused"))
    sparse = lengths.kernel("sparse", 256)()  # four blocks: every block attends to every other
    assert torch.allclose(full[0], fused[0, 0], atol=1e-5)  # type: ignore[index]
    assert torch.allclose(full[0], sparse, atol=1e-5)  # type: ignore[index, arg-type]


def test_the_stored_measurement_is_whole_and_round_trips(tmp_path: Path) -> None:
    rows = stored()
    assert {(one.kind, one.tokens) for one in rows} >= {(kind, n) for kind in lengths.HERE for n in lengths.LENGTHS}
    assert all(one.fastest <= one.seconds <= one.slowest and one.machine for one in rows)
    write(rows, tmp_path / "rows.csv")
    lengths.stored.cache_clear()
    assert stored(tmp_path / "rows.csv") == rows
    lengths.stored.cache_clear()
