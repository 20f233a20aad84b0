r"""Reformer run over its own modules, with rounds and seed of the hashing chosen before each call.

transformers seeds torch's generator for all when a configuration names a ``hash_seed``, and fills a text up to whole
chunks. A model that many visitors share must not throw their dice: here the buckets are computed from rotations of our
own generator (:mod:`core.sparse.hashing`) and given to the library's layers, which do the rest. Filling comes last
in every order: it has a bucket of its own, and no real position attends ahead. The numbers are the library's; a test
holds both together.

Layers are reversible: from a layer's two outputs its inputs come back,

.. math:: x_2 = y_2 - \mathrm{feedforward}(y_1), \qquad x_1 = y_1 - \mathrm{attention}(x_2)

Legend: R rows, n tokens, w hidden width, H heads, d head width, r rounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, pad

from core.errors import InputEmpty, InputTooLong, NoAttentionMatrix, OutOfRange
from core.sparse.hashing import buckets_of, counts, rotations, with_itself
from core.sparse.hashing import weights as weights_of

ROUNDS = (1, 2, 4, 8)
SEED = 0


@dataclass(frozen=True, slots=True, eq=False)
class Hashed:
    """What one hashing layer saw of a text."""

    vectors: Tensor  # (H, n, d): queries, which are keys too
    buckets: Tensor  # (H, r, n)

    def first(self, n: int) -> Hashed:
        """Of several rows the first one, without what fills it up."""
        return Hashed(self.vectors[0, :, :n].clone(), self.buckets[0, :, :, :n].clone())


def shape_of(model: Any) -> tuple[tuple[int, ...], int, int, int]:
    """(hashing layers counted from 0, heads, chunk, positions); raises :class:`NoAttentionMatrix` for other models."""
    config = model.config
    if getattr(config, "model_type", "") != "reformer" or not hasattr(model, "lm_head") or not config.is_decoder:
        raise NoAttentionMatrix("Buckets can be shown for a Reformer that continues a text only.")
    hashing = tuple(i for i, kind in enumerate(config.attn_layers) if kind == "lsh")
    return hashing, int(config.num_attention_heads), int(config.lsh_attn_chunk_length), positions_of(model)


def positions_of(model: Any) -> int:
    """The longest text, in tokens."""
    return int(model.config.max_position_embeddings)


@torch.inference_mode()
def states(
    model: Any,
    ids: Tensor,
    *,
    rounds: int | None = None,
    seed: int = SEED,
    keep: dict[int, Hashed] | None = None,
) -> Tensor:
    """(R, n) ids to (R, n, 2 w) states that the output layer reads.

    Args:
        model: the shared instance, in evaluation mode.
        ids: rows of one length.
        rounds: of hashing; the model's own by default.
        seed: of the rotations; equal in every layer, as in transformers.
        keep: takes what each hashing layer saw of the first row, by the layer's number from 0.

    Raises:
        InputEmpty, InputTooLong: no token, or more than the model has positions for.
    """
    run = _Run(model, _checked(model, ids), int(model.config.num_hashes) if rounds is None else rounds, seed)
    first = second = run.embedded(ids)
    for index, layer in enumerate(model.reformer.encoder.layers):
        first = first + run.attention(index, second, keep)
        second = second + layer.feed_forward(first)
    hidden: Tensor = model.reformer.encoder.layer_norm(torch.cat([first, second], dim=-1))
    return hidden[:, : run.n]


def _checked(model: Any, ids: Tensor) -> int:
    """n, unless the model cannot read so many."""
    limit = shape_of(model)[-1]
    n = int(ids.shape[1])
    if n == 0:
        raise InputEmpty("There is no text to read. Type some, or take one of the samples.")
    if n > limit:
        raise InputTooLong(f"The text has {n:,} bytes and this model reads {limit:,}. Shorten the text.")
    return n


class _Run:
    """The attention of one pass: its filling, its rotations."""

    def __init__(self, model: Any, n: int, rounds: int, seed: int) -> None:
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
        """(R, n) ids to (R, n + filling, w) vectors."""
        padded = pad(ids, (0, self.fill), value=int(self.model.config.pad_token_id))
        vectors: Tensor = self.model.reformer.embeddings(input_ids=padded)
        return vectors

    def attention(self, index: int, states: Tensor, keep: dict[int, Hashed] | None = None) -> Tensor:
        """What the attention of a layer adds to the first stream, from the second."""
        read = self.model.reformer.encoder.layers[index].attention.layer_norm(states)
        hashed = self.hashed(index, read)
        if keep is not None and hashed is not None:
            keep[index] = hashed.first(self.n)
        return self.mixed(index, read, hashed)

    def hashed(self, index: int, read: Tensor) -> Hashed | None:
        """The vectors (R, H, n + filling, d) and buckets (R, H, r, n + filling) of a layer; None if it does not hash.

        Args:
            read: (R, n + filling, w) states that the layer's projections read.
        """
        if self.model.config.attn_layers[index] != "lsh":
            return None
        own = self.model.reformer.encoder.layers[index].attention.self_attention
        vectors = own.query_key(read).view(*read.shape[:2], self.heads, -1).transpose(1, 2)
        buckets = buckets_of(vectors, self.rotation)
        buckets[..., self.n :] = self.count
        return Hashed(vectors, buckets)

    def mixed(self, index: int, read: Tensor, hashed: Hashed | None) -> Tensor:
        """(R, n + filling, w) what a layer adds that read this, with its vectors in these buckets."""
        layer = self.model.reformer.encoder.layers[index].attention
        arguments: dict[str, Any] = {}
        if hashed is not None:
            apart = (self.count + 1) * torch.arange(self.rounds)[:, None]  # rounds are sorted one after the other
            arguments = {
                "num_hashes": self.rounds,
                "buckets": (hashed.buckets + apart).flatten(2) if self.chunked else None,
            }
        added: Tensor = layer.output(layer.self_attention(hidden_states=read, **arguments).hidden_states)
        return added


@dataclass(frozen=True, slots=True, eq=False)
class Encoded:
    """Every weight of one pass, brought from buckets and chunks to tokens by tokens."""

    weights: tuple[Tensor, ...]  # L tensors (1, H, n, n)
    same_bucket: tuple[Tensor, ...]
    """Likewise, True where a weight was computed."""


@torch.inference_mode()
def encode(model: Any, ids: Tensor, *, rounds: int | None = None, seed: int = SEED) -> Encoded:
    """The weights of all layers over one text (1, n); arguments and errors as for :func:`states`."""
    heads, chunk = shape_of(model)[1:3]
    run = _Run(model, _checked(model, ids), int(model.config.num_hashes) if rounds is None else rounds, seed)
    first = second = run.embedded(ids)
    layers = model.reformer.encoder.layers
    weights, same_bucket = [], []
    for index, layer in enumerate(layers):
        read = layer.attention.layer_norm(second)
        hashed = run.hashed(index, read)
        if hashed is not None:
            own = hashed.first(run.n)
            times = with_itself(counts(own.buckets, chunk))  # (H, n, n)
            weights.append(weights_of(own.vectors, times)[None])
            same_bucket.append((times > 0)[None])
        else:
            text = read[0, : run.n]
            local = layer.attention.self_attention
            query, key = (part(text).view(run.n, heads, -1).transpose(0, 1) for part in (local.query, local.key))
            close = near(run.n, int(model.config.local_attn_chunk_length))
            scores = (query @ key.mT) * query.shape[-1] ** -0.5
            weights.append(torch.softmax(scores.masked_fill_(~close, -torch.inf), dim=-1)[None])
            same_bucket.append(close.expand(1, heads, -1, -1))
        if index + 1 < len(layers):  # nobody asks here what the last layer gives
            first = first + run.mixed(index, read, hashed)
            second = second + layer.feed_forward(first)
    return Encoded(tuple(weights), tuple(same_bucket))


def near(n: int, chunk: int) -> Tensor:
    """(n, n) True where local attention is allowed: own and previous chunk, nothing ahead; all of a short text."""
    at = torch.arange(n) // (chunk if n > chunk else n)
    apart = at[:, None] - at[None, :]
    return ((apart == 0) | (apart == 1)) & torch.ones(n, n, dtype=torch.bool).tril()


def next_scores(model: Any, ids: Tensor) -> Tensor:
    """(R, V) scores of the token after each row (R, n); the whole text is read anew."""
    with torch.inference_mode():
        scores: Tensor = model.lm_head.decoder(states(model, ids)[:, -1]).float()
        return scores


@torch.inference_mode()
def surprisals(model: Any, ids: Sequence[int], *, rounds: int | None = None, seed: int = SEED) -> Tensor:
    """(n - 1,) bits that each token but the first costs, given those before it."""
    text = torch.tensor([list(ids)])
    scores = model.lm_head.decoder(states(model, text, rounds=rounds, seed=seed)[0, :-1]).float()
    return cross_entropy(scores, text[0, 1:], reduction="none") / torch.log(torch.tensor(2.0))


def by_context(model: Any, ids: Sequence[int], contexts: Sequence[int], last: int) -> tuple[float, ...]:
    """Mean bits of the ``last`` tokens of a text when only so many tokens before and among them are read.

    Each of ``contexts`` is how many tokens are read, the last ones of ``ids``; more than ``last``.
    """
    means = []
    for length in contexts:
        if not last < length <= len(ids):
            raise OutOfRange(f"{length} tokens cannot be read: the text has {len(ids)}, the last {last} are measured.")
        means.append(float(surprisals(model, ids[-length:])[-last:].mean()))
    return tuple(means)


@torch.inference_mode()
def undone(model: Any, ids: Sequence[int]) -> float:
    """Largest error, as a share of the largest number, of the first layer's inputs computed back from the outputs."""
    run = _Run(model, len(ids), int(model.config.num_hashes), SEED)
    first = second = embedded = run.embedded(torch.tensor([list(ids)]))
    layers = model.reformer.encoder.layers
    for index, layer in enumerate(layers):
        first = first + run.attention(index, second)
        second = second + layer.feed_forward(first)
    for index in reversed(range(len(layers))):
        second = second - layers[index].feed_forward(first)
        first = first - run.attention(index, second)
    return float((torch.stack([first, second]) - embedded).abs().max() / embedded.abs().max())
