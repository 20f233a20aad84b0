"""BigBird: our sparse and full attention against transformers' own, the same model and text, by turns.

    python benchmarks/sparse.py [tokens ...]

Ours runs the heads one after the other, so that a text of 4,096 tokens fits a small machine; the library runs all heads
of a layer at once. For full attention "theirs" is the library's eager attention, which computes the same scores. The
model has the shape of the bundled one with random weights: speed does not depend on what it has learnt. Goal: sparse no
slower than the library's sparse, and from 2,048 tokens on sparse faster than full.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from _harness import compare, report

from core.patterns.layout import Sparsity
from core.sparse.bigbird import forward

BLOCK, RANDOM = 32, 3
ROUNDS = 5


def model(attention: str) -> Any:
    """A BigBird of 6 layers x 384 with random weights."""
    import torch
    from transformers import BigBirdConfig, BigBirdForMaskedLM

    torch.manual_seed(0)
    config = BigBirdConfig(
        vocab_size=30522,
        hidden_size=384,
        num_hidden_layers=6,
        num_attention_heads=12,
        intermediate_size=1536,
        max_position_embeddings=4096,
        block_size=BLOCK,
        num_random_blocks=RANDOM,
        attention_type=attention,
        pad_token_id=0,
        bos_token_id=101,
        eos_token_id=102,
        sep_token_id=102,
        attn_implementation="eager",
    )
    return BigBirdForMaskedLM(config).eval()


def library(made: Any, ids: list[int]) -> Callable[[], object]:
    """The library's backbone and its head at one position, as ours."""
    import torch

    batch = torch.tensor([ids])

    def run() -> object:
        with torch.inference_mode():
            return made.cls(made.bert(batch, attention_mask=torch.ones_like(batch)).last_hidden_state[:, :1])

    return run


def main() -> int:
    """Print one line a length and kind; 1 when a goal is missed."""
    import torch

    lengths = [int(word) for word in sys.argv[1:]] or [1024, 2048, 4096]
    # two instances: the library would switch a shared one
    theirs = {"sparse": model("block_sparse"), "full": model("original_full")}
    chosen = {"sparse": Sparsity(block_size=BLOCK, random_blocks=RANDOM), "full": None}
    good = True
    for n in lengths:
        ids = torch.randint(1000, 30000, (n,), generator=torch.Generator().manual_seed(n)).tolist()
        taken = {}
        for kind, made in theirs.items():
            result = compare(
                lambda kind=kind, made=made, ids=ids: forward(made, ids, [0], chosen[kind]),  # type: ignore[misc]
                library(made, ids),
                rounds=ROUNDS,
                warmup=1,
            )
            taken[kind] = result.ours
            good &= report(f"{kind} attention, {n:,} tokens", result)
        faster = taken["full"] / taken["sparse"]
        print(f"{n:,} tokens: our sparse attention is {faster:.1f} times as fast as our full attention")
        good &= n < 2048 or faster > 1
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
