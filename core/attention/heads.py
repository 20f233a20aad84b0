"""What each head of a map does on one text, as plain numbers between 0 and 1.

    previous   mean of A[i, i-1]          self    mean of A[i, i]
    next       mean of A[i, i+1]          first   mean of A[i, 0], the row of the first token left out
    marks      mean weight on special tokens other than the first ([SEP], </s>, ...)
    spread     mean entropy of the rows, divided by the entropy of an even row over the keys that may be seen

A head that looks everywhere evenly scores 1/n for one token of n, and 1 for spread. Scores describe weights on this
text; what the head contributes to the output also depends on its values, which weights do not show.

numpy alone. Legend: L layers, H heads, Q query tokens, K key tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.attention.trace import AttentionMap

SPECIAL = frozenset(
    {"[CLS]", "[SEP]", "[PAD]", "<s>", "</s>", "<pad>", "<cls>", "<sep>", "<|endoftext|>", "<unk>", "[UNK]"}
)  # fmt: skip
"""How the vocabularies of the catalogue write their frame; a trace keeps labels only."""

UNKNOWN = frozenset({"<unk>", "[UNK]"})

MEANING = {
    "previous": "weight on the token before",
    "next": "weight on the token after",
    "self": "weight on the token itself",
    "same place": "weight on the source token at the same place",
    "first": "weight on the first token",
    "last": "weight on the last source token",
    "marks": "weight on special tokens other than the first",
    "spread": "how evenly the weight is spread (1 is even, 0 is all on one token)",
}

Grid = NDArray[np.float32]  # (L, H)


@dataclass(frozen=True, slots=True, eq=False)
class HeadScores:
    """The scores of every head; each grid has shape (L, H)."""

    grids: dict[str, Grid]

    def strongest(self, name: str, count: int = 3) -> tuple[tuple[int, int, float], ...]:
        """The ``count`` heads with the highest score ``name`` as (layer, head, score), from 0, highest first."""
        grid = self.grids[name]
        order = np.argsort(-grid, axis=None, kind="stable")[:count]
        return tuple((int(i // grid.shape[1]), int(i % grid.shape[1]), float(grid.flat[i])) for i in order)


def scores(found: AttentionMap) -> HeadScores:
    """The scores that make sense for this kind of map and this many tokens; ``spread`` is always there."""
    weights, grids = found.weights, {}
    queries, keys = weights.shape[2:]
    if found.kind == "cross":
        both = min(queries, keys)
        grids["same place"] = _diagonal(weights[:, :, :both, :both], 0)
        grids["first"] = weights[..., 0].mean(-1)
        grids["last"] = weights[..., -1].mean(-1)
    else:
        grids["self"] = _diagonal(weights, 0)
        if queries > 1:
            grids["previous"] = _diagonal(weights, -1)
            if found.kind == "encoder":
                grids["next"] = _diagonal(weights, 1)
            grids["first"] = weights[:, :, 1:, 0].mean(-1)
        marks = [i for i, token in enumerate(found.key_tokens) if i and token in SPECIAL]
        if marks:
            grids["marks"] = weights[..., marks].sum(-1).mean(-1)
    grids["spread"] = _spread(found)
    order = [name for name in MEANING if name in grids]
    return HeadScores({name: np.ascontiguousarray(grids[name], dtype=np.float32) for name in order})


def _diagonal(weights: NDArray[np.float32], offset: int) -> NDArray[np.float32]:
    mean: NDArray[np.float32] = np.diagonal(weights, offset, axis1=2, axis2=3).mean(-1)
    return mean


def _spread(found: AttentionMap) -> NDArray[np.float32]:
    """Rows that may see one key only say nothing about a head and are left out."""
    weights = found.weights.astype(np.float64)
    queries, keys = weights.shape[2:]
    visible = np.arange(1, queries + 1) if found.kind == "decoder" else np.full(queries, keys)
    open_rows = visible > 1
    if not open_rows.any():
        return np.zeros(weights.shape[:2], dtype=np.float32)
    logs = np.log(weights, where=weights > 0, out=np.zeros_like(weights))
    entropy = -(weights * logs).sum(-1)[..., open_rows]  # (L, H, rows)
    spread: NDArray[np.float32] = (entropy / np.log(visible[open_rows])).mean(-1).astype(np.float32)
    return spread


def specials(tokens: Sequence[str]) -> tuple[int, ...]:
    """Where special tokens stand. An unknown word is a word of the text, though its token is on the list."""
    return tuple(i for i, token in enumerate(tokens) if token in SPECIAL and token not in UNKNOWN)
