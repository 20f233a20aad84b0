r"""Attention scores by each architecture's published formula, recomputed from its queries and keys.

    weights = softmax( sum of the terms over the allowed keys )

==============  ====================================================================================================
dot_product     :math:`q_i \cdot k_j / \sqrt d` (Vaswani et al. 2017)
relative_bias   :math:`q_i \cdot k_j + b_{j-i}`, a number for the bucket of the distance (T5: Raffel et al. 2020)
local           as dot_product, where the module itself masks what comes later (GPT: Radford et al. 2018); without the
                root, in every other layer for the last tokens only (GPT-Neo: Black et al. 2021)
rope            :math:`R_i q_i \cdot R_j k_j / \sqrt d`, pairs of numbers rotated by an angle that grows with the
                position (Su et al. 2021), where several heads may share a key (Ainslie et al. 2023)
disentangled    content and distance by themselves: `core.attention.architectures.disentangled`
two_stream      content and distance, with vectors that every query shares: `core.run.odd.two_streams`
sliding_window  :math:`q_i \cdot k_j / \sqrt d` in a window, :math:`q^g_i \cdot k^g_j / \sqrt d` in the row of a global
                token (Longformer: Beltagy et al. 2020)
lsh             :math:`q_i \cdot \hat q_j / \sqrt d + \ln m_{ij}` for a key attended to in :math:`m_{ij}` rounds, with
                :math:`\hat q_j = q_j / \sqrt{\tfrac1d \sum_k q_{jk}^2}` the query of unit mean square; in every other
                layer plain, over the own chunk and the one before (Reformer: Kitaev et al. 2020, arXiv 2001.04451)
block_sparse    :math:`q_i \cdot k_j / \sqrt d` in blocks near, global and random (BigBird: Zaheer et al. 2020)
==============  ====================================================================================================

With hashing, a token attends to itself only where its bucket holds nothing else, and rotations are those of the model's
own pass here (`core.sparse.reformer`).

Legend: H heads, Q queries, K keys, n tokens, d head dimension, w hidden size, r rotated dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from core.attention.architectures.recording import ModuleCall, Recorder
from core.attention.trace import map_note
from core.lazy import Tensor, torch
from core.run.prepare import AttentionLayer
from core.run.run import Kind, Run, Site
from core.sparse.reformer import SEED, buckets_of, count_shared_rounds, local_mask, rotations, with_itself

EPSILON = 1e-6
"""The epsilon that transformers adds to the mean square of a Reformer's query."""
_GLOBAL = ("q_global", "k_global", "v_global")


@dataclass(frozen=True, slots=True)
class AttentionScores:
    """One attention over one text, from the first row of the batch."""

    query: Tensor  # (H, Q, d), as it enters the score's first term
    key: Tensor  # (H, K, d), repeated where heads share keys
    value: Tensor  # (H, K, d)
    terms: dict[str, Tensor]  # (H, Q, K) each, scaled: their sum is the score
    allowed: Tensor | None  # (H or 1, Q, K) True where a key may be attended to; None for everywhere
    weights: Tensor | None  # (H, Q, K), as the model computed them; None where it does not return them
    factor: float
    """The factor of the product of query and key."""
    attention_output: Tensor | None = None  # (Q, w), as it enters the output's projection
    before_rope: tuple[Tensor, Tensor] | None = None
    """(H, Q, d) queries and (fewer heads, K, d) keys before RoPE."""
    shared: bool = False
    """Whether keys are the normalized queries (Reformer)."""
    of_global: tuple[Tensor, Tensor, Tensor] | None = None
    """Longformer's queries (H, g, d), keys and values (H, K, d) of global tokens."""

    @property
    def score(self) -> Tensor:
        """(H, Q, K) the sum of the terms, minus infinity where the mask blocks."""
        total = sum(self.terms.values(), start=next(iter(self.terms.values())) * 0)
        return total if self.allowed is None else total.masked_fill(~self.allowed, float("-inf"))


KEPT = frozenset({"q", "k", "v", "q_pre", "k_pre", *_GLOBAL, "terms", "mask", "pattern", "z", "attn_out"})
"""The sites that :func:`scores_of` reads."""


def scores_of(recorded: Run, kind: Kind, layer: int) -> AttentionScores:
    """The scores of a layer in the first row of a run that kept :data:`KEPT`."""
    query, key, value, allowed, weights, z = (
        recorded[kind, layer, name][0] for name in ("q", "k", "v", "mask", "pattern", "z")
    )

    def before(name: str) -> Tensor:
        return by_head(recorded[kind, layer, name][0], query.shape[-1])

    rotated = Site(kind, layer, "q_pre") in recorded.tensors
    of_global = [recorded[kind, layer, name][0] for name in _GLOBAL if Site(kind, layer, name) in recorded.tensors]
    return AttentionScores(
        query,
        key,
        value,
        {name: term[0] for name, term in recorded.terms(kind, layer).items()},
        None if bool(allowed.all()) else allowed,
        weights,
        recorded.products[kind, layer].factor,
        z.flatten(1),
        (before("q_pre"), before("k_pre")) if rotated else None,
        of_global=(of_global[0], of_global[1], of_global[2]) if of_global else None,
    )


def notes_of(recorded: Run, kind: Kind) -> list[str]:
    """How the scores of all layers differ from the scaled product of query and key, in a run that kept them."""
    notes = [map_note("vectors")]
    for (of_kind, layer), product in recorded.products.items():
        if of_kind != kind:
            continue
        root = recorded[kind, layer, "q"].shape[-1] ** -0.5
        terms = recorded.terms(kind, layer)
        if product.shared:
            notes.append(map_note("shared keys"))
        if abs(product.factor - root) > 1e-3 * root:
            notes.append(map_note("factor", factor=f"{product.factor:.3g}"))
        if "position" in terms:
            notes.append(map_note("distance term"))
        if "mask" in terms:
            notes.append(map_note("mask term"))
        if product.cap:
            notes.append(map_note("softcap", cap=f"{product.cap:g}"))
    return list(dict.fromkeys(notes))


def record_layer(recorder: Recorder, layer: AttentionLayer) -> None:
    """Record everything that :func:`attention_scores` reads."""
    names = layer.names
    recorder.record(layer.module)
    if names.out:
        recorder.record(layer.path(names.out))
    parts = [name.partition(":")[0] for name in names.parts.split()]
    if names.score == "lsh":
        parts += _hashed_projections(recorder.model.get_submodule(layer.module))
    recorder.record(*(f"{layer.module}.{name}" for name in parts))


def attention_scores(recorder: Recorder, layer: AttentionLayer, count: int = 0) -> AttentionScores:
    """The scores of a layer's attention in a run recorded after :func:`record_layer`.

    Args:
        count: the number of the call, where layers share modules.

    Raises:
        NoAttentionMatrix: an unknown variant of the scores.
    """
    calls, own = recorder.calls(layer.module), recorder.model.get_submodule(layer.module)
    call = calls[count] if calls else ModuleCall({}, (None,))  # parts of sparse attention are called one by one
    if layer.names.score == "lsh":
        return _lsh(recorder, layer, call)
    projected = [_projected(recorder, layer, name, count) for name in layer.names.parts.split()]
    width = projected[0].shape[-1] // layer.heads
    query, key, value = (by_head(vectors, width) for vectors in projected)
    factor = {"root": width**-0.5, "one": 1.0}.get(layer.names.scale) or float(own.scaling)  # type: ignore[arg-type]
    mask, joined = call.inputs.get(layer.names.mask), recorder.calls(layer.path(layer.names.out))[count].inputs
    scores = AttentionScores(
        query,
        spread(key, layer.heads),
        spread(value, layer.heads),
        {},
        # a mask that is added: 0 where a key may be attended to, hugely negative elsewhere
        None if mask is None else (mask[None] if mask.dim() < 3 else mask[0]) > -1,
        None if call.output[-1] is None else call.output[-1][0],
        factor,
        _first_row(next(iter(joined.values()))),
    )
    if layer.names.score == "rope":
        scores = _rotated(scores, key, *(part[0] for part in call.inputs["position_embeddings"]))
    scores.terms["content"] = scores.query @ scores.key.transpose(-1, -2) * factor
    return scores


def _projected(recorder: Recorder, layer: AttentionLayer, name: str, count: int) -> Tensor:
    """(n, w) the output of a projection for the first row."""
    name, _, part = name.partition(":")
    whole = _first_row(recorder.calls(f"{layer.module}.{name}")[count].output)
    if not part:
        return whole
    number, parts = (int(n) for n in part.split("/"))
    return whole.chunk(parts, dim=-1)[number]


def _first_row(tensor: Tensor) -> Tensor:
    """The first row of a batch; block-sparse BigBird has no batch axis."""
    return tensor[0] if tensor.dim() > 2 else tensor


def by_head(vectors: Tensor, width: int) -> Tensor:
    """(n, w) to (H, n, d)."""
    return vectors.reshape(len(vectors), -1, width).transpose(0, 1)


def spread(vectors: Tensor, heads: int) -> Tensor:
    """(fewer heads, n, d) repeated to (H, n, d)."""
    return vectors.repeat_interleave(heads // len(vectors), dim=0)


def rotate(vectors: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """(H, n, d) with the pairs of dimensions i and i + r/2 rotated; ``cos`` and ``sin`` are (n, r)."""
    width = sin.shape[-1]
    first = vectors[..., :width]
    lower, upper = first.chunk(2, dim=-1)
    return torch.cat((first * cos + torch.cat((-upper, lower), dim=-1) * sin, vectors[..., width:]), dim=-1)


def _rotated(scores: AttentionScores, key: Tensor, cos: Tensor, sin: Tensor) -> AttentionScores:
    return replace(
        scores,
        query=rotate(scores.query, cos, sin),
        key=spread(rotate(key, cos, sin), len(scores.query)),
        before_rope=(scores.query, key),
    )


def _hashed_projections(own: Any) -> tuple[str, ...]:
    """The names of the projections of a Reformer's layer, LSH or local."""
    return ("query_key", "value") if hasattr(own, "query_key") else ("query", "key", "value")


def _lsh(recorder: Recorder, layer: AttentionLayer, call: ModuleCall) -> AttentionScores:
    """Without the padding of the last chunk; the pass does not return weights, so they are computed here."""
    own: Any = recorder.model.get_submodule(layer.module)
    n, chunk = recorder.length, int(own.chunk_length)
    calls = (recorder.calls(f"{layer.module}.{name}")[0] for name in _hashed_projections(own))
    projected = [_first_row(projection.output)[:n] for projection in calls]
    query, *keys, value = (by_head(vectors, vectors.shape[-1] // layer.heads) for vectors in projected)
    factor = query.shape[-1] ** -0.5
    rounds: dict[str, Tensor] = {}
    if keys:
        (key,), allowed = keys, local_mask(query.shape[1], chunk)[None]
    else:
        key = query * torch.rsqrt(query.square().mean(-1, keepdim=True) + EPSILON)
        config = own.config
        rotation = rotations(layer.heads, query.shape[-1], int(config.num_hashes), int(config.num_buckets), SEED)
        times = count_shared_rounds(buckets_of(query[None], rotation)[0], chunk)
        allowed = with_itself(times) > 0
        if bool((times > 1).any()):
            rounds["rounds"] = times.clamp(min=1).log()
    scores = AttentionScores(
        query,
        key,
        value,
        {"content": query @ key.transpose(-1, -2) * factor} | rounds,
        allowed,
        None,
        factor,
        _first_row(call.output.hidden_states)[:n],
        shared=not keys,
    )
    return replace(scores, weights=scores.score.softmax(-1))
