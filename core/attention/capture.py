"""Captures all attention weights of a checkpoint over a text.

    A = softmax(Q Kᵀ / √d_k)

Encoders have one square map, decoders one lower-triangular map, encoder-decoders three: encoder, decoder, cross. XLNet
has three: over the whole text, and its two streams. Row i of a cross map is the token *predicted* at step i, so that
"chat" attends to "cat"; row i of the decoder's own map is the *input* token of step i (the start token first, the last
generated token never).

What is read is what the model's predictions read: with a task's prefix, a control code, its own mask token.
Generation is greedy, so the map is a function of the text. A decoder processes prompt and continuation as one text,
which has the same rows as the steps of the generation.

Sparse, hashed, recurrent and two-stream attention has maps of tokens x tokens, too:

    BigBird         blocks: window, global, random, sampled per layer and head
    Longformer      a window, and global tokens with projections of their own
    Reformer        hashing: the keys that share chunks with a query, counted over the rounds
    Transformer-XL  a segment and the memory before it
    XLNet           two streams: the content stream attends to its own token, the query stream does not

The maps are those of a run (`core.run`), of joined segments where there is a memory. Of an architecture whose modules
do not call its attention function they are the weights that the library returns, if those are shares of attention from
token to token.
Weights that are not computed are 0, with False in the map's ``allowed``.

Legend: L layers, H heads, n tokens, S source tokens, T target tokens, m predicted tokens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from core.arrays import Bools, Floats
from core.attention.layers import (
    has_blueprint,
    one_prediction,
    plan_of,
    refuse,
    weights_returned,
)
from core.attention.scores import attention_layers, notes_of
from core.attention.trace import AttentionMap, AttentionTrace, MapKind, frozen, map_note
from core.checkpoints.families.architectures import traits_in
from core.checkpoints.spec import Checkpoint
from core.errors import InputTooLong, OutOfRange
from core.language.adapters import through
from core.language.generate import generate
from core.language.inputs import Inputs, one_text, pair
from core.language.makers import MAX_GENERATED, inputs
from core.language.permuted import of_query_stream
from core.language.segments import run_text
from core.language.tokens import check_length, describe, special_positions
from core.language.types import Decoding, Token, labels
from core.lazy import Tensor, torch
from core.patterns import ranks
from core.patterns.layout import Sparsity
from core.run.model import Model
from core.run.run import Run
from core.settings import raised_with, settings
from core.sparse.longformer import sides_of
from core.words import counted


class _Axis(NamedTuple):
    """The tokens of an axis of a map."""

    names: tuple[str, ...]
    special: tuple[int, ...]


_WHOLE = 0.99
"""A row with a smaller sum lacks what a sink takes."""


def trace_of(given: Inputs, *, vectors: bool = False) -> AttentionTrace:
    """The maps of one pass over ``given``; a Reformer hashes with the seed 0.

    XLNet has two passes: over the whole text, and with all words predicted from left to right, where the content stream
    does not attend to later words. As two rows of one batch they would also need a query stream of the first and the
    tokenizer's segments in the second, which no view shows.

    Args:
        vectors: with queries and keys.

    Raises:
        InputTooLong, NoAttentionMatrix: as :func:`capture`.
    """
    _check(given.checkpoint, max(len(given.source), len(given.tokens)))
    maps = _maps(given, vectors=vectors)
    if given.checkpoint.spec.offers("two streams"):
        maps["encoder"] = replace(maps["encoder"], label="All words known")
        streams = _maps(_left_to_right(given), vectors=vectors)
        maps["decoder"] = replace(streams["decoder"], label="Content stream")
        maps["query"] = replace(streams["query"], label="Query stream")
    return AttentionTrace(given.checkpoint.spec.slug, **maps)


def _maps(given: Inputs, *, vectors: bool) -> dict[MapKind, AttentionMap]:
    """The maps of one pass by kind."""
    checkpoint, axes = given.checkpoint, _axes(given)
    if not plan_of(checkpoint).layers:
        if vectors:
            attention_layers(checkpoint)  # which says why they cannot be read
        return _returned_maps(given, axes)
    keep = {"pattern", "mask", *(("q", "k", "terms") if vectors else ())}
    with through(checkpoint, given.task):
        recorded = run_text(checkpoint.model, given.tensors, keep, edits=one_prediction(checkpoint))
    return {kind: _map_of(given, recorded, kind, *names) for kind, names in axes.items()}


def _axes(given: Inputs) -> dict[MapKind, tuple[_Axis, _Axis]]:
    """Rows and columns by kind."""
    tokenizer = given.checkpoint.tokenizer

    def axis(tokens: Sequence[Token]) -> _Axis:
        return _Axis(labels(tokens), special_positions(tokenizer, tokens))

    tokens = axis(given.tokens)
    if given.source:
        source = axis(given.source)
        return {"encoder": (source, source), "decoder": (tokens, tokens), "cross": (axis(given.output), source)}
    if "target_mapping" in given.tensors:
        return {"decoder": (tokens, tokens), "query": (axis([given.tokens[i] for i in given.positions]), tokens)}
    return {given.checkpoint.spec.family.sides[0]: (tokens, tokens)}


def _left_to_right(given: Inputs) -> Inputs:
    """All tokens but special ones are predicted, one after the other."""
    special = given.checkpoint.tokenizer.all_special_ids
    targets = [i for i, token in enumerate(given.tokens) if token.id not in special]
    return of_query_stream(given, ranks(targets, len(given.tokens)), targets)


def _rows(given: Inputs, kind: MapKind) -> slice:
    """The rows of a pass that a map has: of a cross-attention from the first predicted position on."""
    return slice(given.position, given.position + len(given.output)) if kind == "cross" else slice(None)


def _map_of(given: Inputs, recorded: Run, kind: MapKind, queries: _Axis, keys: _Axis) -> AttentionMap:
    """The map of one kind of attention."""
    checkpoint = given.checkpoint
    rows = _rows(given, kind)
    weights = _array(recorded.layers(kind, "pattern"), rows)
    allowed = _together(recorded.layers(kind, "mask"), rows)
    vectors = {name: recorded.layers(kind, name) for name in ("q", "k")}
    notes = [_note(checkpoint.model, recorded, kind, weights, everywhere=allowed is None)]
    if vectors["q"] and not has_blueprint(checkpoint):
        notes += notes_of(recorded, kind)
    return _between(
        given,
        kind,
        queries,
        keys,
        weights,
        allowed,
        note=" ".join(filter(None, notes)),
        queries=_array(vectors["q"], rows) if vectors["q"] else None,
        keys=_array(vectors["k"]) if vectors["k"] else None,
    )


def _returned_maps(given: Inputs, axes: Mapping[MapKind, tuple[_Axis, _Axis]]) -> dict[MapKind, AttentionMap]:
    """The maps that the library returns, of a model whose attention is its own."""
    maps: dict[MapKind, AttentionMap] = {}
    for kind, layers in weights_returned(given).items():
        queries, keys = axes[kind]
        causal = frozen(np.tri(len(keys.names), dtype=np.bool_)[None, None]) if kind == "decoder" else None
        weights = _array(layers, _rows(given, kind))
        maps[kind] = _between(given, kind, queries, keys, weights, causal)
    return maps


def _between(
    given: Inputs, kind: MapKind, rows: _Axis, columns: _Axis, weights: Floats, allowed: Bools | None, **more: Any
) -> AttentionMap:
    """The map of ``weights`` from the tokens of ``rows`` to those of ``columns``."""
    return AttentionMap(
        kind,
        rows.names,
        columns.names,
        weights,
        allowed,
        given.second,
        special_queries=rows.special,
        special_keys=columns.special,
        **more,
    )


def _array(layers: Sequence[Tensor], rows: slice = slice(None)) -> Floats:
    """The ``rows`` of a tensor (1, H, n, m) of each layer, as one array (L, H, rows, m)."""
    values: Floats = torch.cat(list(layers)).to("cpu", torch.float32).numpy()
    return frozen(np.ascontiguousarray(values[:, :, rows]))


def _together(masks: Sequence[Tensor], rows: slice) -> Bools | None:
    """The masks (L or 1, H or 1, Q, K) of all layers, None where none masks anything.

    An axis has length 1 where all layers or heads have the same.
    """
    shared = all(mask is masks[0] for mask in masks)
    layers: list[Bools] = [mask.numpy()[:1, :, rows] for mask in (masks[:1] if shared else masks)]
    if all(layer.all() for layer in layers):
        return None
    heads = max(layer.shape[1] for layer in layers)
    allowed = np.concatenate([np.broadcast_to(layer, (1, heads, *layer.shape[2:])) for layer in layers])
    for axis in (0, 1):
        first = allowed.take([0], axis)
        if allowed.shape[axis] > 1 and bool((allowed == first).all()):
            allowed = first
    return frozen(allowed)


def _note(model: Model, recorded: Run, kind: MapKind, weights: Floats, *, everywhere: bool) -> str:
    """What is unusual about the rows and columns of a map."""
    traits = traits_in(model.config)
    if "blocks" in traits and model.config.attention_type == "block_sparse":
        sparsity = Sparsity.of(model.config)
        if everywhere:
            return map_note("few blocks", count=sparsity.count_blocks(weights.shape[-1]), size=sparsity.block_size)
        return map_note("blocks", size=sparsity.block_size)
    if "window" in traits:
        sides = sides_of(model)
        width = str(sides[0]) if len(set(sides)) == 1 else f"{min(sides)} to {max(sides)}, by layer,"
        return map_note("window", width=width)
    if "hashing" in traits:
        return map_note("buckets")
    if "memory" in traits:
        return map_note("segments")
    if "two streams" in traits:
        return "" if kind == "encoder" else map_note(f"{'query' if kind == 'query' else 'content'} stream")
    sinks = any(product.sinks for (of_kind, _), product in recorded.products.items() if of_kind == kind)
    return map_note("sinks") if sinks and weights.sum(-1).min(initial=1.0) < _WHOLE else ""


def capture(
    checkpoint: Checkpoint,
    text: str,
    text_b: str | None = None,
    target: str | None = None,
    *,
    task: str | None = None,
    like: str | None = None,
    count: int = 0,
    vectors: bool = False,
) -> AttentionTrace:
    """The attention of ``checkpoint`` over ``text``, as the maker of its family reads it.

    Args:
        text_b: a second text for an encoder.
        target: an encoder-decoder's output, by default its own greedy one.
        task: of an encoder-decoder, by default its first, or whose adapters are used, by default none.
        like: another text, whose output an encoder-decoder is given.
        count: the most tokens that a decoder generates after the text; they are rows and columns, too.
        vectors: with queries and keys of the same pass.

    Raises:
        InputEmpty: there is no text, or no token of it.
        InputTooLong: more tokens than the model has positions or than ``ATLAS_MAX_ATTENTION_TOKENS``.
        NoAttentionMatrix: the architecture has no attention matrix, or its queries and keys cannot be read.
        OutOfRange: there are no adapters for this task, or ``count`` is negative or above :data:`MAX_GENERATED`.
        InputUnusable, UnknownTask: as of `core.language.makers.inputs`.
    """
    if not 0 <= count <= MAX_GENERATED:
        raise OutOfRange(f"The model can generate 0 to {MAX_GENERATED} tokens here, not {count}.")
    refuse(checkpoint.model.config.model_type)
    given = inputs(checkpoint, text, task, second=text_b, target="" if like else target, joined=True)
    if like:
        output = inputs(checkpoint, like, task).output
        prompt = [token.id for token in given.tokens]
        given = pair(checkpoint, given.source, prompt, [token.id for token in output], given.text)
    return trace_of(_continued(given, text, count) if count else given, vectors=vectors)


def _continued(given: Inputs, text: str, count: int) -> Inputs:
    """A decoder's prompt and at most ``count`` generated tokens."""
    if len(given.tokens) + count > (most := settings().max_attention_tokens):
        raise InputTooLong(
            f"This text has {counted(len(given.tokens), 'token')}, and {count} more to come; attention is drawn for up "
            f"to {most}. A shorter text works. {raised_with('max_attention_tokens')}"
        )
    steps = generate(given.checkpoint, text, Decoding(max_new_tokens=count))
    generated = describe(given.checkpoint.tokenizer, [step.token.id for step in steps])
    return one_text(given.checkpoint, (*given.tokens, *generated), text=given.text)


def _check(checkpoint: Checkpoint, count: int) -> None:
    """Raise InputTooLong where ``count`` tokens exceed the model's positions or the limit of the figure."""
    check_length(checkpoint, count)
    if count > (most := settings().max_attention_tokens):
        raise InputTooLong(
            f"This text has {count:,} tokens; attention is drawn for up to {most}. "
            f"A text of about {most * 2 // 3} words or fewer works. {raised_with('max_attention_tokens')}"
        )
