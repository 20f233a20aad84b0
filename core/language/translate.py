"""Sequence-to-sequence generation by an encoder-decoder, its cross-attention, and translation through English.

    p(y | x) = Π_t p(y_t | y_<t, x)

The encoder processes the source x once; the decoder generates y token by token and attends to all of x through
cross-attention, with queries from the decoder and keys and values from the encoder:

    cross = softmax(Q_decoder K_encoderᵀ / √d)          one row per output token, one column per source token

A prefix of the text, or the first token of the output, selects the task (`core.language.tasks`).

Pivoting: a translation between two languages that the model was trained on with English alone takes two trained steps,

    z = argmax p(z | x, English)        y = argmax p(y | z, target)

instead of y = argmax p(y | x, target). M2M-100 (Fan et al. 2020, arXiv 2010.11125) was trained on pairs without English
to avoid it: distinctions that English lacks (Sie or du, grammatical gender) are lost.

Shapes: L layers, H heads, T output tokens, S source tokens.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.arrays import Floats
from core.checkpoints.spec import Checkpoint
from core.errors import InputEmpty, NoAttentionMatrix
from core.language.generate import steps
from core.language.inputs import pair
from core.language.starts import prepare, start
from core.language.tasks import task_of, tasks
from core.language.types import Decoding, GenerationStep, Token
from core.run.model import call

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, slots=True, eq=False)
class Alignment:
    """Cross-attention of a finished output; row t is the step that generated token t."""

    source: tuple[Token, ...]
    target: tuple[Token, ...]
    weights: Floats  # (L, H, T, S), rows sum to one, read-only


def rewrite(
    checkpoint: Checkpoint,
    text: str,
    task: str | None,
    decoding: Decoding | None = None,
    *,
    forced: Sequence[int] = (),
) -> Iterator[GenerationStep]:
    """Generate the output for ``text``, step by step; stop iterating to stop the generation.

    Errors of `core.language.starts.start` are raised before the first step.
    """
    return steps(start(checkpoint, text, task), decoding or Decoding(), forced=forced)


def align(checkpoint: Checkpoint, text: str, task: str, ids: tuple[int, ...]) -> Alignment:
    """Cross-attention of the output ``ids``, computed in a single pass, for any decoding strategy.

    Raises:
        InputEmpty: there is no output; else as `core.language.starts.prepare`.
        NoAttentionMatrix: the model returns no cross-attention.
    """
    import torch

    if not ids:
        raise InputEmpty("Nothing was generated, so there is nothing to align.")
    made = prepare(checkpoint, text, task)
    inputs = pair(checkpoint, made.source, made.ids, ids)
    with torch.inference_mode():
        model = checkpoint.model
        out = call(model, **inputs.tensors, output_attentions=True, use_cache=False)
        layers: list[Tensor] = [layer for layer in out.cross_attentions or () if layer is not None]
        if not layers or any(layer.shape[-2:] != (len(inputs.tokens), len(inputs.source)) for layer in layers):
            raise NoAttentionMatrix(f"{checkpoint.spec.name} gives no cross-attention weights of tokens by tokens.")
        # the query of the first output token is the last token of the prompt
        weights = torch.stack([layer[0, :, inputs.position :] for layer in layers]).float().numpy().copy()
    weights.setflags(write=False)
    return Alignment(inputs.source, inputs.output, weights)


PIVOT = "en"


def pivot_tasks(checkpoint: Checkpoint, task: str) -> tuple[str, str] | None:
    """The tasks to English and from it; None where ``task`` is no translation, has English, or a task is missing.

    Raises:
        UnknownTask: the checkpoint has no such task.
    """
    languages = task_of(checkpoint, task).languages
    if languages is None or PIVOT in languages:
        return None
    pair = (f"{languages[0]}-{PIVOT}", f"{PIVOT}-{languages[1]}")
    offered = {candidate.slug for candidate in tasks(checkpoint)}
    return pair if offered.issuperset(pair) else None


def translate_along(
    checkpoint: Checkpoint, text: str, route: Sequence[str], decoding: Decoding | None = None
) -> tuple[str, ...]:
    """Translate ``text`` with the first task of ``route``, the result with the next one, and so on.

    Returns:
        The text after each task.

    Raises:
        InputEmpty: an output that a task should translate is empty; else as :func:`rewrite`.
    """
    texts = [text]
    for task in route:
        if not texts[-1] and len(texts) > 1:
            raise InputEmpty(
                "The first step generated no English, so there is nothing to translate from there. Try other words."
            )
        texts.append(_last(rewrite(checkpoint, texts[-1], task, decoding)))
    return tuple(texts[1:])


def _last(steps_of: Iterator[GenerationStep]) -> str:
    text = ""
    for step in steps_of:
        text = step.text
    return text.strip()
