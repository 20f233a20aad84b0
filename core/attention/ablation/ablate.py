r"""Ablated heads, and what the model's answer loses without them.

With p the model's probabilities of all answers and q those without some heads, the effect is the bits that are lost by
coding with q where p is true:

.. math:: \mathrm{KL}(p \,\|\, q) = \sum_y p(y) \log_2 \frac{p(y)}{q(y)}

A map of attention says what a head attends to; whether anything depends on it, the map does not say (Jain & Wallace
2019, arXiv 1902.10186). Beside its effect every head therefore has its sharpness, the mean over the rows of its map of

.. math:: 1 - \frac{-\sum_j A_{ij} \log A_{ij}}{\log n_i}

with :math:`n_i` keys that row i may attend to: 1 where every row has one key, 0 where all keys are alike. A sharp head
without an effect is no contradiction.

A head is ablated by its mask: its part of the joined heads is set to zero before the output's projection reads it.

.. math:: \mathrm{out} = [\,g_1 o_1; \dots; g_H o_H\,]\, W_O + b_O, \qquad o_h = A_h V_h,\; g_h \in \{0, 1\}

which is the same as zeros in the rows of :math:`W_O` that head h would meet (Michel et al. 2019, arXiv 1905.10650). Of
a layer with all heads ablated the bias :math:`b_O` is left, and what goes past the attention. Every row of a batch has
a mask of its own, so that one pass tries as many choices as it has rows.

Of an architecture that stands in no table (`core.attention.architectures.hooks`) the zeros are put where the heads
leave the attention: what a model does with them before it projects, a gate or a norm of all heads, meets zeros.

XLNet's two streams run through the same heads, so there are three ways to be without one: in both streams (the kind
``encoder``), in the content stream alone (``decoder``) or in the query stream alone (``query``), as its maps are named.

Legend: R rows, H heads, n tokens, d width of a head.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from core.attention.ablation.question import Question, Reader, best, names, prepare_question
from core.attention.architectures.hooks import AttentionCall, register_attention_hook
from core.attention.architectures.layout import AttentionLayer
from core.attention.architectures.vectors import attention_layers, each
from core.attention.heads import spread
from core.attention.trace import MapKind
from core.checkpoints.spec import Checkpoint
from core.errors import NoAttentionMatrix, OutOfRange
from core.language.adapters import through
from core.language.types import MaskPrediction

if TYPE_CHECKING:
    from torch import Tensor

AT_ONCE = 1_024
"""Tokens of all rows of one pass."""


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
    checkpoint: Checkpoint, text: str, off: Collection[Head] = (), *, task: str | None = None, k: int = 5
) -> Ablation:
    """The answer to ``text`` with all heads, and without those of ``off``.

    Args:
        task: as for `core.attention.ablation.question.prepare_question`.
        k: answers to report.

    Raises:
        OutOfRange: a head that the model does not have.
        NoAttentionMatrix: it is not known where the architecture's heads are.
        InputEmpty, InputTooLong, InputUnusable, UnknownTask: as `core.attention.ablation.question.prepare_question`.
    """
    question = prepare_question(checkpoint, text, task)
    every = heads_of(checkpoint)
    for head in off:
        if head not in every:
            raise OutOfRange(
                f"This model has no head {head.head + 1} in layer {head.layer + 1} of its {head.kind} attention."
            )
    reader = Reader(question)
    HeadMask(reader.model, checkpoint).ablate([(), off])
    before, after = reader.answers(2)
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
        float(lost(before, after)),
    )


def rank(checkpoint: Checkpoint, text: str, *, task: str | None = None, step: int = 0) -> tuple[HeadEffect, ...]:
    """Every head's effect on the answer to ``text``, one ablated at a time; the largest first.

    Arguments as for `core.attention.ablation.question.prepare_question`, errors as :func:`switch_off`.
    """
    question = prepare_question(checkpoint, text, task, step)
    reader = Reader(question)
    mask = HeadMask(reader.model, checkpoint)
    whole = reader.answers()[0]
    top = int(whole.argmax())
    every = heads_of(checkpoint)
    sharp = _sharpness(question)
    rows = max(1, AT_ONCE // (len(question.tokens) + len(question.source)))
    effects: list[HeadEffect] = []
    for start in range(0, len(every), rows):
        tried = every[start : start + rows]
        mask.ablate([(head,) for head in tried])
        logs = reader.answers(len(tried))
        answers = names(question, logs.argmax(-1).tolist())
        bits = lost(whole, logs)
        for row, head in enumerate(tried):
            effects.append(
                HeadEffect(
                    head,
                    float(bits[row]),
                    math.exp(whole[top]),
                    math.exp(logs[row, top]),
                    answers[row],
                    sharp.get(head),
                )
            )
    return tuple(sorted(effects, key=lambda effect: -effect.bits))


def lost(before: Tensor, after: Tensor) -> Tensor:
    """KL(before ‖ after) in bits along the last axis, of natural logarithms of probabilities; never below 0."""
    import torch

    terms = torch.where(before > -torch.inf, before.exp() * (before - after), 0.0)
    bits: Tensor = (terms.double().sum(-1) / math.log(2)).clamp(min=0)
    return bits


def sharpness(weights: Tensor, allowed: Tensor | None) -> tuple[float, ...]:
    """(H,) 1 - `core.attention.heads.spread` of a map (H, Q, K); 0 for a head all of whose rows have a single key."""
    means, rows = spread(weights.numpy(), None if allowed is None else allowed.numpy())
    return tuple(1 - float(mean) if count else 0.0 for mean, count in zip(means, rows, strict=True))


def _sharpness(question: Question) -> dict[Head, float]:
    """Of every head over the question's text; empty where there are no maps."""
    try:
        with through(question.checkpoint, question.task):
            scores_by_kind = each(question.checkpoint, question.inputs)
    except NoAttentionMatrix:
        return {}
    return {
        Head(own, layer.layer, head): value
        for kind, layers in scores_by_kind.items()
        for layer, scores in layers
        if scores.weights is not None
        for own in {kind, kind if kind == "query" else layer.kind}
        for head, value in enumerate(sharpness(scores.weights, scores.allowed))
    }


STREAMS: tuple[MapKind, ...] = ("decoder", "query")
"""The content stream and the query stream."""


class Head(NamedTuple):
    """One head of a model; layer and head from 0. Encoder-decoders and XLNets have three kinds, other models one."""

    kind: MapKind
    layer: int
    head: int


def heads_of(checkpoint: Checkpoint) -> tuple[Head, ...]:
    """All heads of a checkpoint: encoder, decoder, cross or query, from below.

    Raises:
        NoAttentionMatrix: it is not known where the architecture's heads are.
    """
    return tuple(Head(*layer, head) for layer, heads in _counts(checkpoint).items() for head in range(heads))


def _counts(checkpoint: Checkpoint) -> dict[tuple[MapKind, int], int]:
    """How many heads each layer has, by kind and layer."""
    counts = {
        (layer.kind, layer.layer): layer.heads for layers in attention_layers(checkpoint).values() for layer in layers
    }
    if checkpoint.spec.offers("two streams"):
        counts |= {(stream, layer): heads for stream in STREAMS for (_, layer), heads in counts.items()}
    return counts


class HeadMask:
    """Ablates heads of a twin; at first none."""

    def __init__(self, model: Any, checkpoint: Checkpoint) -> None:
        every = attention_layers(checkpoint).values()
        self._heads = _counts(checkpoint)
        self._ablated: dict[tuple[MapKind, int], Tensor] = {}  # (R, H) ones and zeros
        self._calls: dict[str, int] = {}
        by_path: dict[str, list[AttentionLayer]] = {}
        for layers in every:
            for layer in layers:
                by_path.setdefault(layer.path(layer.names.out) if layer.names.out else layer.module, []).append(layer)
        for path, shared in by_path.items():
            self._hang(model.get_submodule(path), path, shared)

    def _hang(self, module: Any, path: str, shared: Sequence[AttentionLayer]) -> None:
        """``shared`` are the layers that use this module, in the order of their calls."""
        if shared[0].names.score == "hooked":

            def hook(call: AttentionCall) -> Tensor:
                gate = self._gate(self._next(path, shared))
                return call.attention_output if gate is None else call.attention_output * gate[:, None, :, None]

            register_attention_hook(module, path, hook)
            return
        if shared[0].names.out:
            module.register_forward_pre_hook(
                lambda _, given: (self._gated(given[0], self._next(path, shared)), *given[1:])
            )
            return
        # XLNet projects inside a method, once for each of its streams; heads are an axis of what it is given
        project, own = module.post_attention, shared[0]
        asking: list[Tensor | None] = [None]  # what came into the query stream

        def gated(came: Tensor, mixed: Tensor, residual: bool = True) -> Tensor:
            for kind in {own.kind, "query" if came is asking[0] else "decoder"}:
                if (gate := self._ablated.get((kind, own.layer))) is not None:  # type: ignore[arg-type]
                    mixed = mixed * gate[None, :, :, None]
            after: Tensor = project(came, mixed, residual)
            return after

        module.register_forward_pre_hook(lambda _, given: asking.__setitem__(0, given[1]))
        module.post_attention = gated

    def _next(self, path: str, shared: Sequence[AttentionLayer]) -> AttentionLayer:
        number = self._calls.get(path, 0)
        self._calls[path] = number + 1
        return shared[number % len(shared)]

    def _gate(self, layer: AttentionLayer) -> Tensor | None:
        return self._ablated.get((layer.kind, layer.layer))

    def _gated(self, joined: Tensor, layer: AttentionLayer) -> Tensor:
        """(R, n, H d) with the parts of heads that are off set to zero."""
        gate = self._gate(layer)
        if gate is None:
            return joined
        parts = joined.unflatten(-1, (layer.heads, -1))  # type: ignore[no-untyped-call]
        through: Tensor = parts * gate.view(len(gate), *(1,) * (parts.dim() - 3), -1, 1)
        return through.flatten(-2)

    def ablate(self, off: Sequence[Collection[Head]]) -> None:
        """From now on row r of every batch runs without the heads ``off[r]``."""
        import torch

        self._ablated.clear()
        self._calls.clear()
        for row, heads in enumerate(off):
            for kind, layer, head in heads:
                if (kind, layer) not in self._ablated:
                    self._ablated[kind, layer] = torch.ones(len(off), self._heads[kind, layer])
                self._ablated[kind, layer][row, head] = 0
