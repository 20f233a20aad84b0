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

which equals zeros in the rows of :math:`W_O` of head h (Michel et al. 2019, arXiv 1905.10650). A layer without heads
outputs the bias :math:`b_O` and the residual. Every row of a batch has its own mask, so that one pass evaluates as many
masks as it has rows.

XLNet's two streams use the same heads, so a head can be ablated in both streams (the kind ``encoder``), in the content
stream alone (``decoder``) or in the query stream alone (``query``), as its maps are named.

Legend: R rows, H heads, n tokens, d head dimension.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from core.attention.ablation.question import Question, Reader, ask, best, names, prepare_question
from core.attention.architectures.layout import plan_of
from core.attention.architectures.vectors import attention_layers, scores_by_layer
from core.attention.heads import spread
from core.attention.trace import MapKind
from core.checkpoints.spec import Checkpoint
from core.errors import NoAttentionMatrix, OutOfRange
from core.language.adapters import through
from core.language.types import MaskPrediction
from core.lazy import Tensor, torch
from core.run.prepare import AttentionLayer
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
    checkpoint: Checkpoint, text: str, off: Collection[Head] = (), *, task: str | None = None, k: int = 5
) -> Ablation:
    """The prediction for ``text`` with all heads, and without those of ``off``.

    Args:
        task: as for `core.attention.ablation.question.prepare_question`.
        k: answers to report.

    Raises:
        OutOfRange: an unknown head.
        NoAttentionMatrix: the heads of the architecture are not known.
        InputEmpty, InputTooLong, InputUnusable, UnknownTask: as `core.attention.ablation.question.prepare_question`.
    """
    question = prepare_question(checkpoint, text, task)
    every = heads_of(checkpoint)
    for head in off:
        if head not in every:
            raise OutOfRange(
                f"This model has no head {head.head + 1} in layer {head.layer + 1} of its {head.kind} attention."
            )
    before, after = _answers(question, [(), off])
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

    Arguments as for `core.attention.ablation.question.prepare_question`, errors as :func:`ablate_heads`.
    """
    question = prepare_question(checkpoint, text, task, step)
    if plan_of(checkpoint).attends:
        asked = ask(question, keep={"pattern", "mask"})
        whole, sharp = asked.logs[0], _sharpness_of(checkpoint, asked.recorded)
    else:
        whole, sharp = _answers(question, [()])[0], _sharpness(question)
    top = int(whole.argmax())
    every = heads_of(checkpoint)
    rows = max(1, AT_ONCE // (len(question.tokens) + len(question.source)))
    effects: list[HeadEffect] = []
    for start in range(0, len(every), rows):
        tried = every[start : start + rows]
        logs = _answers(question, [(head,) for head in tried])
        answers = names(question, logs.argmax(-1).tolist())
        bits = kl_bits(whole, logs)
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


def _answers(question: Question, off: Sequence[Collection[Head]]) -> Tensor:
    """(R, V) log-probabilities of the answers, in row r without the heads ``off[r]``."""
    if plan_of(question.checkpoint).attends:
        return ask(question, len(off), edits=without(question.checkpoint, off)).logs
    reader = Reader(question)
    HeadMask(reader.model, question.checkpoint).ablate(off)
    return reader.answers(len(off))


def without(checkpoint: Checkpoint, off: Sequence[Collection[Head]]) -> dict[Site, Edit]:
    """The edits of a pass whose row r is computed without the heads ``off[r]``."""
    heads = _counts(checkpoint)
    gates: dict[Site, Tensor] = {}
    for row, ablated in enumerate(off):
        for kind, layer, head in ablated:
            both = checkpoint.spec.offers("two streams") and kind == "encoder"
            for stream in (*STREAMS, kind) if both else (kind,):
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


def _sharpness(question: Question) -> dict[Head, float]:
    """The sharpness of all heads over the question's text; empty without maps."""
    try:
        with through(question.checkpoint, question.task):
            scores_by_kind = scores_by_layer(question.checkpoint, question.inputs)
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


def _sharpness_of(checkpoint: Checkpoint, recorded: Run) -> dict[Head, float]:
    """The sharpness of all heads in the first row of a run; that of XLNet's heads is that of the content stream."""
    two_streams = checkpoint.spec.offers("two streams")
    return {
        Head(named, layer, head): value
        for (kind, layer, name), pattern in recorded.tensors.items()
        if name == "pattern"
        for head, value in enumerate(sharpness(pattern[0], recorded[kind, layer, "mask"][0]))
        for named in ((kind, "encoder") if two_streams and kind == "decoder" else (kind,))
    }


STREAMS: tuple[MapKind, ...] = ("decoder", "query")
"""The content stream and the query stream."""


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
    counts = {
        (layer.kind, layer.layer): layer.heads for layers in attention_layers(checkpoint).values() for layer in layers
    }
    if checkpoint.spec.offers("two streams"):
        counts |= {(stream, layer): heads for stream in STREAMS for (_, layer), heads in counts.items()}
    return counts


class HeadMask:
    """The head mask of a twin; initially no head is ablated."""

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
            self._register(model.get_submodule(path), path, shared)

    def _register(self, module: Any, path: str, shared: Sequence[AttentionLayer]) -> None:
        """Register hooks on a module; ``shared`` are the layers that use it, in the order of their calls."""
        if shared[0].names.out:
            module.register_forward_pre_hook(
                lambda _, inputs: (self._gated(inputs[0], self._next(path, shared)), *inputs[1:])
            )
            return
        # XLNet projects in a method, once per stream; heads are an axis of its argument.
        project, own = module.post_attention, shared[0]
        query_input: list[Tensor | None] = [None]

        def gated(states: Tensor, context: Tensor, residual: bool = True) -> Tensor:
            for kind in {own.kind, "query" if states is query_input[0] else "decoder"}:
                if (gate := self._ablated.get((kind, own.layer))) is not None:  # type: ignore[arg-type]
                    context = context * gate[None, :, :, None]
            output: Tensor = project(states, context, residual)
            return output

        module.register_forward_pre_hook(lambda _, inputs: query_input.__setitem__(0, inputs[1]))
        module.post_attention = gated

    def _next(self, path: str, shared: Sequence[AttentionLayer]) -> AttentionLayer:
        number = self._calls.get(path, 0)
        self._calls[path] = number + 1
        return shared[number % len(shared)]

    def _gate(self, layer: AttentionLayer) -> Tensor | None:
        return self._ablated.get((layer.kind, layer.layer))

    def _gated(self, joined: Tensor, layer: AttentionLayer) -> Tensor:
        """(R, n, H d) with the outputs of ablated heads set to zero."""
        gate = self._gate(layer)
        if gate is None:
            return joined
        parts = joined.unflatten(-1, (layer.heads, -1))  # type: ignore[no-untyped-call]
        through: Tensor = parts * gate.view(len(gate), *(1,) * (parts.dim() - 3), -1, 1)
        return through.flatten(-2)

    def ablate(self, heads: Sequence[Collection[Head]]) -> None:
        """From now on, row r of every batch is computed without the heads ``heads[r]``."""
        self._ablated.clear()
        self._calls.clear()
        for row, ablated in enumerate(heads):
            for kind, layer, head in ablated:
                if (kind, layer) not in self._ablated:
                    self._ablated[kind, layer] = torch.ones(len(heads), self._heads[kind, layer])
                self._ablated[kind, layer][row, head] = 0
