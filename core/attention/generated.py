"""Attention over generated text: a decoder's continuation, an encoder-decoder's answer to a task.

Both generate greedily, so the same text gives the same map. A decoder reads prompt and continuation once more as one
text, which gives the rows that the steps of the generation computed.
"""

from __future__ import annotations

from core.attention.architectures.layout import refuse
from core.attention.capture import MAX_NEW_TOKENS, MAX_TOKENS, capture, capture_ids, capture_pair
from core.attention.trace import AttentionTrace
from core.checkpoints.spec import Checkpoint
from core.errors import InputTooLong, OutOfRange
from core.language.generate import generate, prompt_ids
from core.language.translate import prepare, rewrite
from core.language.types import Decoding


def continued(checkpoint: Checkpoint, text: str, count: int, *, vectors: bool = False) -> AttentionTrace:
    """The decoder's map over ``text`` and the ``count`` tokens that it generates after it; fewer where its text ends.

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
    if len(prompt) + count > MAX_TOKENS:
        raise InputTooLong(
            f"This text has {len(prompt):,} tokens and {count} more are to follow; attention is drawn for up to "
            f"{MAX_TOKENS}. A shorter text works."
        )
    steps = generate(checkpoint, text, Decoding(max_new_tokens=count))
    return capture_ids(checkpoint, [*prompt, *(step.token.id for step in steps)], vectors=vectors)


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
