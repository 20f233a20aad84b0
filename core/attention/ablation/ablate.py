r"""Head ablation and its effect on the model's prediction.

With p the model's distribution and q that without some heads, the effect is the divergence in bits:

.. math:: \mathrm{KL}(p \,\|\, q) = \sum_y p(y) \log_2 \frac{p(y)}{q(y)}

Attention weights do not show whether a prediction depends on a head (Jain & Wallace 2019, arXiv 1902.10186). Beside its
effect, every head has its sharpness, the mean over the rows of its map of

.. math:: 1 - \frac{-\sum_j A_{ij} \log A_{ij}}{\log n_i}

with :math:`n_i` allowed keys of row i: 1 where every row has one key, 0 where all weights are equal. A sharp head can
be without effect.

A head mask sets the output of a head to zero before the output projection:

.. math:: \mathrm{out} = [\,g_1 o_1; \dots; g_H o_H\,]\, W_O + b_O, \qquad o_h = A_h V_h,\; g_h \in \{0, 1\}

which equals zeros in the rows of :math:`W_O` of head h (Michel et al. 2019, arXiv 1905.10650). Every row of a batch has
its own mask.

XLNet's two streams use the same heads, so a head can be ablated in both streams (the kind ``encoder``), in the content
stream alone (``decoder``) or in the query stream alone (``query``), as its maps are named.

Legend: R rows, H heads, n tokens, d head dimension.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from core.attention.ablation.question import ask, best, names
from core.attention.heads import spread
from core.attention.scores import attention_layers
from core.attention.trace import MapKind
from core.checkpoints.spec import Checkpoint
from core.errors import OutOfRange
from core.language.makers import inputs
from core.language.types import MaskPrediction
from core.lazy import Tensor, torch
from core.run.run import Edit, Run, Site

AT_ONCE = 1_024
"""The most tokens of one pass, over all rows."""


@dataclass(frozen=True, slots=True)
class Change:
    """The probability of one answer with all heads and without some."""

    token: str
    id: int
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class Ablation:
    """A prediction with all heads and without some."""

    heads: tuple[Head, ...]
    before: MaskPrediction
    after: MaskPrediction
    changes: tuple[Change, ...]
    """The answers among the best before or after, by probability before."""
    bits: float
    """KL(before ‖ after)."""


@dataclass(frozen=True, slots=True)
class HeadEffect:
    """The prediction without one head."""

    head: Head
    bits: float
    """KL(before ‖ after)."""
    before: float
    """Probability of the top answer of the whole model."""
    after: float
    """Probability of the same answer without the head."""
    answer: str
    """The top answer without the head."""
    sharpness: float | None
    """Of its attention over this text, that of the content stream if ablated in both; None without a map."""


def ablate_heads(
    checkpoint: Checkpoint, text: str, off: Sequence[Head] = (), *, task: str | None = None, k: int = 5
) -> Ablation:
    """The prediction for ``text`` with all heads, and without those of ``off``.

    Args:
        task: as for `core.language.makers.inputs`.
        k: answers to report.

    Raises:
        OutOfRange: an unknown head.
        NoAttentionMatrix: the heads of the architecture are not known.
        InputEmpty, InputTooLong, InputUnusable, UnknownTask: as `core.language.makers.inputs`.
    """
    question = inputs(checkpoint, text, task, step=0)
    every = heads_of(checkpoint)
    for head in off:
        if head not in every:
            raise OutOfRange(
                f"This model has no head {head.head + 1} in layer {head.layer + 1} of its {head.kind} attention."
            )
    before, after = ask(question, 2, edits=without(checkpoint, [(), off])).logs
    first, second = best(question, before, k), best(question, after, k)
    ids = sorted({*first.ids, *second.ids}, key=lambda i: (-float(before[i]), i))
    return Ablation(
        tuple(head for head in every if head in off),
        first,
        second,
        tuple(
            Change(token, i, math.exp(before[i]), math.exp(after[i]))
            for token, i in zip(names(question, ids), ids, strict=True)
        ),
        float(kl_bits(before, after)),
    )


def rank_heads(checkpoint: Checkpoint, text: str, *, task: str | None = None, step: int = 0) -> tuple[HeadEffect, ...]:
    """The effect of each head, ablated alone, on the prediction for ``text``; the largest first.

    Arguments as for `core.language.makers.inputs`, errors as :func:`ablate_heads`.
    """
    question = inputs(checkpoint, text, task, step)
    asked = ask(question, keep={"pattern", "mask"})
    log_probabilities, sharp = asked.logs[0], _sharpness(checkpoint, asked.recorded)
    top = int(log_probabilities.argmax())
    every = heads_of(checkpoint)
    rows = max(1, AT_ONCE // (len(question.tokens) + len(question.source)))
    effects: list[HeadEffect] = []
    for start in range(0, len(every), rows):
        tried = every[start : start + rows]
        logs = ask(question, len(tried), edits=without(checkpoint, [(head,) for head in tried])).logs
        answers = names(question, logs.argmax(-1).tolist())
        bits = kl_bits(log_probabilities, logs)
        for row, head in enumerate(tried):
            effects.append(
                HeadEffect(
                    head,
                    float(bits[row]),
                    math.exp(log_probabilities[top]),
                    math.exp(logs[row, top]),
                    answers[row],
                    sharp.get(head),
                )
            )
    return tuple(sorted(effects, key=lambda effect: -effect.bits))


def without(checkpoint: Checkpoint, off: Sequence[Collection[Head]]) -> dict[Site, Edit]:
    """The edits of a pass whose row r is computed without the heads ``off[r]``."""
    heads = _counts(checkpoint)
    gates: dict[Site, Tensor] = {}
    for row, ablated in enumerate(off):
        for kind, layer, head in ablated:
            for stream in checkpoint.spec.family.streams_of(kind):
                gate = gates.setdefault(Site(stream, layer, "z"), torch.ones(len(off), heads[kind, layer]))
                gate[row, head] = 0
    return {site: partial(_gated, gate[:, None, :, None]) for site, gate in gates.items()}


def _gated(gate: Tensor, z: Tensor) -> Tensor:
    return z * gate


def kl_bits(before: Tensor, after: Tensor) -> Tensor:
    """KL(before ‖ after) in bits along the last axis, of natural logarithms of probabilities; never below 0."""
    terms = torch.where(before > -torch.inf, before.exp() * (before - after), 0.0)
    bits: Tensor = (terms.double().sum(-1) / math.log(2)).clamp(min=0)
    return bits


def sharpness(weights: Tensor, allowed: Tensor | None) -> tuple[float, ...]:
    """(H,) 1 - `core.attention.heads.spread` of a map (H, Q, K); 0 for a head whose rows all have a single key."""
    means, rows = spread(weights.numpy(), None if allowed is None else allowed.numpy())
    return tuple(1 - float(mean) if count else 0.0 for mean, count in zip(means, rows, strict=True))


def _sharpness(checkpoint: Checkpoint, recorded: Run) -> dict[Head, float]:
    """The sharpness of all heads in the first row of a run; that of XLNet's heads is that of the content stream."""
    family = checkpoint.spec.family
    return {
        Head(named, layer, head): value
        for (kind, layer, name), pattern in recorded.tensors.items()
        if name == "pattern"
        for head, value in enumerate(sharpness(pattern[0], recorded[kind, layer, "mask"][0]))
        for named in family.streams
        if family.streams_of(named)[0] == kind
    }


class Head(NamedTuple):
    """A head; layer and head from 0. Encoder-decoders and XLNets have three kinds, other models one."""

    kind: MapKind
    layer: int
    head: int


def heads_of(checkpoint: Checkpoint) -> tuple[Head, ...]:
    """All heads of a checkpoint by kind, from the first layer on.

    Raises:
        NoAttentionMatrix: the heads of the architecture are not known.
    """
    return tuple(Head(*layer, head) for layer, heads in _counts(checkpoint).items() for head in range(heads))


def _counts(checkpoint: Checkpoint) -> dict[tuple[MapKind, int], int]:
    """The number of heads by kind and layer."""
    family = checkpoint.spec.family
    layers = [layer for of_kind in attention_layers(checkpoint).values() for layer in of_kind]
    return {
        (kind, layer.layer): layer.heads
        for kind in family.streams
        for layer in layers
        if kind in (layer.kind, *family.streams_of(layer.kind))
    }
