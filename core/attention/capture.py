"""Captures all attention weights of a checkpoint over a text.

    A = softmax(Q Kᵀ / √d_k)

Encoders have one square map, decoders one lower-triangular map, encoder-decoders three: encoder, decoder, cross. XLNet
has three: over the whole text, and its two streams. Row i of a cross map is the token *predicted* at step i, so that
"chat" attends to "cat"; row i of the decoder's own map is the *input* token of step i (the start token first, the last
generated token never).

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
from typing import Any

import numpy as np

from core.arrays import Bools, Floats
from core.attention.layers import (
    has_blueprint,
    library_errors,
    plan_of,
    refuse,
    weights_returned,
)
from core.attention.scores import attention_layers, notes_of, stacked
from core.attention.tokens import labels
from core.attention.trace import AttentionMap, AttentionTrace, MapKind, frozen, map_note
from core.checkpoints.families.architectures import has
from core.checkpoints.spec import Checkpoint
from core.errors import InputEmpty, InputTooLong, NoAttentionMatrix, OutOfRange
from core.language.adapters import through
from core.language.generate import generate, prompt_ids
from core.language.permuted import streams
from core.language.segments import has_memory, run_text
from core.language.text import clean
from core.language.tokens import check_length, max_tokens, own_language, tokenize
from core.language.translate import prepare, rewrite, start_token
from core.language.types import Decoding, Token
from core.lazy import Tensor, torch
from core.patterns import ranks
from core.patterns.layout import Sparsity
from core.run.run import Run
from core.settings import raised_with, settings
from core.sparse.longformer import sides_of
from core.words import counted

Tokens = tuple[str, ...]
_WHOLE = 0.99
"""A row with a smaller sum lacks what a sink takes."""


def own_maps(
    checkpoint: Checkpoint,
    inputs: Mapping[str, Any],
    axes: Mapping[MapKind, tuple[Tokens, Tokens]],
    *,
    vectors: bool,
    first: int = 0,
) -> dict[MapKind, AttentionMap]:
    """The maps of one text by kind; a Reformer hashes with the seed 0.

    Args:
        inputs: as for `core.attention.scores.scores_by_layer`.
        axes: the labels of rows and columns.
        vectors: with queries and keys.
        first: the decoder's row of the first row of the cross-attention.
    """
    if not plan_of(checkpoint).layers:
        if vectors:
            attention_layers(checkpoint)  # which says why they cannot be read
        return _returned_maps(checkpoint, inputs, axes, first)
    keep = {"pattern", "mask", *(("q", "k", "terms") if vectors else ())}
    with library_errors(checkpoint.model):
        recorded = run_text(checkpoint.model, inputs, keep)
    return {kind: _map_of(checkpoint, recorded, kind, *names, first=first) for kind, names in axes.items()}


def _map_of(
    checkpoint: Checkpoint, recorded: Run, kind: MapKind, queries: Tokens, keys: Tokens, *, first: int
) -> AttentionMap:
    """The map of one kind of attention; of a cross-attention from the decoder's row ``first`` on."""
    rows = slice(first, first + len(queries)) if kind == "cross" else slice(None)
    weights = stacked([pattern[0, :, rows] for pattern in recorded.layers(kind, "pattern")])
    allowed = _together([mask[0, :, rows].numpy() for mask in recorded.layers(kind, "mask")], weights)
    vectors = {name: [part[0] for part in recorded.layers(kind, name)] for name in ("q", "k")}
    notes = [_note(checkpoint.model, kind, weights, everywhere=bool(allowed.all()))]
    if vectors["q"] and not has_blueprint(checkpoint):
        notes += notes_of(recorded, kind)
    return AttentionMap(
        kind,
        queries,
        keys,
        weights,
        None if allowed.all() else allowed,
        note=" ".join(filter(None, notes)),
        queries=stacked([part[:, rows] for part in vectors["q"]]) if vectors["q"] else None,
        keys=stacked(vectors["k"]) if vectors["k"] else None,
    )


def _returned_maps(
    checkpoint: Checkpoint, inputs: Mapping[str, Any], axes: Mapping[MapKind, tuple[Tokens, Tokens]], first: int
) -> dict[MapKind, AttentionMap]:
    """The maps that the library returns, of a model whose attention is its own; arguments as of :func:`own_maps`."""
    maps: dict[MapKind, AttentionMap] = {}
    for kind, layers in weights_returned(checkpoint, inputs).items():
        queries, keys = axes[kind]
        causal = frozen(np.tri(len(keys), dtype=np.bool_)[None, None]) if kind == "decoder" else None
        weights = stacked([layer[0, :, first if kind == "cross" else 0 :] for layer in layers])
        maps[kind] = AttentionMap(kind, queries, keys, weights, causal)
    return maps


def _together(allowed: Sequence[Any], weights: Floats) -> Bools:
    """The masks of all layers, with an axis of length 1 where all layers or heads have the same."""
    whole = np.stack([np.broadcast_to(own, weights.shape[1:]) for own in allowed])
    for axis in (0, 1):
        first = whole.take([0], axis)
        whole = first if (whole == first).all() else whole
    return frozen(whole)


def _note(model: Any, kind: MapKind, weights: Floats, *, everywhere: bool) -> str:
    """What is unusual about the rows and columns of a map."""
    if has(model.config, "blocks") and model.config.attention_type == "block_sparse":
        sparsity = Sparsity.of(model.config)
        if everywhere:
            return map_note("few blocks", count=sparsity.count_blocks(weights.shape[-1]), size=sparsity.block_size)
        return map_note("blocks", size=sparsity.block_size)
    if has(model.config, "window"):
        sides = sides_of(model)
        width = str(sides[0]) if len(set(sides)) == 1 else f"{min(sides)} to {max(sides)}, by layer,"
        return map_note("window", width=width)
    if has(model.config, "hashing"):
        return map_note("buckets")
    if has_memory(model):
        return map_note("segments")
    if has(model.config, "two streams"):
        return "" if kind == "encoder" else map_note(f"{'query' if kind == 'query' else 'content'} stream")
    return map_note("sinks") if weights.sum(-1).min(initial=1.0) < _WHOLE else ""


def two_streams(
    checkpoint: Checkpoint, ids: Tensor, tokens: Tokens, known: Sequence[int], *, vectors: bool
) -> tuple[AttentionMap, AttentionMap]:
    """The content stream (L, H, n, n) and the query stream (L, H, m, n) of one pass, from left to right.

    Args:
        known: positions of context from the start; all others are predicted one after the other.
    """
    targets = [position for position in range(len(tokens)) if position not in set(known)]
    axes: dict[MapKind, tuple[Tokens, Tokens]] = {"decoder": (tokens, tokens)}
    axes["query"] = tuple(tokens[i] for i in targets), tokens
    inputs = {"input_ids": ids, **streams(ids, ranks(targets, len(tokens)), targets)}
    maps = own_maps(checkpoint, inputs, axes, vectors=vectors)
    return replace(maps["decoder"], label="Content stream"), replace(maps["query"], label="Query stream")


MAX_NEW_TOKENS = 64
"""The most tokens that an encoder-decoder generates without a target."""


def capture(
    checkpoint: Checkpoint,
    text: str,
    text_b: str | None = None,
    target: str | None = None,
    *,
    vectors: bool = False,
    adapters: str | None = None,
) -> AttentionTrace:
    """The attention of ``checkpoint`` over ``text``.

    ``text_b`` is a second segment for an encoder. ``target`` is an encoder-decoder's output, by default its own greedy
    one. With ``vectors`` the maps have queries and keys of the same pass. ``adapters`` is the task whose adapters
    are used, by default none. The shared model is not changed.

    Raises:
        InputEmpty: there is no text, or no token of it.
        InputTooLong: more tokens than the model has positions or than ``ATLAS_MAX_ATTENTION_TOKENS``.
        NoAttentionMatrix: the architecture has no attention matrix, or its queries and keys cannot be read.
        OutOfRange: there are no adapters for this task.
    """
    spec, model = checkpoint.spec, checkpoint.model
    refuse(model.config.model_type)
    if spec.offers("rewrites"):
        return _encoder_decoder(checkpoint, text, target, vectors=vectors)
    if spec.offers("continues"):
        return capture_ids(checkpoint, _tokenize(checkpoint, text)[0]["input_ids"][0].tolist(), vectors=vectors)
    with torch.inference_mode(), through(checkpoint, adapters):
        inputs, second = _tokenize(checkpoint, text, text_b)
        ids = inputs["input_ids"]
        tokens = labels(checkpoint.tokenizer, ids[0].tolist())
        inputs |= own_language(model, ids)
        own = own_maps(checkpoint, inputs, {"encoder": (tokens, tokens)}, vectors=vectors)["encoder"]
        trace = AttentionTrace(spec.slug, encoder=replace(own, second=second))
        if not spec.offers("two streams"):
            return trace
        known = [i for i, number in enumerate(ids[0].tolist()) if number in checkpoint.tokenizer.all_special_ids]
        content, query = two_streams(checkpoint, ids, tokens, known, vectors=vectors)
        whole = replace(own, second=second, label="All words known")
        return replace(trace, encoder=whole, decoder=content, query=query)


def tokens_of(checkpoint: Checkpoint, text: str, trace: AttentionTrace) -> tuple[Token, ...]:
    """The tokens of ``text``, which must be those of the trace's own map.

    Raises:
        NoAttentionMatrix: the map has other tokens.
    """
    tokens = tokenize(checkpoint, text)
    if len(tokens) != len(trace.own.key_tokens):
        raise NoAttentionMatrix(f"The attention of {checkpoint.spec.name} is not over the tokens of the sentence.")
    return tokens


def capture_ids(checkpoint: Checkpoint, ids: Sequence[int], *, vectors: bool = False) -> AttentionTrace:
    """The map of a decoder over a text of these token ids.

    Raises:
        InputTooLong, NoAttentionMatrix: as :func:`capture`.
    """
    inputs = torch.tensor([_checked(checkpoint, list(ids))])
    tokens = labels(checkpoint.tokenizer, ids)
    given = {"input_ids": inputs, "attention_mask": torch.ones_like(inputs)}
    maps = own_maps(checkpoint, given, {"decoder": (tokens, tokens)}, vectors=vectors)
    return AttentionTrace(checkpoint.spec.slug, decoder=maps["decoder"])


def _encoder_decoder(checkpoint: Checkpoint, text: str, target: str | None, *, vectors: bool) -> AttentionTrace:
    model, tokenizer = checkpoint.model, checkpoint.tokenizer
    inputs, _ = _tokenize(checkpoint, text)
    if target is None:
        room = min(MAX_NEW_TOKENS, max_tokens(checkpoint) or MAX_NEW_TOKENS)
        with torch.inference_mode():
            # the library's cache has a place for each layer of T5's encoder, not of its decoder
            output = model.generate(**inputs, do_sample=False, num_beams=1, max_new_tokens=room, use_cache=False)
        first, *generated = output[0].tolist()
    elif (start := start_token(model)) is not None:
        first, generated = start, tokenizer(text_target=clean(target), verbose=False)["input_ids"]
    else:
        raise NoAttentionMatrix("This model does not say which token its decoder starts with, so no target works.")
    return capture_pair(checkpoint, inputs["input_ids"][0].tolist(), [first], generated, vectors=vectors)


def capture_pair(
    checkpoint: Checkpoint,
    source: Sequence[int],
    prompt: Sequence[int],
    generated: Sequence[int],
    *,
    vectors: bool = False,
) -> AttentionTrace:
    """The three maps of an encoder-decoder for ``source`` and the output ``generated``, all as ids.

    ``prompt`` has the decoder's initial ids: the start token, and a forced language token. The last generated token is
    never an input, the first token of the prompt never predicted.

    Raises:
        InputTooLong, NoAttentionMatrix: as :func:`capture`.
    """
    read = _checked(checkpoint, [*prompt, *generated][:-1])
    ids = torch.tensor([_checked(checkpoint, list(source))])
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "decoder_input_ids": torch.tensor([read])}
    sources, target = labels(checkpoint.tokenizer, source), labels(checkpoint.tokenizer, [*prompt, *generated])
    reads = target[: len(read)]
    first = len(prompt) - 1  # the row of the prompt's last token predicts the first generated one
    axes: dict[MapKind, tuple[Tokens, Tokens]] = {
        "encoder": (sources, sources),
        "decoder": (reads, reads),
        "cross": (target[len(prompt) :], sources),
    }
    maps = own_maps(checkpoint, inputs, axes, vectors=vectors, first=first)
    return AttentionTrace(checkpoint.spec.slug, maps["encoder"], maps["decoder"], maps["cross"])


def _tokenize(
    checkpoint: Checkpoint, text: str, text_b: str | None = None
) -> tuple[dict[str, torch.Tensor], int | None]:
    """The tokenizer's inputs, shape (1, n), and the first token of the second text."""
    newlines = checkpoint.spec.offers("continues")
    pair = [clean(part, newlines=newlines) for part in (text, text_b or "") if part is text or part.strip()]
    tokenizer = checkpoint.tokenizer
    encoding = tokenizer(*pair, verbose=False)
    ids = _checked(checkpoint, encoding["input_ids"])
    if set(ids) <= set(tokenizer.all_special_ids) - {tokenizer.unk_token_id, tokenizer.mask_token_id}:
        raise InputEmpty("The tokenizer gives no token for this text. Type a few words, or choose a sample.")
    second = _second(tokenizer, encoding, pair[1]) if len(pair) > 1 else None
    return {name: torch.tensor([values]) for name, values in encoding.items()}, second


def _second(tokenizer: Any, encoding: Any, text: str) -> int | None:
    """The first token of the second text; for slow tokenizers its tokens are searched for."""
    if encoding.is_fast:
        halves = encoding.sequence_ids()
        return halves.index(1) if 1 in halves else None
    ids, own = encoding["input_ids"], tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
    starts = [at for at in range(1, len(ids) - len(own) + 1) if own and ids[at : at + len(own)] == own]
    return starts[-1] if starts else None


def _checked(checkpoint: Checkpoint, ids: list[int]) -> list[int]:
    """``ids``; raises InputTooLong where they exceed the model's positions or the limit of the figure."""
    check_length(checkpoint, len(ids))
    if len(ids) > (most := settings().max_attention_tokens):
        raise InputTooLong(
            f"This text has {len(ids):,} tokens; attention is drawn for up to {most}. "
            f"A text of about {most * 2 // 3} words or fewer works. {raised_with('max_attention_tokens')}"
        )
    return ids


def continued(checkpoint: Checkpoint, text: str, count: int, *, vectors: bool = False) -> AttentionTrace:
    """The decoder's map over ``text`` and at most ``count`` generated tokens.

    Raises:
        OutOfRange: ``count`` is negative or above :data:`MAX_NEW_TOKENS`.
        InputEmpty, InputTooLong, NoAttentionMatrix: as :func:`core.attention.capture.capture`.
    """
    if not 0 <= count <= MAX_NEW_TOKENS:
        raise OutOfRange(f"The model can generate 0 to {MAX_NEW_TOKENS} tokens here, not {count}.")
    refuse(checkpoint.model.config.model_type)
    if count == 0:
        return capture(checkpoint, text, vectors=vectors)
    prompt = prompt_ids(checkpoint, text)
    if len(prompt) + count > (most := settings().max_attention_tokens):
        raise InputTooLong(
            f"This text has {counted(len(prompt), 'token')}, and {count} more to come; attention is drawn for up to "
            f"{most}. A shorter text works. {raised_with('max_attention_tokens')}"
        )
    steps = generate(checkpoint, text, Decoding(max_new_tokens=count))
    return capture_ids(checkpoint, [*prompt, *(step.token.id for step in steps)], vectors=vectors)


def rewritten(
    checkpoint: Checkpoint, text: str, task: str, *, like: str | None = None, vectors: bool = False
) -> AttentionTrace:
    """The three maps of an encoder-decoder over ``text`` and its output for ``task``.

    Args:
        like: another text whose output is used instead.

    Raises:
        UnknownTask, InputEmpty, InputTooLong, InputUnusable, NoAttentionMatrix: in sentences, as usual.
    """
    request = prepare(checkpoint, text, task)
    steps = list(rewrite(checkpoint, text if like is None else like, task, Decoding(max_new_tokens=MAX_NEW_TOKENS)))
    return capture_pair(checkpoint, request.source, request.prompt, [step.token.id for step in steps], vectors=vectors)
