r"""The nearest neighbors of a vector in the model's vocabulary and among the words of some sentences.

Hidden states of upper layers share a direction, so all their cosines are high and a few words are near everything. Both
sides are therefore centered:

.. math:: \cos(h - \bar h,\; e_v - \bar e), \qquad \bar h = \frac{1}{W} \sum_{i=1}^{W} h_i,
    \quad \bar e = \frac{1}{V} \sum_{v=1}^{V} e_v

with h the vector after some layer, :math:`h_i` those of all words of the sentences after the same layer, and
:math:`e_v` the rows of the embedding matrix. Training does not move a state to its word's embedding, so the neighbors
are an interpretation. It is more reliable in models that tie the embedding and output matrices, as most do.

Legend: V vocabulary size, w hidden size, P query vectors, W words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.arrays import Floats
from core.attention.inside.steps import exists
from core.attention.layers import stacks
from core.attention.trace import frozen
from core.checkpoints.spec import Checkpoint
from core.errors import InputUnusable
from core.language.tokens import label
from core.lazy import Tensor, torch


@dataclass(frozen=True, slots=True, eq=False)
class Vocabulary:
    """Cached statistics of an embedding matrix; the matrix itself belongs to the model."""

    mean: Floats  # (w,)
    lengths: Floats  # (V,) norms of the centered rows; infinite for special tokens and unused entries


def embedding_matrix(checkpoint: Checkpoint) -> Tensor:
    """(V, w) embedding matrix, projected to the hidden size where they differ.

    Raises:
        InputUnusable: an architecture without a blueprint.
    """
    stack = stacks(checkpoint)[0]
    model = checkpoint.model
    plan = stack.blueprint
    if plan is None:
        raise InputUnusable(f"The embedding matrix of {checkpoint.spec.name} is not known here. Another model works.")
    with torch.inference_mode():
        rows: Tensor = model.get_submodule(stack.prefix + plan.embedding["token"]).weight
        projection = stack.prefix + plan.after_embedding.get("projection", "")
        if projection != stack.prefix and exists(model, projection):
            rows = model.get_submodule(projection)(rows)
        return torch.cat((rows, rows), dim=-1) if plan.streams == 2 else rows


def vocabulary(checkpoint: Checkpoint) -> Vocabulary:
    """The mean of a model's embedding matrix and the norms of its centered rows."""
    rows = embedding_matrix(checkpoint)
    tokenizer = checkpoint.tokenizer
    with torch.inference_mode():
        mean = rows.mean(0)
        lengths = (rows - mean).norm(dim=-1)
        dropped = [i for i in tokenizer.all_special_ids if i < len(lengths)]
        pieces = tokenizer.convert_ids_to_tokens(list(range(min(len(tokenizer), len(lengths)))))
        dropped += [i for i, piece in enumerate(pieces) if piece is None or str(piece).startswith("[unused")]
        lengths[dropped] = float("inf")
        lengths[len(pieces) :] = float("inf")  # padding rows belong to no token
        lengths[lengths == 0] = float("inf")
    return Vocabulary(frozen(mean.cpu().numpy().copy()), frozen(lengths.cpu().numpy().copy()))


def in_vocabulary(
    checkpoint: Checkpoint, vocabulary: Vocabulary, vectors: Floats, mean: Floats, k: int = 6
) -> tuple[tuple[tuple[str, float], ...], ...]:
    """For each of ``vectors`` (P, w) the ``k`` nearest entries of the vocabulary, each with its cosine, nearest first.

    Args:
        mean: (w,) of the layer.
    """
    rows = embedding_matrix(checkpoint)
    with torch.inference_mode():
        unit = torch.from_numpy(units(vectors - mean).T.astype(np.float32))  # (w, P)
        products = rows @ unit - torch.from_numpy(vocabulary.mean.copy()) @ unit
        best = (products / torch.from_numpy(vocabulary.lengths.copy())[:, None]).topk(min(k, len(products)), dim=0)
    return tuple(
        tuple((label(checkpoint.tokenizer, i), value) for i, value in zip(ids, values, strict=True))
        for ids, values in zip(best.indices.T.tolist(), best.values.T.tolist(), strict=True)
    )


def in_sentences(
    vectors: Floats, mean: Floats, others: Floats, own_indices: Sequence[int], k: int = 4
) -> list[list[tuple[int, float]]]:
    """For each of ``vectors`` (P, w) the ``k`` nearest of ``others`` (W, w), as (number, cosine), nearest first.

    Args:
        own_indices: index of each vector among ``others``, which is left out; -1 for none.
    """
    result = []
    for row, itself in zip(cosines(vectors - mean, others - mean), own_indices, strict=True):
        order = [int(i) for i in np.argsort(-row, kind="stable") if i != itself]
        result.append([(i, float(row[i])) for i in order[:k]])
    return result


def units(vectors: NDArray[np.floating]) -> NDArray[np.float64]:
    """(..., w) vectors scaled to norm 1; zero vectors stay zero."""
    exact = vectors.astype(np.float64)
    result: NDArray[np.float64] = exact / np.maximum(np.linalg.norm(exact, axis=-1, keepdims=True), 1e-12)
    return result


def cosines(vector: NDArray[np.floating], other: NDArray[np.floating]) -> NDArray[np.float64]:
    """(P, w) and (W, w) to (P, W) cosines; 0 for a zero vector."""
    result: NDArray[np.float64] = np.clip(units(vector) @ units(other).T, -1, 1)
    return result


def static_vectors(checkpoint: Checkpoint, words: Sequence[Sequence[int]]) -> Floats:
    """(P, w) static vectors of words: the mean embedding of each word's tokens, the same in every sentence."""
    rows = embedding_matrix(checkpoint)
    with torch.inference_mode():
        return frozen(torch.stack([rows[list(ids)].float().mean(0) for ids in words]).cpu().numpy().copy())
