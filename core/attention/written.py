"""Attention over what a model writes on its own: a decoder's continuation, an encoder-decoder's answer to a task.

Both write greedily, so the same text gives the same picture.
"""

from __future__ import annotations

from core.attention.capture import MAX_NEW_TOKENS, MAX_TOKENS, capture, capture_pair
from core.attention.stitch import stitch
from core.attention.tokens import labels
from core.attention.trace import AttentionTrace
from core.checkpoints.spec import Checkpoint
from core.errors import InputTooLong, OutOfRange
from core.language.generate import generate, prompt_ids
from core.language.translate import prepare, rewrite
from core.language.types import Decoding


def continued(checkpoint: Checkpoint, text: str, count: int) -> AttentionTrace:
    """The decoder's map over ``text`` and ``count`` tokens that it wrote after it, stitched from the steps.

    One step more is run than tokens are shown, because a token's row is computed when it is read. Fewer tokens are
    shown where the model ends its text.

    Raises:
        OutOfRange: ``count`` is negative or above :data:`MAX_NEW_TOKENS`.
        InputEmpty, InputTooLong, NoAttentionMatrix: as :func:`core.attention.capture.capture`.
    """
    if not 0 <= count <= MAX_NEW_TOKENS:
        raise OutOfRange(f"From 0 to {MAX_NEW_TOKENS} tokens can be written here, not {count}.")
    if count == 0 or checkpoint.model.config.model_type == "reformer":  # which has no matrix, as `capture` says
        return capture(checkpoint, text)
    prompt = prompt_ids(checkpoint, text)
    if len(prompt) + count > MAX_TOKENS:
        raise InputTooLong(
            f"This text has {len(prompt):,} tokens and {count} more are to follow; attention is drawn for up to "
            f"{MAX_TOKENS}. A shorter text works."
        )
    steps = list(generate(checkpoint, text, Decoding(max_new_tokens=count + 1)))
    written = labels(checkpoint.tokenizer, [step.token.id for step in steps])
    return AttentionTrace(checkpoint.spec.slug, decoder=stitch(steps, labels(checkpoint.tokenizer, prompt), written))


def rewritten(checkpoint: Checkpoint, text: str, task: str) -> AttentionTrace:
    """The three maps of an encoder-decoder over ``text`` and its answer to ``task``.

    Raises:
        UnknownTask, InputEmpty, InputTooLong, InputUnusable, NoAttentionMatrix: in sentences, as usual.
    """
    request = prepare(checkpoint, text, task)
    steps = list(rewrite(checkpoint, text, task, Decoding(max_new_tokens=MAX_NEW_TOKENS)))
    return capture_pair(checkpoint, request.source, request.prompt, [step.token.id for step in steps])
