"""One text through one model, with every token's vector after every layer.

In an encoder-decoder this is the encoder, with the text as its first task formats it. In CTRL the text follows a
control code, as in all of its training.

Legend: L layers, n tokens, w hidden size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.arrays import Floats
from core.attention.inside.states import by_layer
from core.checkpoints.spec import Checkpoint, CheckpointSpec
from core.errors import InputTooLong, InputUnusable
from core.language.codes import codes_of
from core.language.inputs import Inputs, one_text, pair
from core.language.tasks import tasks
from core.language.text import clean
from core.language.tokens import check_length, describe, tokenize
from core.language.translate import prepare
from core.language.types import Token
from core.settings import raised_with, settings

MAX_CHARS = 400


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """One text with its hidden states; the array is read-only."""

    text: str
    """The cleaned text, without a task prefix or a control code."""
    tokens: tuple[Token, ...]
    """All n of them; ``start`` and ``end`` are offsets in ``text``, -1 for tokens outside it."""
    states: Floats  # (L + 1, n, w)


def readable(spec: CheckpointSpec) -> bool:
    """Whether :func:`read_states` can run a checkpoint: adapters have no layers of their own."""
    return spec.ready and not spec.offers("classifies texts")


def read_states(checkpoint: Checkpoint, text: str) -> Reading:
    """Run ``checkpoint`` over ``text``.

    Raises:
        InputEmpty, InputTooLong: nothing readable, or more than `MAX_CHARS`, or tokens than the settings or
            the model allow.
        InputUnusable: a tokenizer without offsets, or a model without layers of its own.
    """
    inputs = inputs_of(checkpoint, text)
    states = by_layer(inputs, "encoder").float().cpu().numpy().copy()
    states.setflags(write=False)
    return Reading(inputs.text, inputs.of_text, states)


def inputs_of(checkpoint: Checkpoint, text: str) -> Inputs:
    """What is read of ``text``; errors as :func:`read_states`."""
    tokens, typed = tokens_of(checkpoint, text)
    return over(checkpoint, tokens, typed)


def over(checkpoint: Checkpoint, tokens: Sequence[Token], text: str = "") -> Inputs:
    """The inputs of these tokens of ``text``, where the decoder after an encoder reads one of them."""
    if checkpoint.spec.offers("rewrites"):
        return pair(checkpoint, tokens, [tokens[0].id], text=text)
    return one_text(checkpoint, tokens, text=text)


def tokens_of(checkpoint: Checkpoint, text: str) -> tuple[tuple[Token, ...], str]:
    """(the input tokens, the cleaned text); errors as :func:`read_states`."""
    if not readable(checkpoint.spec):
        raise InputUnusable(
            f"{checkpoint.spec.name} has the layers of another model and small adapters between them. Choose that "
            "model itself."
        )
    if not checkpoint.tokenizer.is_fast:
        raise InputUnusable(
            f"The tokenizer of {checkpoint.spec.name} does not say where its tokens are in the text, so a word's "
            "vector cannot be found."
        )
    typed = clean(text, MAX_CHARS)
    if checkpoint.spec.offers("rewrites"):
        request = prepare(checkpoint, typed, tasks(checkpoint)[0].slug)
        tokens = tuple(_shifted(request.tokens, len(request.task.prefix)))
    else:
        tokens = tokenize(checkpoint, typed)
        if codes := codes_of(checkpoint):
            tokens = (*describe(checkpoint.tokenizer, [next(iter(codes.values()))]), *tokens)
        check_length(checkpoint, len(tokens))
    if len(tokens) > (most := settings().max_attention_tokens):
        raise InputTooLong(
            f"This text has {len(tokens):,} tokens; up to {most} are taken here. Try a part. "
            f"{raised_with('max_attention_tokens')}"
        )
    return tokens, typed


def _shifted(tokens: Sequence[Token], by: int) -> list[Token]:
    """``tokens`` with offsets reduced by ``by`` characters; tokens before that get the offset -1."""
    return [
        replace(token, start=token.start - by, end=token.end - by)
        if token.start >= by
        else replace(token, start=-1, end=-1)
        for token in tokens
    ]
