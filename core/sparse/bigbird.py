"""BigBird with an attention that is chosen before the call: full, or block-sparse (`core.sparse.encoder`).

A model's own pass has the blocks of its configuration (`core.run.odd.blocks`); here they are chosen:

    full       softmax(q kᵀ / √d) v                                          n² scores
    by mask    the same, with −∞ outside the pattern                         n² scores, few of them allowed
    gathered   for each block of queries, only the blocks it attends to    about (w + g + r) b n scores

The last two give the same numbers, which a test compares.

Zaheer et al. 2020, arXiv 2007.14062. Legend: n tokens, L layers, H heads, d head dimension, b block size, B blocks,
R rows of blocks that are not global, M blocks that such a row attends to.
"""

from __future__ import annotations

from collections.abc import Sequence

from core.checkpoints.families.architectures import has
from core.errors import NoAttentionMatrix
from core.lazy import Tensor, torch
from core.patterns.layout import Sparsity
from core.run.model import Model, Module
from core.run.odd.sparse import Gather, by_head, gather_of, sparse_attention
from core.sparse import encoder


def shape_of(model: Model) -> tuple[int, int, int]:
    """(layers, heads, positions) of a BigBird model.

    Raises:
        NoAttentionMatrix: when the model is no BigBird encoder with a masked-token head.
    """
    config = model.config
    if not has(config, "blocks") or not hasattr(model, "cls") or config.is_decoder:
        raise NoAttentionMatrix(
            "Sparse and full attention can be compared on BigBird models with a masked-token head only. "
            f"This one is of the type {str(getattr(config, 'model_type', 'unknown'))[:40]!r}."
        )
    return int(config.num_hidden_layers), int(config.num_attention_heads), int(config.max_position_embeddings)


def forward(
    model: Model,
    ids: Sequence[int],
    positions: Sequence[int],
    sparsity: Sparsity | None,
    *,
    progress: encoder.Progress | None = None,
) -> encoder.Logits:
    """One pass of a ``BigBirdForMaskedLM`` in evaluation mode over one text.

    Args:
        ids: the token ids, special tokens included; no padding.
        positions: where predictions are wanted.
        sparsity: the settings of block-sparse attention, or None for full attention.

    Raises:
        InputEmpty, InputTooLong: no token, or more than the model has positions for.
        OutOfRange: a position outside the text.
        NoAttentionMatrix: the model is no BigBird.
    """
    _, heads, limit = shape_of(model)
    encoder.check(len(ids), limit, positions)

    def attend(layer: int, attention: Module, hidden: Tensor, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        if sparsity is None:
            return encoder.head_by_head(query, key, value)
        return by_head(query, key, value, [gather_of(sparsity, len(ids), layer, head) for head in range(heads)])

    return encoder.logits_at(model, model.cls, ids, positions, attend, progress)


def attention_peak(model: Model, ids: Sequence[int], sparsity: Sparsity | None) -> int:
    """Tensor memory, in bytes, that one head of the first layer holds at the peak of its attention, measured."""
    encoder.check(len(ids), shape_of(model)[2])
    query, key, value = (part[0, 0] for part in encoder.first_head(model, ids))
    with torch.inference_mode():
        if sparsity is None:
            return encoder.measure_peak(lambda: encoder.by_mask(query, key, value, None))
        gather = Gather(sparsity, len(ids), 0, 0)
        return encoder.measure_peak(lambda: sparse_attention(query, key, value, gather))
