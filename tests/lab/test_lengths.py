"""Attention by length: counts by hand, the clock, all kinds compute the same, and the stored rows."""

from __future__ import annotations

from itertools import count

from core.studies import results
from core.table import measured
from lab import lengths
from lab.lengths import LengthTiming, measure


def test_a_measurement_counts_and_takes_the_clock() -> None:
    ticks = count()
    full, sparse = measure(1024, ("full", "sparse"), rounds=3, clock=lambda: float(next(ticks)))
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


def test_the_stored_measurement_is_complete() -> None:
    rows = measured(results("lengths"), LengthTiming)
    assert {(row.kind, row.tokens) for row in rows} == {(kind, n) for kind in lengths.KINDS for n in lengths.LENGTHS}
    assert all(row.fastest <= row.seconds <= row.slowest and row.machine for row in rows)
    assert list(lengths.runs(rows, None, 1)) == []
