"""Scores of each head of a map between 0 and 1.

For most scores a mask selects keys for each query; the score is the weight on them, averaged over the queries that have
such a key and may attend to it.

    previous      A[i, i-1]            self    A[i, i]
    next          A[i, i+1]            first   A[i, 0], without the row of the first token
    same token    other copies of token i
    induction     tokens after an earlier copy of token i (maps of decoders)
    marks         special tokens other than the first ([SEP], </s>, ...)
    separators    of these, the ones that end a text
    punctuation   tokens of punctuation marks only
    spread        entropy of the row, divided by the entropy of an even row over the allowed keys

A head that attends evenly to all tokens scores 1/n for one token of n, and 1 for spread. Induction heads are those of
Olsson et al. 2022 (arXiv 2209.11895); `lab.heads` measures them on random tokens. Scores describe
weights; a head's contribution to the output also depends on its values.

numpy alone. Legend: L layers, H heads, Q query tokens, K key tokens.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.arrays import Bools
from core.attention.trace import AttentionMap
from core.content import content

SEPARATORS = frozenset({"[SEP]", "</s>", "<sep>", "<|endoftext|>"})
"""Special tokens at the end of a text, or between two."""

SCORES = (
    "previous",
    "next",
    "self",
    "same token",
    "induction",
    "same place",
    "first",
    "last",
    "marks",
    "separators",
    "punctuation",
    "spread",
)
"""Every score of a head, by its key."""

LABELS = {score: score for score in SCORES} | {"same place": "same position"}
"""The label of each score on pages; bundled files and links use its key."""


def meaning(score: str) -> str:
    """What a score measures, in words."""
    text: str = content("attention", "roles").front["score"][score]
    return text


Grid = NDArray[np.float32]  # (L, H)
Where = NDArray[np.bool_]  # (Q, K)


@dataclass(frozen=True, slots=True, eq=False)
class HeadScores:
    """The scores of every head; each grid has shape (L, H)."""

    grids: dict[str, Grid]
    rows: dict[str, int] = field(default_factory=dict)
    """The number of rows in the mean of each score."""

    def strongest(self, name: str, count: int = 3) -> tuple[tuple[int, int, float], ...]:
        """The ``count`` heads with the highest score ``name`` as (layer, head, score), from 0, highest first."""
        grid = self.grids[name]
        order = np.argsort(-grid, axis=None, kind="stable")[:count]
        return tuple((int(i // grid.shape[1]), int(i % grid.shape[1]), float(grid.flat[i])) for i in order)


class HeadSums:
    """Scores over several maps of one model: means over the rows of all maps."""

    def __init__(self) -> None:
        self._sums: dict[str, NDArray[np.float64]] = {}
        self._rows: dict[str, int] = {}

    def add(self, attention_map: AttentionMap) -> None:
        """Add a map with the same numbers of layers and heads."""
        patterns = _patterns(attention_map)
        where = np.stack([*patterns.values()])  # (scores, Q, K)
        # One matrix product for all scores is tens of times faster than a masked sum for each.
        weights = np.asarray(attention_map.weights, dtype=np.float32).reshape(
            attention_map.layers * attention_map.heads, -1
        )
        totals = (where.reshape(len(where), -1).astype(np.float32) @ weights.T).astype(np.float64)
        for name, total, rows in zip(patterns, totals, where.any(2).sum(1), strict=True):
            self._take(name, total.reshape(attention_map.layers, attention_map.heads), int(rows))
        allowed = attention_map.allowed
        if allowed is None and attention_map.causal:
            allowed = np.tri(*attention_map.weights.shape[2:], dtype=np.bool_)
        means, counts = spread(attention_map.weights, allowed)
        rows = int(counts.max(initial=0))  # a head that is hashed has rows of its own
        self._take("spread", means * rows, rows)

    def _take(self, name: str, total: NDArray[np.float64], rows: int) -> None:
        self._sums[name] = self._sums.get(name, 0.0) + total
        self._rows[name] = self._rows.get(name, 0) + rows

    def scores(self) -> HeadScores:
        """The means so far: ``spread``, and the scores that some row has."""
        named = [name for name in SCORES if name == "spread" or self._rows.get(name)]
        grids = {name: (self._sums[name] / max(1, self._rows[name])).astype(np.float32) for name in named}
        return HeadScores(grids, {name: self._rows[name] for name in named})


def scores(attention_map: AttentionMap) -> HeadScores:
    """The scores that are defined for this kind of map and these tokens, among them always ``spread``.

    ``separators`` is left out where it equals ``marks``.
    """
    sums = HeadSums()
    sums.add(attention_map)
    measured = sums.scores()
    if "separators" in measured.grids and _marks(attention_map) == _separators(attention_map):
        del measured.grids["separators"], measured.rows["separators"]
    return measured


def _marks(attention_map: AttentionMap) -> list[int]:
    return [i for i in attention_map.special_keys if i]


def _separators(attention_map: AttentionMap) -> list[int]:
    return [i for i in _marks(attention_map) if attention_map.key_tokens[i] in SEPARATORS]


def _patterns(attention_map: AttentionMap) -> dict[str, Where]:
    """For each score but ``spread``, the mask of its keys (Q, K)."""
    queries, keys = attention_map.weights.shape[2:]
    everywhere = np.ones((queries, keys), dtype=np.bool_)
    at = np.arange(keys)
    if attention_map.crosses:
        return {
            "same place": np.eye(queries, keys, dtype=np.bool_),
            "first": everywhere & (at == 0),
            "last": everywhere & (at == keys - 1),
        }
    start = _start(attention_map)
    before = np.tri(queries, keys, start - 1, dtype=np.bool_)
    itself = np.eye(queries, keys, start, dtype=np.bool_)
    copies = _copies(attention_map)
    patterns = {
        "previous": np.eye(queries, keys, start - 1, dtype=np.bool_),
        "self": itself,
        "same token": copies & ~itself,
        "first": before & (at == 0),
        "marks": everywhere & np.isin(at, _marks(attention_map)),
        "separators": everywhere & np.isin(at, _separators(attention_map)),
        "punctuation": everywhere
        & np.array([is_punctuation(token) for token in attention_map.key_tokens], dtype=np.bool_),
    }
    if attention_map.bidirectional:
        patterns["next"] = np.eye(queries, keys, 1, dtype=np.bool_)
    elif attention_map.causal:
        # Column j + 1 of what counts is column j of the earlier copies; the token itself is not "what came after".
        patterns["induction"] = np.roll(copies & before, 1, axis=1) & before
        visible = np.tri(queries, keys, dtype=np.bool_)
        patterns = {name: where & visible for name, where in patterns.items()}
    else:  # the query stream, which does not attend to its own token
        patterns = {name: where & before for name, where in patterns.items() if name != "self"}
    return patterns


def _start(attention_map: AttentionMap) -> int:
    """The column of the first row's own token: not 0 where the queries are only a part of the text."""
    rows, columns = attention_map.query_tokens, attention_map.key_tokens
    starts = range(len(columns) - len(rows) + 1)
    return next((start for start in starts if columns[start : start + len(rows)] == rows), 0)


def _copies(attention_map: AttentionMap) -> Where:
    """(Q, K) True where query and key are the same token, special ones excepted."""
    labels = {label: number for number, label in enumerate(attention_map.key_tokens)}
    queries = np.array([labels.get(label, -1) for label in attention_map.query_tokens])
    keys = np.array([labels[label] for label in attention_map.key_tokens])
    queries[list(attention_map.special_queries)] = -1
    keys[list(attention_map.special_keys)] = -2
    same: Where = queries[:, None] == keys[None, :]
    return same


def is_punctuation(label: str) -> bool:
    text = label.removeprefix("␣")
    text = text[2:] if text.startswith("##") and len(text) > 2 else text
    return bool(text) and all(unicodedata.category(character).startswith("P") for character in text)


def spread(weights: NDArray[np.floating[Any]], allowed: Bools | None) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """For each head, the mean over its rows of entropy / log(allowed keys), and the number of rows.

    :param weights: (..., Q, K), rows sum to one; rows with a single allowed key are left out.
    :param allowed: the attention mask, broadcastable to their shape; None for everywhere.
    """
    weights = weights.astype(np.float64)
    keys = np.broadcast_to(weights.shape[-1] if allowed is None else allowed.sum(-1), weights.shape[:-1])
    logs = np.log(weights, where=weights > 0, out=np.zeros_like(weights))
    entropy = -(weights * logs).sum(-1)
    counts = keys > 1
    share = np.divide(entropy, np.log(keys.clip(min=2)), where=counts, out=np.zeros_like(entropy))
    rows = counts.sum(-1)
    return np.asarray(share.sum(-1) / rows.clip(min=1)), rows


def reach(weights: NDArray[np.float32]) -> tuple[int, ...]:
    """For each layer, the largest distance i - j with a weight above zero in any head.

    :param weights: (L, H, n, n), rows are queries.
    """
    size = weights.shape[-1]
    back = np.arange(size)[:, None] - np.arange(size)[None, :]
    furthest = np.where(weights > 0, back, 0).max(axis=(1, 2, 3), initial=0)  # (L,)
    return tuple(int(far) for far in furthest)


def clearest_head(attention_map: AttentionMap, query: int) -> tuple[int, int]:
    """The head (layer, head), from 0, that gives a single word the largest weight from ``query``.

    The query, its neighbors, special tokens and punctuation do not count: many heads rest on these in any text.
    """
    words = [
        i
        for i, token in enumerate(attention_map.key_tokens)
        if abs(i - query) > 1 and i not in attention_map.special_keys and not is_punctuation(token)
    ]
    if not words:
        return 0, 0
    best = attention_map.weights[:, :, query, words].max(2)  # (L, H)
    layer, head = divmod(int(best.argmax()), best.shape[1])
    return layer, head
