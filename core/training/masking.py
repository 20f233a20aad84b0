r"""Which words a masked language model has to guess.

Whole words are masked, and all of their pieces become the mask token. A rare word that stands more than once in a text
can be masked wherever it stands: with nothing left to copy, repeating a word of the sentence never pays. Frequent words
are masked less often: a word whose first piece has relative frequency :math:`f` has weight :math:`\min(1, \sqrt{t /
f})`, the subsampling of Mikolov et al. (2013): the effort goes into words that a reader would hide, and not into
commas. Where a recipe names a band of frequencies :math:`[a, b]` instead, words within it have weight 1, rarer ones
:math:`f / a` and more frequent ones :math:`b / f`, so that names too rare to be learnt cost little either; and a text
takes part only where it has enough words of that band to guess one from another.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from core.objectives import masked as published
from core.training.batches import Ints

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


def weights(counts: Ints, threshold: float) -> Floats:
    """Masking weight in (0, 1] of each token from its count; 1 for a token never counted."""
    share = counts / max(1, counts.sum())
    return np.asarray(np.minimum(1.0, np.sqrt(threshold / np.maximum(share, 1e-12))), dtype=np.float64)


def band_weights(counts: Ints, low: float, high: float) -> Floats:
    """Masking weight in (0, 1] of each token from its count: 1 for shares from ``low`` to ``high``, less outside."""
    share = np.maximum(counts, 1) / max(1, counts.sum())
    return np.asarray(np.minimum(1.0, np.minimum(share / low, high / share)), dtype=np.float64)


def rarer(counts: Ints, share: float) -> Bools:
    """True for each token that makes up at most this share of all tokens."""
    return np.asarray(counts <= share * max(1, counts.sum()), dtype=np.bool_)


def choose(
    ids: Ints,
    weight: Floats,
    continues: Bools,
    special: Bools,
    rate: float,
    rng: np.random.Generator,
    *,
    together: Bools | None = None,
) -> Bools:
    """Positions to mask in a batch of equally long rows.

    Args:
        ids: (rows, length) token ids.
        weight: (vocabulary,) weights of `weights`.
        continues: (vocabulary,) True for pieces that continue a word.
        special: (vocabulary,) True for tokens that are never masked.
        rate: share of a row's words to mask, rounded, at least one.
        rng: draws words without replacement with probability proportional to weight (Gumbel top-k).
        together: (vocabulary,) True for pieces whose words, once chosen, are masked wherever the row has them.

    Returns:
        (rows, length) True where the token is to be masked.
    """
    starts = ~continues[ids] & ~special[ids]
    score = np.where(starts, np.log(weight[ids]) + rng.gumbel(size=ids.shape), -np.inf)
    words = starts.sum(axis=1)
    count = np.minimum(words, np.maximum(1, np.rint(rate * words))).astype(np.int64)
    rank = np.argsort(np.argsort(-score, axis=1), axis=1)
    mask = starts & (rank < count[:, None])
    if together is not None:
        chosen = mask & together[ids]
        mask |= starts & ((ids[:, :, None] == ids[:, None, :]) & chosen[:, None, :]).any(axis=2)
    for column in range(1, ids.shape[1]):
        follows = continues[ids[:, column]]
        mask[:, column] |= follows & mask[:, column - 1]
    return np.asarray(mask, dtype=np.bool_)


FATES = published.FATES
"""BERT's shares of the chosen tokens that become the mask token, and a random one."""


def bert(
    ids: Ints,
    special: Bools,
    mask: int,
    rng: np.random.Generator,
    *,
    rate: float = published.RATE,
    fates: tuple[float, float] = FATES,
) -> tuple[Ints, Bools]:
    """BERT's corruption (Devlin et al., 2019, section 3.1): each token is chosen with probability ``rate``.

    Of the chosen tokens 80 % become ``mask``, 10 % a random ordinary token (``fates``), the rest stays.

    Args:
        ids: any shape; token ids.
        special: (vocabulary,) True for tokens that are neither chosen nor drawn.

    Returns:
        The damaged ids and where tokens were chosen, both of the shape of ``ids``. A text with an ordinary token
        has at least one chosen.
    """
    ordinary = ~special[ids]
    chosen = ordinary & (rng.random(ids.shape) < rate)
    if not chosen.any() and ordinary.any():
        chosen.flat[rng.choice(np.flatnonzero(ordinary))] = True
    fate = rng.random(ids.shape)
    drawn = np.flatnonzero(~special)[rng.integers((~special).sum(), size=ids.shape)]
    damaged = np.where(chosen & (fate < fates[0]), mask, ids)
    damaged = np.where(chosen & (fate >= 1 - fates[1]), drawn, damaged)
    return np.asarray(damaged, dtype=np.int64), np.asarray(chosen, dtype=np.bool_)
