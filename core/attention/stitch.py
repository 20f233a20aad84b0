"""Attention over generated text, put together from the rows that each step of generation computed.

With a key-value cache the first step computes the rows of the whole prompt, shape (L, H, q, q), and every later step
one row more, (L, H, 1, k). Written below each other they are the lower triangle of one (L, H, n, n) map, where n counts
the prompt's tokens and all steps but the last, whose token was produced but not read and has no row yet.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from core.attention.capture import MAX_TOKENS
from core.attention.patterns import causal, mask
from core.attention.trace import AttentionMap, Bools, frozen
from core.errors import InputTooLong, NoAttentionMatrix
from core.language.types import GenerationStep

_NO_ROWS = (
    "These steps carry no attention: beam search rereads several texts at once, and some models give no rows step by "
    "step. Choose greedy decoding or sampling, or a text without a continuation."
)


def stitch(
    steps: Sequence[GenerationStep],
    prompt_tokens: Sequence[str],
    generated_tokens: Sequence[str] | None = None,
    allowed: Callable[[int], Bools] | None = None,
) -> AttentionMap:
    """The decoder's self-attention over prompt and generated tokens, (L, H, n, n), zero above the diagonal.

    ``prompt_tokens`` are the labels of what the decoder read before the first step (for an encoder-decoder the start
    token alone); ``generated_tokens`` the labels of the chosen tokens, by default their texts.

    Raises:
        NoAttentionMatrix: a step carries no attention, or the rows have a gap.
        InputTooLong: more than ``MAX_TOKENS`` tokens in all.
    """
    produced = _labels(steps, generated_tokens)
    tokens = (*prompt_tokens, *produced[:-1])
    rows = [step.attention for step in steps if step.attention is not None]
    if not rows or len(rows) != len(steps):
        raise NoAttentionMatrix(_NO_ROWS)
    if len(tokens) > MAX_TOKENS:
        raise InputTooLong(
            f"Prompt and continuation have {len(tokens):,} tokens together; attention is drawn for up to {MAX_TOKENS}. "
            "A shorter prompt or fewer new tokens work."
        )
    layers, heads = rows[0].shape[:2]
    weights = np.zeros((layers, heads, len(tokens), len(tokens)), dtype=np.float32)
    done = 0
    for block in rows:
        queries, keys = block.shape[2:]
        first = keys - queries  # cached keys come before this step's own queries
        if first > done or keys > len(tokens):
            raise NoAttentionMatrix("The steps of this generation do not fit together, so their attention has gaps.")
        weights[:, :, first:keys, :keys] = block
        done = keys
    if done != len(tokens):
        raise NoAttentionMatrix("The steps of this generation do not cover its text, so their attention has gaps.")
    n = len(tokens)
    seen = mask(causal, n)[None, None] if allowed is None else allowed(n)
    return AttentionMap("decoder", tokens, tokens, frozen(weights), seen)


def stitch_cross(
    steps: Sequence[GenerationStep], source_tokens: Sequence[str], generated_tokens: Sequence[str] | None = None
) -> AttentionMap:
    """Cross-attention from each produced token to the source, (L, H, T, S): row i is the last row of step i.

    Raises:
        NoAttentionMatrix: a step carries no cross-attention.
    """
    rows = [step.cross_attention[:, :, -1:, :] for step in steps if step.cross_attention is not None]
    if not rows or len(rows) != len(steps):
        raise NoAttentionMatrix(_NO_ROWS)
    weights = np.concatenate(rows, axis=2).astype(np.float32)
    return AttentionMap("cross", tuple(_labels(steps, generated_tokens)), tuple(source_tokens), frozen(weights))


def _labels(steps: Sequence[GenerationStep], given: Sequence[str] | None) -> Sequence[str]:
    if given is None:
        return [step.token.text.replace(" ", "␣").replace("\n", "↵") for step in steps]
    if len(given) != len(steps):
        raise ValueError(f"{len(given)} labels for {len(steps)} generated tokens")
    return given
