"""Query and key vectors as they enter the scores, of every layer and head.

    score(i, j) = factor · q_i · k_j  (+ further terms, by architecture: `core.attention.architectures.scores`)

Queries are not scaled; the factor is separate. They are rotated under RoPE (LLaMA), so ``factor * q @ k.T`` is the
first term of the score (except in rows of Longformer's global tokens).

Legend: L layers, H heads, Q query tokens, K key tokens, d head dimension.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from core.attention.architectures.layout import library_errors, plan_of, refuse
from core.attention.architectures.recording import Recorder, private_twin, run_as_drawn
from core.attention.architectures.scores import KEPT, AttentionScores, attention_scores, record_layer, scores_of
from core.attention.trace import AttentionMap, AttentionTrace, Floats, MapKind, frozen
from core.checkpoints.spec import Checkpoint
from core.errors import ScoresUnreadable
from core.language.segments import SEGMENT, run_text
from core.lazy import Tensor, torch
from core.run.prepare import AttentionLayer


def attention_layers(checkpoint: Checkpoint) -> dict[MapKind, tuple[AttentionLayer, ...]]:
    """The attention layers of a checkpoint by kind.

    Raises:
        NoAttentionMatrix: the architecture has no attention matrix, or its scores are unknown.
    """
    plan = plan_of(checkpoint)
    for stack in plan.stacks:
        refuse(stack.type)
    if not plan.layers:
        raise ScoresUnreadable(
            f"{checkpoint.spec.name} is of the type “{plan.stacks[0].type[:40]}”, whose queries, keys and heads cannot "
            "be read here. Models such as BERT, GPT-2, LLaMA, T5 and BART work."
        )
    return plan.layers


def attach_vectors(
    trace: AttentionTrace, checkpoint: Checkpoint, inputs: Mapping[str, Any], first: int = 0
) -> AttentionTrace:
    """``trace`` with the queries and keys of its maps.

    Args:
        inputs: the inputs of the trace, as for :func:`scores_by_layer`.
        first: the decoder's row of the first row of the trace's cross-attention.
    """
    scores = scores_by_layer(checkpoint, inputs)

    def with_vectors(drawn: AttentionMap | None) -> AttentionMap | None:
        if drawn is None or drawn.kind not in scores:
            return drawn
        layers = [of_layer for _, of_layer in scores[drawn.kind]]
        queries = stacked([layer.query for layer in layers])
        if drawn.crosses:
            queries = queries[:, :, first : first + len(drawn.query_tokens)]
        return replace(drawn, queries=queries, keys=stacked([layer.key for layer in layers]))

    return AttentionTrace(
        trace.checkpoint, *map(with_vectors, (trace.encoder, trace.decoder, trace.cross, trace.query))
    )


def scores_by_layer(
    checkpoint: Checkpoint, inputs: Mapping[str, Any], segment: int = SEGMENT
) -> dict[MapKind, list[tuple[AttentionLayer, AttentionScores]]]:
    """The scores of every attention layer in one pass, by kind.

    Args:
        checkpoint: its shared model is only read.
        inputs: tensors of one row, named as the model's forward pass takes them. Kinds and rows are those of the maps
            of `core.attention.capture`, but for a cross-attention's rows, which are here all of the decoder's: with a
            ``target_mapping`` XLNet's streams are ``decoder`` and ``query``, the latter with a row for each target; a
            long text of a Transformer-XL is read in segments, and a remembered token has the key of its own segment.
        segment: tokens of such a segment.

    Raises:
        NoAttentionMatrix: an architecture without queries and keys, or with unknown scores.
    """
    by_kind = attention_layers(checkpoint)
    layers = [layer for of_kind in by_kind.values() for layer in of_kind]
    if plan_of(checkpoint).attends:
        with library_errors(checkpoint.model):
            recorded = run_text(checkpoint.model, inputs, KEPT, segment=segment)
        if inputs.get("target_mapping") is not None:  # both streams of each layer
            by_kind = {"decoder": tuple(layers), "query": tuple(layers)}
        return {
            kind: [(layer, scores_of(recorded, kind, layer.layer)) for layer in of_kind]
            for kind, of_kind in by_kind.items()
        }
    recorder = Recorder(private_twin(checkpoint))
    for layer in layers:
        record_layer(recorder, layer)
    scores: dict[MapKind, list[tuple[AttentionLayer, AttentionScores]]] = {}
    run_as_drawn(recorder, inputs)
    calls: Counter[str] = Counter()
    with torch.inference_mode():
        for layer in layers:
            scores.setdefault(layer.kind, []).append((layer, attention_scores(recorder, layer, calls[layer.module])))
            calls[layer.module] += 1
    return scores


def stacked(layers: Sequence[Tensor]) -> Floats:
    """A tensor for each layer as one array, read-only."""
    return frozen(np.stack([layer.float().cpu().numpy() for layer in layers]))
