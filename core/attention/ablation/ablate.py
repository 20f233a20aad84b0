r"""Heads switched off, and what that does to the model's answer.

With p the model's probabilities of all answers and q those without some heads, what the switch does is told as the bits
that are lost by who goes on to believe q where p is true:

.. math:: \mathrm{KL}(p \,\|\, q) = \sum_y p(y) \log_2 \frac{p(y)}{q(y)}

A map of attention says where a head looks; whether anything depends on it, the map does not say (Jain & Wallace 2019,
arXiv 1902.10186). Beside its effect every head therefore has its sharpness, the mean over the rows of its map of

.. math:: 1 - \frac{-\sum_j A_{ij} \log A_{ij}}{\log n_i}

with :math:`n_i` keys that row i may see: 1 where every row has one key, 0 where all keys are alike. A sharp head
without an effect is no contradiction.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.attention.ablation.gates import Gates, Head, check, heads_of, together
from core.attention.ablation.question import Question, Reader, Where, ask, best, names
from core.checkpoints.spec import Checkpoint
from core.errors import NoAttentionMatrix
from core.language.adapters import through
from core.language.types import MaskPrediction

if TYPE_CHECKING:
    from torch import Tensor

AT_ONCE = 1_024
"""Tokens of all rows of one pass."""
Progress = Callable[[int, int], None]
"""Called after each pass with (heads done, heads in all); what it raises stops the run."""


@dataclass(frozen=True, slots=True)
class Change:
    """One answer with all heads, and without some."""

    token: str
    id: int
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class Ablation:
    """What an answer becomes without some heads."""

    off: tuple[Head, ...]
    before: MaskPrediction
    after: MaskPrediction
    changes: tuple[Change, ...]
    """The answers that are among the best before or after, most probable before first."""
    bits: float
    """KL(before ‖ after)."""


@dataclass(frozen=True, slots=True)
class HeadEffect:
    """What an answer becomes without one head."""

    head: Head
    bits: float
    """KL(before ‖ after)."""
    before: float
    """Probability of the best answer of the whole model."""
    after: float
    """Of the same answer, without the head."""
    answer: str
    """The best answer without the head."""
    sharpness: float | None
    """Of its attention to this text, that of the content stream where it is off in two; None without a map."""


def switch_off(
    checkpoint: Checkpoint,
    text: str,
    off: Collection[Head] = (),
    *,
    keep: Collection[Head] | None = None,
    where: Where | None = None,
    k: int = 5,
) -> Ablation:
    """The answer to ``text`` with all heads, and without some.

    Args:
        off: heads to switch off; `heads_of` gives those of a layer.
        keep: the only heads that stay on, of all kinds; ``off`` is switched off of these, too. One that XLNet keeps in
            a stream does not go off in both.
        where: which answer is meant.
        k: answers to report.

    Raises:
        OutOfRange: a head, a position or a step that the model does not have.
        NoAttentionMatrix: it is not known where the architecture's heads are.
        InputEmpty, InputTooLong, InputUnusable, UnknownTask: as `core.attention.ablation.question.ask`.
    """
    question = ask(checkpoint, text, where)
    reader = Reader(question)
    gates = Gates(reader.model, checkpoint)
    every = heads_of(checkpoint)
    check({*off, *(keep or ())}, every)
    kept = set(every) if keep is None else together(checkpoint, keep)
    shut = {*off, *(head for head in every if head not in kept)}
    gates.shut([(), shut])
    before, after = reader.answers(2)
    first, second = best(question, before, k), best(question, after, k)
    ids = sorted({*first.ids, *second.ids}, key=lambda i: (-float(before[i]), i))
    return Ablation(
        tuple(head for head in every if head in shut),
        first,
        second,
        tuple(
            Change(token, i, math.exp(before[i]), math.exp(after[i]))
            for token, i in zip(names(question, ids), ids, strict=True)
        ),
        float(lost(before, after)),
    )


def rank(
    checkpoint: Checkpoint, text: str, *, where: Where | None = None, progress: Progress | None = None
) -> tuple[HeadEffect, ...]:
    """Every head's effect on the answer to ``text``, one switched off at a time; the largest first.

    Arguments and errors as :func:`switch_off`.
    """
    question = ask(checkpoint, text, where)
    reader = Reader(question)
    gates = Gates(reader.model, checkpoint)
    whole = reader.answers()[0]
    top = int(whole.argmax())
    every = heads_of(checkpoint)
    sharp = _sharpness(question)
    rows = max(1, AT_ONCE // (len(question.tokens) + len(question.source)))
    found: list[HeadEffect] = []
    for start in range(0, len(every), rows):
        tried = every[start : start + rows]
        gates.shut([(head,) for head in tried])
        logs = reader.answers(len(tried))
        answers = names(question, logs.argmax(-1).tolist())
        bits = lost(whole, logs)
        for row, head in enumerate(tried):
            found.append(
                HeadEffect(
                    head,
                    float(bits[row]),
                    math.exp(whole[top]),
                    math.exp(logs[row, top]),
                    answers[row],
                    sharp.get(head),
                )
            )
        if progress is not None:
            progress(len(found), len(every))
    return tuple(sorted(found, key=lambda effect: -effect.bits))


def lost(before: Tensor, after: Tensor) -> Tensor:
    """KL(before ‖ after) in bits along the last axis, of natural logarithms of probabilities; never below 0."""
    import torch

    terms = torch.where(before > -torch.inf, before.exp() * (before - after), 0.0)
    bits: Tensor = (terms.double().sum(-1) / math.log(2)).clamp(min=0)
    return bits


def sharpness(weights: Tensor, seen: Tensor | None) -> Tensor:
    """(H,) mean sharpness of the rows of a map (H, Q, K); rows that may see one key alone say nothing and are left out.

    Args:
        weights: rows sum to one.
        seen: (H or 1, Q or 1, K) True where a key may be seen; None for everywhere.
    """
    import torch

    visible = torch.ones_like(weights) if seen is None else seen.expand_as(weights).to(weights.dtype)
    counts = visible.sum(-1)
    open_rows = counts > 1
    entropy = -torch.special.xlogy(weights, weights).sum(-1)
    spread = torch.where(open_rows, entropy / counts.clamp(min=2).log(), 0.0)
    rows = open_rows.sum(-1)
    return torch.where(rows > 0, 1 - spread.sum(-1) / rows.clamp(min=1), 0.0)


def _sharpness(question: Question) -> dict[Head, float]:
    """Of every head over the question's text; empty where there are no maps."""
    from core.attention.architectures.vectors import each

    try:
        with through(question.checkpoint, question.task):
            found = each(question.checkpoint, question.inputs)
    except NoAttentionMatrix:
        return {}
    return {
        Head(own, layer.layer, head): float(value)
        for kind, layers in found.items()
        for layer, scores in layers
        if scores.weights is not None
        for own in {kind, kind if kind == "query" else layer.kind}
        for head, value in enumerate(sharpness(scores.weights, scores.allowed))
    }
