"""Attention over what a model writes on its own: a decoder's continuation, an encoder-decoder's answer to a task.

Both write greedily, so the same text gives the same picture.

Attention over generated text, put together from the rows that each step of generation computed.

With a key-value cache the first step computes the rows of the whole prompt, shape (L, H, q, q), and every later step
one row more, (L, H, 1, k). Written below each other they are the lower triangle of one (L, H, n, n) map, where n counts
the prompt's tokens and all steps but the last, whose token was produced but not read and has no row yet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from core.attention.architectures import model_masks
from core.attention.architectures.layout import refuse
from core.attention.architectures.model_masks import allowed
from core.attention.architectures.shapes import reformer, remembered
from core.attention.capture import MAX_NEW_TOKENS, MAX_TOKENS, capture, capture_pair
from core.attention.tokens import labels
from core.attention.trace import AttentionMap, AttentionTrace, frozen
from core.checkpoints.families.architectures import has
from core.checkpoints.spec import Checkpoint
from core.errors import InputTooLong, NoAttentionMatrix, OutOfRange
from core.language.generate import generate, prompt_ids
from core.language.segments import SEGMENT, longest_memory, remembers
from core.language.translate import prepare, rewrite
from core.language.types import Decoding, GenerationStep
from core.patterns import causal, mask


def continued(checkpoint: Checkpoint, text: str, count: int, *, vectors: bool = False) -> AttentionTrace:
    """The decoder's map over ``text`` and ``count`` tokens that it wrote after it, stitched from the steps.

    One step more is run than tokens are shown, because a token's row is computed when it is read. Fewer tokens are
    shown where the model ends its text.

    Raises:
        OutOfRange: ``count`` is negative or above :data:`MAX_NEW_TOKENS`.
        InputEmpty, InputTooLong, NoAttentionMatrix: as :func:`core.attention.capture.capture`.
    """
    import torch

    if not 0 <= count <= MAX_NEW_TOKENS:
        raise OutOfRange(f"From 0 to {MAX_NEW_TOKENS} tokens can be written here, not {count}.")
    refuse(checkpoint.model.config.model_type)
    if count == 0:
        return capture(checkpoint, text, vectors=vectors)
    prompt = prompt_ids(checkpoint, text)
    if len(prompt) + count > MAX_TOKENS:
        raise InputTooLong(
            f"This text has {len(prompt):,} tokens and {count} more are to follow; attention is drawn for up to "
            f"{MAX_TOKENS}. A shorter text works."
        )
    if has(checkpoint.model.config, "hashing"):  # reads the whole text anew for every token: no rows to stitch
        ids = [*prompt, *(step.token.id for step in generate(checkpoint, text, Decoding(max_new_tokens=count)))]
        whole = reformer(checkpoint.model, torch.tensor([ids]), labels(checkpoint.tokenizer, ids))
        trace = AttentionTrace(checkpoint.spec.slug, decoder=whole)
        return _with_vectors(trace, checkpoint, ids) if vectors else trace
    steps = list(generate(checkpoint, text, Decoding(max_new_tokens=count + 1)))
    written = labels(checkpoint.tokenizer, [step.token.id for step in steps])
    found = stitched(checkpoint.model, steps, labels(checkpoint.tokenizer, prompt), written)
    trace = AttentionTrace(checkpoint.spec.slug, decoder=found)
    if not vectors:
        return trace
    return _with_vectors(trace, checkpoint, [*prompt, *(step.token.id for step in steps)][:-1], len(prompt))


def stitched(
    model: Any, steps: Sequence[GenerationStep], prompt: Sequence[str], written: Sequence[str] | None = None
) -> AttentionMap:
    """:func:`stitch`, with what the model did not compute beyond that, and what is unusual."""
    found = stitch(steps, prompt, written)
    n = len(found.key_tokens)
    if remembers(model):  # it reads the prompt in segments, then every token alone
        seen = remembered(n, _starts(len(prompt), n), longest_memory(model))
    else:
        seen = allowed(model.config, n)
    return replace(found, allowed=seen, note=model_masks.note(model, found.weights))


def _with_vectors(
    trace: AttentionTrace, checkpoint: Checkpoint, ids: list[int], prompt: int | None = None
) -> AttentionTrace:
    """``trace`` with queries and keys; a model with a memory reads its ``prompt`` tokens and the others as it wrote."""
    import torch

    from core.attention.architectures.vectors import attach

    pieces = None
    if prompt is not None and remembers(checkpoint.model):
        starts = _starts(prompt, len(ids))
        pieces = [end - start for start, end in zip(starts, [*starts[1:], len(ids)], strict=True)]
    return attach(trace, checkpoint, {"input_ids": torch.tensor([ids])}, pieces=pieces)


def _starts(prompt: int, n: int) -> list[int]:
    """Where the segments begin in which n tokens were read, ``prompt`` of them before anything was written."""
    return [*range(0, prompt, SEGMENT), *range(prompt, n)]


def rewritten(
    checkpoint: Checkpoint, text: str, task: str, *, like: str | None = None, vectors: bool = False
) -> AttentionTrace:
    """The three maps of an encoder-decoder over ``text`` and its answer to ``task``.

    Args:
        like: another text, whose answer is read in place of its own.

    Raises:
        UnknownTask, InputEmpty, InputTooLong, InputUnusable, NoAttentionMatrix: in sentences, as usual.
    """
    request = prepare(checkpoint, text, task)
    steps = list(rewrite(checkpoint, text if like is None else like, task, Decoding(max_new_tokens=MAX_NEW_TOKENS)))
    return capture_pair(checkpoint, request.source, request.prompt, [step.token.id for step in steps], vectors=vectors)


_NO_ROWS = (
    "These steps carry no attention: beam search rereads several texts at once, and some models give no rows step by "
    "step. Choose greedy decoding or sampling, or a text without a continuation."
)


def stitch(
    steps: Sequence[GenerationStep], prompt_tokens: Sequence[str], generated_tokens: Sequence[str] | None = None
) -> AttentionMap:
    """The decoder's self-attention over prompt and generated tokens, (L, H, n, n), zero above the diagonal.

    ``prompt_tokens`` are the labels of what the decoder read before the first step (for an encoder-decoder the start
    token alone); ``generated_tokens`` the labels of the chosen tokens, by default their texts.

    Raises:
        NoAttentionMatrix: a step carries no attention, or the rows have a gap.
        InputTooLong: more than ``MAX_TOKENS`` tokens in all.
    """
    if generated_tokens is None:
        generated_tokens = [step.token.text.replace(" ", "␣").replace("\n", "↵") for step in steps]
    assert len(generated_tokens) == len(steps)
    tokens = (*prompt_tokens, *generated_tokens[:-1])
    n = len(tokens)
    rows = [step.attention for step in steps if step.attention is not None]
    if not rows or len(rows) != len(steps):
        raise NoAttentionMatrix(_NO_ROWS)
    if n > MAX_TOKENS:
        raise InputTooLong(
            f"Prompt and continuation have {n:,} tokens together; attention is drawn for up to {MAX_TOKENS}. "
            "A shorter prompt or fewer new tokens work."
        )
    weights = np.zeros((*rows[0].shape[:2], n, n), dtype=np.float32)
    done = 0
    for block in rows:
        queries, keys = block.shape[2:]
        first = keys - queries  # cached keys come before this step's own queries
        if first > done or keys > n:
            break
        weights[:, :, first:keys, :keys] = block
        done = keys
    if done != n:
        raise NoAttentionMatrix("The steps of this generation do not fit together, so their attention has gaps.")
    return AttentionMap("decoder", tokens, tokens, frozen(weights), mask(causal, n)[None, None])
