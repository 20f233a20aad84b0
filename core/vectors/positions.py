r"""Position encodings: formulas of five kinds, and the encodings of live models.

**Sinusoids** (Vaswani et al. 2017, section 3.5), for position t and pair k of a vector of w dimensions:

.. math:: P[t]_{2k} = \sin(t\,\omega_k), \quad P[t]_{2k+1} = \cos(t\,\omega_k), \quad \omega_k = 10000^{-2k/w}

so that :math:`P[s] \cdot P[t] = \sum_k \cos((s - t)\,\omega_k)` depends on the distance alone. Libraries order the
dimensions differently: all sines before all cosines (CTRL, Marian, Transformer-XL), and M2M-100's code, which follows
tensor2tensor, also spreads the pairs by :math:`10000^{-k/(w/2-1)}`.

**Buckets of distances** (T5, Raffel et al. 2019): a number for each head and bucket is added to the score. Half of the
buckets are for keys on the right (none in a decoder, which masks them). Small distances have a bucket each, large ones
share buckets: with B buckets on a side, a distance n from B/2 on has bucket

.. math:: \min\Bigl(B - 1,\; \tfrac B2 + \Bigl\lfloor \frac{\ln(2n/B)}{\ln(2m/B)} \cdot \tfrac B2 \Bigr\rfloor\Bigr)

with m the distance from which on all keys share the last bucket.

**Rotations** (rotary, Su et al. 2021): pair k of a query or key at position t is rotated by :math:`t\,\theta_k`,
:math:`\theta_k = b^{-2k/d}`. A rotation preserves norms, and :math:`R_s q \cdot R_t k = q \cdot R_{t-s} k` depends on
the distance alone.

**A slope** (ALiBi, Press et al. 2021): :math:`-m_h\,|i - j|` is added to the score, :math:`m_h = 2^{-8h/H}` for head h
of H, from 1, where H is a power of two.

Encodings of live models are read from a forward pass, so offsets of positions (RoBERTa's, BART's) need not be known;
terms of scores are those of `core.attention.scores`. The formulas need numpy alone.

Legend: n positions, w hidden size, d head dimension, L layers, H heads, B buckets, D = 2 n - 1 distances, from -(n - 1)
to n - 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from core.arrays import Floats
from core.attention.disentangled import ScoreComponents
from core.attention.inside.states import embedding_of
from core.attention.scores import AttentionScores, scores_by_layer
from core.attention.trace import frozen
from core.checkpoints.spec import Checkpoint
from core.errors import InputUnusable
from core.language.inputs import one_text, pair
from core.language.segments import has_memory
from core.language.tokens import max_tokens, special_positions
from core.language.types import Token, labels
from core.lazy import Tensor, torch
from core.run.odd import TWO_STREAM
from core.vectors.reading import inputs_of

Numbers = NDArray[np.float64]
Order = Literal["paper", "halves", "tensor2tensor"]


def sinusoids(count: int, width: int, order: Order = "paper") -> Numbers:
    """(n, w) vectors of the positions 0, 1, ...; the width is even and at least 4.

    Args:
        order: alternating sines and cosines, as in the paper; sines before cosines; or as in tensor2tensor.
    """
    pairs = np.arange(width // 2)
    last = width / 2 - 1 if order == "tensor2tensor" else width / 2
    angles = np.arange(count)[:, None] * 10_000.0 ** (-pairs / last)
    if order != "paper":
        return np.concatenate((np.sin(angles), np.cos(angles)), axis=1)
    return np.stack((np.sin(angles), np.cos(angles)), axis=2).reshape(count, width)


def by_distance(matrix: NDArray[np.floating]) -> tuple[Numbers, Numbers]:
    """(n, n) to the mean, and the spread (standard deviation), of its entries at each distance |i - j| from 0."""
    count = len(matrix)
    both = [np.concatenate((np.diagonal(matrix, d), np.diagonal(matrix, -d))) for d in range(count)]
    return np.array([values.mean() for values in both]), np.array([values.std() for values in both])


def along_distance(matrix: NDArray[np.floating], allowed: NDArray[np.bool_] | None = None) -> tuple[Numbers, Numbers]:
    """(n, n) to mean and spread at each signed distance j - i from -(n - 1) to n - 1; nan without an allowed pair."""
    count = len(matrix)
    means, spreads = np.full(2 * count - 1, np.nan), np.full(2 * count - 1, np.nan)
    for d in range(-count + 1, count):
        values = np.diagonal(matrix, d)
        if allowed is not None:
            values = values[np.diagonal(allowed, d)]
        if len(values):
            means[d + count - 1], spreads[d + count - 1] = values.mean(), values.std()
    return means, spreads


def t5_bucket(distance: int, *, both: bool = True, buckets: int = 32, furthest: int = 128) -> int:
    """The bucket of ``distance``, the position of the key minus that of the query.

    Args:
        both: whether keys on the right have buckets, as in an encoder.
    """
    side = buckets // 2 if both else buckets
    start = side if both and distance > 0 else 0
    steps = abs(distance) if both else max(0, -distance)
    exact = side // 2
    if steps < exact:
        return start + steps
    share = math.log(steps / exact) / math.log(furthest / exact)
    return start + min(side - 1, exact + int(share * (side - exact)))


def pair_angles(width: int, base: float = 10_000.0) -> Numbers:
    """(d / 2,) the angle by which each pair is rotated from one position to the next, in radians."""
    result: Numbers = base ** (-2 * np.arange(width // 2) / width)
    return result


def rotated(vector: NDArray[np.floating], position: float, base: float = 10_000.0) -> Numbers:
    """(..., d) rotated as at ``position``; dimensions k and k + d/2 form a pair, as in LLaMA's code."""
    exact = vector.astype(np.float64)
    half = exact.shape[-1] // 2
    angles = position * pair_angles(exact.shape[-1], base)
    lower, upper = exact[..., :half], exact[..., half:]
    cos, sin = np.cos(angles), np.sin(angles)
    return np.concatenate((lower * cos - upper * sin, lower * sin + upper * cos), axis=-1)


def rotary_cosines(distances: NDArray[np.integer], width: int, base: float = 10_000.0) -> Numbers:
    """The cosine between a vector whose pairs have equal norms and its rotation by each distance: mean cos(Δ θ)."""
    result: Numbers = np.cos(np.asarray(distances)[:, None] * pair_angles(width, base)).mean(axis=1)
    return result


def slopes(heads: int) -> tuple[float, ...]:
    """ALiBi's slope of each head.

    For H not a power of two: the slopes for the next smaller power, then every second slope for the next larger, as in
    the authors' code.
    """
    power = 2 ** int(math.log2(heads))
    result = [2 ** (-8 * h / power) for h in range(1, power + 1)]
    more = [2 ** (-8 * h / (2 * power)) for h in range(1, 2 * power + 1, 2)]
    return tuple((result + more)[:heads])


MOST = 128
"""The most rows shown of a position table."""
TERMS: dict[str, str] = {
    "position": "distance",
    "c2p": "content to position",
    "p2c": "position to content",
}


@dataclass(frozen=True, slots=True, eq=False)
class ByDistance:
    """One term of the scores of every head, by distance; arrays are read-only, nan where no pair is that far apart."""

    means: Floats  # (L, H, D)
    spreads: Floats  # (L, H, D) standard deviation over the pairs of tokens at that distance

    @property
    def reach(self) -> int:
        """n - 1."""
        return (int(self.means.shape[-1]) - 1) // 2


def position_embeddings(checkpoint: Checkpoint) -> Floats:
    """(n, w) position embeddings of the first `MOST` positions, or of as many as there are.

    Raises:
        InputUnusable: the model adds no position embeddings.
    """
    made = inputs_of(checkpoint, "a")
    filler = next(token for token in made.of_text if not token.special)
    fillers = [filler] * min(MOST, max_tokens(checkpoint) or MOST)
    inputs = pair(checkpoint, fillers, [filler.id]) if made.source else one_text(checkpoint, fillers)
    for step in embedding_of(inputs):
        if step.name == "position":
            return frozen(step.values.copy())
    raise InputUnusable(f"{checkpoint.spec.name} adds no position embeddings. Models such as BERT and GPT-2 do.")


def distance_terms(checkpoint: Checkpoint, text: str) -> dict[str, ByDistance]:
    """The terms of a text's scores that depend on distance, by name (`TERMS`).

    T5's term depends on nothing else. In DeBERTa, XLNet and Transformer-XL it also depends on a query or key, so pairs
    at one distance differ. For an encoder-decoder the terms are the encoder's.

    Raises:
        InputUnusable: the scores have no such term.
        InputEmpty, InputTooLong: as `core.vectors.reading.read_states`.
    """
    _, layers = _layers(checkpoint, text)
    names = [name for name in TERMS if name in layers[0][1].terms]
    if not names:
        raise InputUnusable(f"No term of the scores of {checkpoint.spec.name} depends on distance. T5 has one.")
    return {name: _by_distance(layers, name) for name in names}


def score_terms(checkpoint: Checkpoint, text: str) -> ScoreComponents:
    r"""The four terms of a text's scores in Transformer-XL and XLNet (Dai et al. 2019, section 3.3).

    .. math:: s_{ij} = \frac{1}{\sqrt d} \bigl( q_i \cdot k_j + q_i \cdot r_{i-j} + u \cdot k_j + v \cdot r_{i-j} \bigr)

    In this order; NaN where the mask blocks. A model with a memory reads the text as two segments (`first_segment`).

    Raises:
        InputUnusable: the scores have no such terms.
        InputEmpty, InputTooLong: as `core.vectors.reading.read_states`.
    """
    tokens, layers = _layers(checkpoint, text)
    if layers[0][0].names.score != "two_stream":
        raise InputUnusable(f"The scores of {checkpoint.spec.name} have no such terms. Those of Transformer-XL have.")
    scores = []
    for _, call in layers:
        terms = torch.stack([call.terms[name] for name in TWO_STREAM])
        scores.append(terms if call.allowed is None else terms.masked_fill(~call.allowed, torch.nan))
    weights = _stacked([call.score.softmax(-1) for _, call in layers])
    special = special_positions(checkpoint.tokenizer, tokens)
    return ScoreComponents(labels(tokens), _stacked(scores), weights, special=special)


def _stacked(layers: Sequence[Tensor]) -> Floats:
    """A tensor for each layer as one array, read-only."""
    return frozen(torch.stack(list(layers)).float().cpu().numpy())


def first_segment(tokens: int) -> int:
    """Tokens of the first of two segments, which is the memory of the second."""
    return (tokens + 1) // 2


def _layers(checkpoint: Checkpoint, text: str) -> tuple[tuple[Token, ...], list[tuple[Any, AttentionScores]]]:
    """A text's tokens, and the scores of all layers of its encoder, or else of its decoder."""
    inputs = inputs_of(checkpoint, text)
    tokens = inputs.of_text
    segment = first_segment(len(tokens)) if has_memory(checkpoint.model) else len(tokens)
    result = scores_by_layer(inputs, segment)
    return tokens, result["encoder"] if "encoder" in result else result["decoder"]


def _by_distance(layers: list[tuple[Any, Any]], name: str) -> ByDistance:
    means, spreads = [], []
    for _, call in layers:
        parts = (call.terms[part] for part in (name, f"{name} bias") if part in call.terms)
        term = sum(parts, start=torch.zeros(())).float().cpu().numpy()
        allowed = np.ones(1, dtype=bool) if call.allowed is None else call.allowed.cpu().numpy()
        rows = [along_distance(*head) for head in zip(term, np.broadcast_to(allowed, term.shape), strict=True)]
        means.append([row[0] for row in rows])
        spreads.append([row[1] for row in rows])
    return ByDistance(frozen(np.array(means, dtype=np.float32)), frozen(np.array(spreads, dtype=np.float32)))


@dataclass(frozen=True, slots=True, eq=False)
class RotaryVectors:
    """Queries and keys of a text before their rotation; arrays are read-only."""

    tokens: tuple[str, ...]
    queries: Floats  # (L, H, n, d)
    keys: Floats  # (L, H, n, d), repeated where heads share them
    factor: float
    base: float


def rotary_vectors(checkpoint: Checkpoint, text: str) -> RotaryVectors:
    """The queries and keys that a decoder with rotary positions rotates.

    Raises:
        InputUnusable: its queries are not rotated, or are known only after the rotation.
        InputEmpty, InputTooLong: as `core.vectors.reading.read_states`.
    """
    inputs = inputs_of(checkpoint, text)
    layers = scores_by_layer(inputs).get("decoder", [])
    if layers and layers[0][0].stack.blueprint is None:
        raise InputUnusable(
            f"The queries and keys of {checkpoint.spec.name} can be read only after they are rotated. Models such as "
            "Llama, Mistral and Qwen 2 show both."
        )
    if not layers or layers[0][1].before_rope is None:
        raise InputUnusable(f"{checkpoint.spec.name} does not rotate its queries and keys. Llama does.")

    calls: list[Any] = [call for _, call in layers]

    def repeated(call: AttentionScores) -> Tensor:
        assert call.before_rope is not None
        keys = call.before_rope[1]
        return keys.repeat_interleave(len(call.query) // len(keys), dim=0)

    settings: Mapping[str, Any] = checkpoint.model.config.rope_parameters or {}
    return RotaryVectors(
        labels(inputs.tokens),
        _stacked([call.before_rope[0] for call in calls]),
        _stacked([repeated(call) for call in calls]),
        float(layers[0][1].factor),
        float(settings.get("rope_theta", 10_000.0)),
    )
