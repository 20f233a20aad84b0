"""One attention head by length of the text: operations and bytes counted, time and peak memory measured.

    full     softmax(q kᵀ / √d) v as plain matrix products       2 n² d multiply-adds, 4 n² bytes of scores
    sparse   BigBird's blocks, gathered (`core.sparse.bigbird`)   2 s d multiply-adds, 4 s bytes, s scores counted
    fused    full attention by torch's fused kernel                as full, without storing the scores
    flex     the sparse blocks by flex_attention, compiled         as sparse

On a CPU flex_attention skips blocks only if it is compiled, which needs a C++ compiler and many seconds for the first
text; uncompiled it computes and stores all scores. A server therefore does not offer it: ``python -m lab lengths``
measures it where a compiler is. The kinds take turns, so that other load affects all; medians are reported, with the
fastest and the slowest run. ``assets/measured/lengths.csv`` has one such measurement.
"""

from __future__ import annotations

import csv
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from math import exp, log
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator

from core.efficiency.timing import alternated
from core.lazy import torch
from core.settings import ASSETS
from core.sparse.bigbird import Gather, sparse_attention
from core.sparse.encoder import by_mask, measure_peak
from core.sparse.layout import BYTES_PER_SCORE, Sparsity, cost
from core.table import measured

KINDS = {"full": "full", "sparse": "sparse, gathered", "fused": "full, fused kernel", "flex": "sparse, flex_attention"}
HERE = ("full", "sparse", "fused")
"""The kinds that a server measures for a visitor."""
LENGTHS = (128, 256, 512, 1024, 2048, 4096, 8192)
WIDTH = 64
SPARSITY = Sparsity()
ROUNDS = 7
FILE = ASSETS / "measured" / "lengths.csv"


@dataclass(frozen=True, slots=True)
class Row:
    """One kind at one length."""

    kind: str
    tokens: int
    multiply_adds: int
    score_bytes: int
    """Bytes of all scores; a fused kernel does not store them."""
    seconds: float
    fastest: float
    slowest: float
    peak_bytes: Annotated[int | None, BeforeValidator(lambda cell: cell or None)]
    """Tensor memory at the peak; None inside a fused kernel, where it cannot be tracked."""
    machine: str = ""
    threads: int = 0


def scores(kind: str, tokens: int) -> int:
    """Scores that a kind computes."""
    counted = cost(tokens, SPARSITY)
    return counted.full if kind in ("full", "fused") else counted.sparse


def measure(
    lengths: Sequence[int] = LENGTHS,
    kinds: Sequence[str] = HERE,
    *,
    rounds: int = ROUNDS,
    clock: Callable[[], float] = time.perf_counter,
) -> Iterator[tuple[Row, ...]]:
    """The rows of each length, as soon as it is measured; stop iterating to stop."""
    name, threads = machine(), torch.get_num_threads()
    for tokens in lengths:
        runs = {kind: kernel(kind, tokens) for kind in kinds}
        with torch.inference_mode():
            taken = alternated(list(runs.values()), rounds, clock=clock)
            peaks = {kind: measure_peak(run) for kind, run in runs.items() if kind in ("full", "sparse")}
        yield tuple(
            Row(
                kind,
                tokens,
                2 * scores(kind, tokens) * WIDTH,
                scores(kind, tokens) * BYTES_PER_SCORE,
                statistics.median(seconds),
                min(seconds),
                max(seconds),
                peaks.get(kind),
                name,
                threads,
            )
            for kind, seconds in zip(kinds, taken, strict=True)
        )


def kernel(kind: str, tokens: int) -> Callable[[], object]:
    from torch.nn.functional import scaled_dot_product_attention

    generator = torch.Generator().manual_seed(tokens)
    query, key, value = torch.randn(3, tokens, WIDTH, generator=generator).unbind()
    if kind == "full":
        return lambda: by_mask(query, key, value, None)
    if kind == "fused":
        return lambda: scaled_dot_product_attention(query[None, None], key[None, None], value[None, None])
    if kind == "sparse":
        gather = Gather(SPARSITY, tokens, 0, 0)
        return lambda: sparse_attention(query, key, value, gather)
    return _flex(query, key, value)


def _flex(query: Any, key: Any, value: Any) -> Callable[[], object]:
    """The same blocks by flex_attention, compiled for this length."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    tokens, size = len(query), SPARSITY.block_size
    blocks = torch.from_numpy(SPARSITY.kinds(tokens) > 0)
    mask = create_block_mask(
        lambda b, h, i, j: blocks[i // size, j // size], None, None, tokens, tokens, device="cpu", BLOCK_SIZE=size
    )
    compiled: Any = torch.compile(flex_attention, dynamic=False)
    parts = [part[None, None] for part in (query, key, value)]
    return lambda: compiled(*parts, block_mask=mask)


def machine() -> str:
    """The processor's name where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        name = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        name = platform.processor() or platform.machine()
    return f"{name}, {os.cpu_count()} processors"


def plain_machine(name: str) -> str:
    """A machine's name without marks of Markdown."""
    return "".join(letter for letter in name if letter.isalnum() or letter in " ,.()@-")


def write(rows: Sequence[Row], path: Path = FILE) -> None:
    """Write the rows as CSV."""
    path.parent.mkdir(exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(asdict(rows[0])), lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)


@lru_cache(maxsize=1)
def stored(path: Path = FILE) -> tuple[Row, ...]:
    """The rows of the measurement that comes with the Atlas."""
    return measured(path, Row)


def slope(tokens: Sequence[int], values: Sequence[float]) -> float:
    """The exponent of the power law through the points (least squares on logarithms): 2 is quadratic."""
    return float(np.polyfit(np.log(tokens), np.log(values), 1)[0])


def crossing(rows: Sequence[Row], kind: str = "sparse", than: str = "full") -> int | None:
    """The length from which ``kind`` stays faster than another kind, between two measured ones on logarithms.

    None where it is not faster at the longest one; the shortest length where it is faster at all.
    """
    mine, other = ({row.tokens: row.seconds for row in rows if row.kind == one} for one in (kind, than))
    lengths = sorted(mine.keys() & other.keys())
    gaps = [log(mine[n] / other[n]) for n in lengths]
    if not gaps or gaps[-1] >= 0:
        return None
    slower = [at for at, gap in enumerate(gaps) if gap >= 0]
    if not slower:
        return lengths[0]
    at = slower[-1]
    low, high = log(lengths[at]), log(lengths[at + 1])
    return round(exp(low + (high - low) * gaps[at] / (gaps[at] - gaps[at + 1])))
