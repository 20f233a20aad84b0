r"""Which words a masked language model is trained to predict.

Whole words are masked, and all of their tokens become the mask token. All occurrences of a rare word can be masked
together, so that the model cannot copy it. Frequent words are masked less often: a word whose first token has relative
frequency :math:`f` has weight :math:`\min(1, \sqrt{t / f})`, the subsampling of Mikolov et al. (2013), so that training
concentrates on content words instead of commas. Where a recipe has a band of frequencies :math:`[a, b]` instead, words
within it have weight 1, rarer ones :math:`f / a` and more frequent ones :math:`b / f`, so that names too rare to be
learned have a small weight, too; and only texts with enough words of that band are used.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from torch import Tensor

from core.objectives import masked
from lab.batches import tensors
from lab.tokenizers import Vocabulary
from lab.tokens import Ints

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


def weights(counts: Ints, threshold: float) -> Floats:
    """Masking weight in (0, 1] of each token from its count; 1 for a count of 0."""
    share = counts / max(1, counts.sum())
    return np.asarray(np.minimum(1.0, np.sqrt(threshold / np.maximum(share, 1e-12))), dtype=np.float64)


def band_weights(counts: Ints, low: float, high: float) -> Floats:
    """Masking weight in (0, 1] of each token from its count: 1 for shares from ``low`` to ``high``, less outside."""
    share = np.maximum(counts, 1) / max(1, counts.sum())
    return np.asarray(np.minimum(1.0, np.minimum(share / low, high / share)), dtype=np.float64)


def rarer(counts: Ints, share: float) -> Bools:
    """Whether each token has at most this share of all tokens."""
    return np.asarray(counts <= share * max(1, counts.sum()), dtype=np.bool_)


def choose(
    ids: Ints,
    weight: Floats,
    continues: Bools,
    special: Bools,
    rate: float,
    rng: np.random.Generator,
    *,
    repeats: Bools | None = None,
) -> Bools:
    """Positions to mask in a batch of rows of equal length.

    Args:
        ids: (rows, length) token ids.
        weight: (vocabulary,) weights of `weights`.
        continues: (vocabulary,) True for tokens that continue a word.
        special: (vocabulary,) True for tokens that are never masked.
        rate: share of a row's words to mask, rounded, at least one.
        rng: samples words without replacement with probability proportional to weight (Gumbel top-k).
        repeats: (vocabulary,) True for tokens whose words, once chosen, are masked at all occurrences in the row.

    Returns:
        (rows, length) True at the positions to mask.
    """
    starts = ~continues[ids] & ~special[ids]
    score = np.where(starts, np.log(weight[ids]) + rng.gumbel(size=ids.shape), -np.inf)
    words = starts.sum(axis=1)
    count = np.minimum(words, np.maximum(1, np.rint(rate * words))).astype(np.int64)
    rank = np.argsort(np.argsort(-score, axis=1), axis=1)
    mask = starts & (rank < count[:, None])
    if repeats is not None:
        chosen = mask & repeats[ids]
        mask |= starts & ((ids[:, :, None] == ids[:, None, :]) & chosen[:, None, :]).any(axis=2)
    first = np.maximum.accumulate(np.where(continues[ids], 0, np.arange(ids.shape[1])), axis=1)  # of each token's word
    return np.take_along_axis(mask, first, axis=1)


def mask_words(
    words: Vocabulary,
    ids: Ints,
    weight: Floats,
    rate: float,
    rng: np.random.Generator,
    rare: Bools | None = None,
) -> dict[str, Tensor]:
    """Rows (rows, length) with words masked by `choose`: ``ids``, ``mask``, and ``labels`` at the masked positions.

    With ``rare`` (vocabulary,) all occurrences of such words are masked; ``context`` has those left, -1 elsewhere.
    """
    mask = choose(ids, weight, words.continues, words.special, rate, rng, repeats=rare)
    batch = tensors(ids=np.where(mask, words.mask, ids), mask=mask, labels=ids[mask])
    if rare is None:
        return batch
    left = rare[ids] & ~mask & ~words.special[ids]
    return batch | tensors(context=np.where(left, ids, -1))


def corrupt_ids(
    ids: Ints,
    special: Bools,
    mask: int,
    rng: np.random.Generator,
    fates: tuple[float, float] = masked.FATES,
) -> tuple[Ints, Bools]:
    """The corrupted ids and which tokens were chosen, both of the shape of ``ids``: the input of training.

    Args:
        ids: any shape; token ids.
        special: (vocabulary,) True for tokens that are neither chosen nor sampled.
        mask: the mask token.
    """
    chosen = masked.choose(~special[ids], rng)
    hidden, random = masked.replace_chosen(chosen, rng, fates)
    sampled = np.flatnonzero(~special)[rng.integers((~special).sum(), size=ids.shape)]
    return np.where(hidden, mask, np.where(random, sampled, ids)).astype(np.int64), chosen


def mask_rows(
    texts: Sequence[Ints],
    special: Bools,
    mask: int,
    pad: int,
    width: int,
    rngs: Sequence[np.random.Generator],
    fates: tuple[float, float] = masked.FATES,
) -> dict[str, Tensor]:
    """`corrupt_ids` of texts of any length, each with its own generator.

    Args:
        special: (vocabulary,) True for tokens that are neither chosen nor sampled.
        mask: the mask token.
        pad: fills rows up to ``width``.
        fates: shares of the chosen tokens that become the mask token, and a random token.

    Returns:
        ``ids`` (rows, width) masked; ``real`` 1 at tokens, 0 at padding; ``chosen`` True at the prediction targets;
        ``labels`` (chosen,) the original tokens there.
    """
    ids = np.full((len(texts), width), pad, dtype=np.int64)
    chosen = np.zeros(ids.shape, dtype=bool)
    for row, (text, rng) in enumerate(zip(texts, rngs, strict=True)):
        ids[row, : len(text)], chosen[row, : len(text)] = corrupt_ids(text, special, mask, rng, fates)
    labels = np.concatenate([text[chosen[row, : len(text)]] for row, text in enumerate(texts)])
    return tensors(ids=ids, real=(ids != pad).astype(np.int64), chosen=chosen, labels=labels)
