r"""Reformer run over its own modules, with rounds and seed of the hashing chosen before each call.

transformers seeds torch's global generator when a configuration names a ``hash_seed``, and pads a text to whole chunks.
Visitors share a model, so this would change the random numbers of others. Here the buckets are computed from rotations
of a generator of their own and passed to the library's layers, which do the rest. Padding
is last in every order: it has a bucket of its own, and no real position attends to a later one. A test compares the
numbers with the library's.

Layers are reversible: a layer's inputs follow from its two outputs,

.. math:: x_2 = y_2 - \mathrm{feedforward}(y_1), \qquad x_1 = y_1 - \mathrm{attention}(x_2)

Attention hashes as in `core.run.odd.hashing`.

Legend: R rows, n tokens, w hidden size, H heads, d head dimension, r rounds, b buckets, m tokens of a chunk.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from core.checkpoints.families.architectures import has
from core.errors import InputEmpty, InputTooLong, NoAttentionMatrix, OutOfRange
from core.lazy import Tensor, functional, torch
from core.run.model import Model
from core.run.odd.hashing import SEED, buckets_of, count_shared_rounds, rotations, with_itself
from core.words import counted

SELF_SCORE = -1e5
"""A token's score with itself, as in transformers: it matters only where every other key is masked."""


def attended(buckets: Tensor, chunk: int) -> Tensor:
    """(..., r, n) buckets to (..., n, n) True where a query (row) attends to a key in some round; causal.

    The diagonal is False, except at a position that attends to no other, such as the first.
    """
    return with_itself(count_shared_rounds(buckets, chunk)) > 0


def full_weights(vectors: Tensor) -> Tensor:
    """(n, d) shared query-key vectors of one head to (n, n) weights of full causal attention.

    Keys are scaled to unit mean square and divided by the square root of d; a token's own score is :data:`SELF_SCORE`.
    """
    n = len(vectors)
    scores = key_scores(vectors).masked_fill(torch.eye(n, dtype=torch.bool), SELF_SCORE)
    return torch.softmax(scores.masked_fill(torch.ones(n, n, dtype=torch.bool).triu(1), -torch.inf), dim=-1)


def key_scores(vectors: Tensor) -> Tensor:
    """(..., n, d) shared query-key vectors to (..., n, n) scores with the normalized keys."""
    keys = vectors * torch.rsqrt(vectors.square().mean(-1, keepdim=True) + 1e-6) / vectors.shape[-1] ** 0.5
    scores: Tensor = vectors @ keys.mT
    return scores


def covered_weight(weights: Tensor, same_bucket: Tensor) -> Tensor:
    """(n,) share of each position's full attention weight (n, n) on the keys that hashing lets it attend to."""
    return (weights * same_bucket).sum(-1)


def count_scores(n: int, chunk: int, rounds: int) -> int:
    """Scores of one hashing head over n tokens, padded to whole chunks: two chunks of keys for each query and round."""
    return n * n if n <= chunk else rounds * (-(-n // chunk)) * chunk * 2 * chunk


ROUNDS = (1, 2, 4, 8)


@dataclass(frozen=True, slots=True, eq=False)
class Hashed:
    """The query-key vectors and buckets of one LSH layer over a text."""

    vectors: Tensor  # (H, n, d): queries, which are keys too
    buckets: Tensor  # (H, r, n)

    def first(self, n: int) -> Hashed:
        """The first row of a batch, without padding."""
        return Hashed(self.vectors[0, :, :n].clone(), self.buckets[0, :, :, :n].clone())


def shape_of(model: Model) -> tuple[tuple[int, ...], int, int, int]:
    """(LSH layers from 0, heads, chunk length, positions).

    Raises:
        NoAttentionMatrix: for other models.
    """
    config = model.config
    if not has(config, "hashing") or not hasattr(model, "lm_head") or not config.is_decoder:
        raise NoAttentionMatrix("Buckets are shown only for Reformer models that continue a text.")
    hashing = tuple(i for i, kind in enumerate(config.attn_layers) if kind == "lsh")
    return hashing, int(config.num_attention_heads), int(config.lsh_attn_chunk_length), positions_of(model)


def positions_of(model: Model) -> int:
    """The longest text, in tokens."""
    return int(model.config.max_position_embeddings)


def states(
    model: Model,
    ids: Tensor,
    *,
    rounds: int | None = None,
    seed: int = SEED,
    record: dict[int, Hashed] | None = None,
) -> Tensor:
    """(R, n) ids to (R, n, 2 w) states, the input of the output layer.

    Args:
        model: the shared instance, in evaluation mode.
        ids: rows of one length.
        rounds: of hashing; the model's own by default.
        seed: of the rotations; equal in every layer, as in transformers.
        record: receives the vectors and buckets of each LSH layer for the first row, by layer from 0.

    Raises:
        InputEmpty, InputTooLong: no token, or more than the model has positions for.
    """
    with torch.inference_mode():
        run = HashedPass(model, _checked(model, ids), int(model.config.num_hashes) if rounds is None else rounds, seed)
        first = second = run.embedded(ids)
        for index in range(len(model.reformer.encoder.layers)):
            first, second = run.layer(index, first, second, record)
        hidden: Tensor = model.reformer.encoder.layer_norm(torch.cat([first, second], dim=-1))
        return hidden[:, : run.n]


def _checked(model: Model, ids: Tensor) -> int:
    """The number of tokens n; raises when it is 0 or above the number of positions."""
    limit = shape_of(model)[-1]
    n = int(ids.shape[1])
    if n == 0:
        raise InputEmpty("There is no text to read. Type some, or take one of the samples.")
    if n > limit:
        raise InputTooLong(f"The text has {n:,} bytes and this model reads {limit:,}. Shorten the text.")
    return n


class HashedPass:
    """The attention of one forward pass, with its padding and rotations."""

    def __init__(self, model: Model, n: int, rounds: int, seed: int) -> None:
        if not 1 <= rounds <= max(ROUNDS):
            raise OutOfRange(f"Rounds of hashing go from 1 to {max(ROUNDS)}, not {rounds}.")
        assert not model.training
        _, self.heads, chunk, _ = shape_of(model)
        config = model.config
        self.model, self.n, self.rounds = model, n, rounds
        self.fill = -n % chunk if n > chunk else 0
        self.width, self.count = int(config.attention_head_size), int(config.num_buckets)
        self.chunked = n > chunk
        self.rotation = rotations(self.heads, self.width, rounds, self.count, seed)

    def embedded(self, ids: Tensor) -> Tensor:
        """(R, n) ids to (R, n + padding, w) embeddings."""
        padded = functional.pad(ids, (0, self.fill), value=int(self.model.config.pad_token_id))
        vectors: Tensor = self.model.reformer.embeddings(input_ids=padded)
        return vectors

    def layer(
        self, index: int, first: Tensor, second: Tensor, record: dict[int, Hashed] | None = None
    ) -> tuple[Tensor, Tensor]:
        """Both streams, (R, n + padding, w), after a layer."""
        first = first + self.attention(index, second, record)
        return first, second + self.model.reformer.encoder.layers[index].feed_forward(first)

    def attention(self, index: int, states: Tensor, record: dict[int, Hashed] | None = None) -> Tensor:
        """(R, n + padding, w) attention output, added to the first stream, from the second stream ``states``."""
        normalized = self.model.reformer.encoder.layers[index].attention.layer_norm(states)
        hashed = self.hashed(index, normalized)
        if record is not None and hashed is not None:
            record[index] = hashed.first(self.n)
        return self.attention_output(index, normalized, hashed)

    def hashed(self, index: int, normalized: Tensor) -> Hashed | None:
        """Vectors (R, H, n + padding, d) and buckets (R, H, r, n + padding) of a layer; None for local attention.

        Args:
            normalized: (R, n + padding, w) input of the layer's projections.
        """
        if self.model.config.attn_layers[index] != "lsh":
            return None
        attention = self.model.reformer.encoder.layers[index].attention.self_attention
        vectors = attention.query_key(normalized).view(*normalized.shape[:2], self.heads, -1).transpose(1, 2)
        buckets = buckets_of(vectors, self.rotation)
        buckets[..., self.n :] = self.count
        return Hashed(vectors, buckets)

    def attention_output(self, index: int, normalized: Tensor, hashed: Hashed | None) -> Tensor:
        """(R, n + padding, w) attention output of a layer from its normalized input and its buckets."""
        layer = self.model.reformer.encoder.layers[index].attention
        arguments: dict[str, Any] = {}
        if hashed is not None:
            offsets = (self.count + 1) * torch.arange(self.rounds)[:, None]  # rounds are sorted one after the other
            arguments = {
                "num_hashes": self.rounds,
                "buckets": (hashed.buckets + offsets).flatten(2) if self.chunked else None,
            }
        added: Tensor = layer.output(layer.self_attention(hidden_states=normalized, **arguments).hidden_states)
        return added


def surprisals(model: Model, ids: Sequence[int], *, rounds: int | None = None) -> Tensor:
    """(n - 1,) surprisals in bits of all tokens but the first, given the tokens before them."""
    with torch.inference_mode():
        text = torch.tensor([list(ids)])
        scores = model.lm_head.decoder(states(model, text, rounds=rounds)[0, :-1]).float()
        return functional.cross_entropy(scores, text[0, 1:], reduction="none") / torch.log(torch.tensor(2.0))


def by_context(model: Model, ids: Sequence[int], contexts: Sequence[int], last: int) -> tuple[float, ...]:
    """Mean surprisal in bits of a text's ``last`` tokens at each context length.

    Args:
        contexts: numbers of tokens read, from the end of ``ids``; each larger than ``last``.

    Raises:
        OutOfRange: a context that is longer than the text or not longer than ``last``.
    """
    means = []
    for length in contexts:
        if not last < length <= len(ids):
            raise OutOfRange(
                f"A context of {counted(length, 'token')} is not between {last + 1} and {len(ids)}, the whole text."
            )
        means.append(float(surprisals(model, ids[-length:])[-last:].mean()))
    return tuple(means)


def inversion_error(model: Model, ids: Sequence[int]) -> float:
    """Relative error of the embeddings reconstructed from the last layer's outputs.

    The largest absolute error, divided by the largest absolute value.
    """
    with torch.inference_mode():
        run = HashedPass(model, len(ids), int(model.config.num_hashes), SEED)
        first = second = embedded = run.embedded(torch.tensor([list(ids)]))
        layers = model.reformer.encoder.layers
        for index in range(len(layers)):
            first, second = run.layer(index, first, second)
        for index in reversed(range(len(layers))):
            second = second - layers[index].feed_forward(first)
            first = first - run.attention(index, second)
        return float((torch.stack([first, second]) - embedded).abs().max() / embedded.abs().max())
