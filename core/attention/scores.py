r"""Attention scores by each architecture's published formula, recomputed from its queries and keys.

    weights = softmax( sum of the terms over the allowed keys )

==============  ====================================================================================================
dot_product     :math:`q_i \cdot k_j / \sqrt d` (Vaswani et al. 2017)
relative_bias   :math:`q_i \cdot k_j + b_{j-i}`, a number for the bucket of the distance (T5: Raffel et al. 2020)
local           as dot_product, where the module itself masks what comes later (GPT: Radford et al. 2018); without the
                root, in every other layer for the last tokens only (GPT-Neo: Black et al. 2021)
rope            :math:`R_i q_i \cdot R_j k_j / \sqrt d`, pairs of numbers rotated by an angle that grows with the
                position (Su et al. 2021), where several heads may share a key (Ainslie et al. 2023)
disentangled    content and distance by themselves: `core.attention.disentangled`
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

from dataclasses import dataclass

from core.attention.layers import one_prediction, plan_of, refuse
from core.attention.trace import MapKind, map_note
from core.checkpoints.spec import Checkpoint
from core.errors import NoAttentionMatrix
from core.language.inputs import Inputs
from core.language.segments import SEGMENT, run_text
from core.lazy import Tensor, torch
from core.run.prepare import AttentionLayer
from core.run.run import Kind, Run, Site

_GLOBAL = ("q_global", "k_global", "v_global")


@dataclass(frozen=True, slots=True)
class AttentionScores:
    """One attention over one text, from the first row of the batch."""

    query: Tensor  # (H, Q, d), as it enters the score's first term
    key: Tensor  # (H, K, d), repeated where heads share keys
    value: Tensor  # (H, K, d)
    terms: dict[str, Tensor]  # (H, Q, K) each, scaled: their sum is the score
    allowed: Tensor | None  # (H or 1, Q, K) True where a key may be attended to; None for everywhere
    weights: Tensor  # (H, Q, K), as the model computed them
    factor: float
    """The factor of the product of query and key."""
    attention_output: Tensor  # (Q, w), as it enters the output's projection
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


def by_head(vectors: Tensor, width: int) -> Tensor:
    """(n, w) to (H, n, d)."""
    return vectors.reshape(len(vectors), -1, width).transpose(0, 1)


def rotate(vectors: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """(H, n, d) with the pairs of dimensions i and i + r/2 rotated; ``cos`` and ``sin`` are (n, r)."""
    width = sin.shape[-1]
    first = vectors[..., :width]
    lower, upper = first.chunk(2, dim=-1)
    return torch.cat((first * cos + torch.cat((-upper, lower), dim=-1) * sin, vectors[..., width:]), dim=-1)


def attention_layers(checkpoint: Checkpoint) -> dict[MapKind, tuple[AttentionLayer, ...]]:
    """The attention layers of a checkpoint by kind.

    Raises:
        NoAttentionMatrix: the architecture has no attention matrix, or its scores are unknown.
    """
    plan = plan_of(checkpoint)
    for stack in plan.stacks:
        refuse(stack.type)
    if not plan.layers:
        raise NoAttentionMatrix(
            f"{checkpoint.spec.name} is of the type “{plan.stacks[0].type[:40]}”, whose queries, keys and heads cannot "
            "be read here. Models such as BERT, GPT-2, LLaMA, T5 and BART work."
        )
    return plan.layers


def scores_by_layer(
    inputs: Inputs, segment: int = SEGMENT
) -> dict[MapKind, list[tuple[AttentionLayer, AttentionScores]]]:
    """The scores of every attention layer in one pass, by kind.

    Kinds and rows are those of the maps of `core.attention.capture`, but for a cross-attention's rows, which are here
    all of the decoder's: with a ``target_mapping`` XLNet's streams are ``decoder`` and ``query``, the latter with a row
    for each target; a long text of a Transformer-XL is read in segments, and a remembered token has the key of its own
    segment.

    Args:
        segment: tokens of such a segment.

    Raises:
        NoAttentionMatrix: an architecture without queries and keys, or with unknown scores.
    """
    by_kind, model = attention_layers(inputs.checkpoint), inputs.checkpoint.model
    recorded = run_text(model, inputs.tensors, KEPT, segment=segment, edits=one_prediction(inputs.checkpoint))
    if "target_mapping" in inputs.tensors:  # both streams of each layer
        layers = tuple(layer for of_kind in by_kind.values() for layer in of_kind)
        by_kind = {"decoder": layers, "query": layers}
    return {
        kind: [(layer, scores_of(recorded, kind, layer.layer)) for layer in of_kind]
        for kind, of_kind in by_kind.items()
    }
