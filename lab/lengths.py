"""One attention head by length of the text: operations and bytes counted, time and peak memory measured.

    full     softmax(q kᵀ / √d) v as plain matrix products       2 n² d multiply-adds, 4 n² bytes of scores
    sparse   BigBird's blocks, gathered (`core.sparse.bigbird`)   2 s d multiply-adds, 4 s bytes, s scores counted
    fused    full attention by torch's fused kernel                as full, without storing the scores
    flex     the sparse blocks by flex_attention, compiled         as sparse

On a CPU flex_attention skips blocks only if it is compiled, which needs a C++ compiler and many seconds for the first
text; uncompiled it computes and stores all scores. The kinds take turns, so that other load affects all; medians are
reported, with the fastest and the slowest run.
"""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator

from core.lazy import torch
from core.patterns.layout import BYTES_PER_SCORE, Sparsity, cost
from core.run.odd.sparse import Gather, sparse_attention
from core.sparse.encoder import by_mask, measure_peak
from lab.timing import alternated

KINDS = ("full", "sparse", "fused", "flex")
LENGTHS = (128, 256, 512, 1024, 2048, 4096, 8192)
WIDTH = 64
SPARSITY = Sparsity()
ROUNDS = 7


@dataclass(frozen=True, slots=True)
class LengthTiming:
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


def count_scores(kind: str, tokens: int) -> int:
    """Scores that a kind computes."""
    counted = cost(tokens, SPARSITY)
    return counted.full if kind in ("full", "fused") else counted.sparse


def runs(done: Sequence[LengthTiming], corpus: object, seeds: int) -> Iterator[tuple[LengthTiming, ...]]:
    """The rows of each length that is not done."""
    measured = {row.tokens for row in done}
    return (measure(tokens, KINDS) for tokens in LENGTHS if tokens not in measured)


def measure(
    tokens: int, kinds: Sequence[str], *, rounds: int = ROUNDS, clock: Callable[[], float] = time.perf_counter
) -> tuple[LengthTiming, ...]:
    """The rows of a length."""
    kernels = {kind: kernel(kind, tokens) for kind in kinds}
    with torch.inference_mode():
        taken = alternated(list(kernels.values()), rounds, clock=clock)
        peaks = {kind: measure_peak(run) for kind, run in kernels.items() if kind in ("full", "sparse")}
    return tuple(
        LengthTiming(
            kind,
            tokens,
            2 * count_scores(kind, tokens) * WIDTH,
            count_scores(kind, tokens) * BYTES_PER_SCORE,
            statistics.median(seconds),
            min(seconds),
            max(seconds),
            peaks.get(kind),
            machine(),
            torch.get_num_threads(),
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
