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

In place of zero the output of a head, and of a feed-forward layer, may be its mean over the tokens of some texts, or
what it is in another text: zero itself is a value that later layers may never have met. A whole layer is ablated by
passing on what it read.

XLNet's two streams use the same heads, so a head can be ablated in both streams (the kind ``encoder``), in the content
stream alone (``decoder``) or in the query stream alone (``query``), as its maps are named.

Legend: R rows, H heads, n tokens, d head dimension.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple, TypeVar

from core.attention.ablation.question import ask, best, names
from core.attention.heads import spread
from core.attention.layers import has_blueprint, plan_of, stacks
from core.attention.scores import attention_layers
from core.attention.trace import MapKind
from core.checkpoints.spec import Checkpoint
from core.errors import OutOfRange
from core.language.inputs import Inputs
from core.language.makers import inputs
from core.language.types import MaskPrediction
from core.lazy import Tensor, torch
from core.run.run import Edit, Run, Site, recording, run

P = TypeVar("P", bound="Head | SubLayer")
By = Literal["zero", "mean", "other"]
"""What stands in place of an ablated output: zero, its mean over `REFERENCE`, or what it is in the last text of it, at
the same position (from its start again where that text is shorter)."""
REFERENCE = (
    "The old woman lived in a small house near the river, and every morning she went to the market.",
    "He said that he would come back before the winter, but nobody believed him.",
    "In the year after the war the town had two schools, a bank and a railway station.",
    "What do you think about it? I am not sure that we should go there today.",
    "The children played in the garden until it was dark, and then their mother called them.",
    "Water is made of two gases, and it boils when it is hot enough.",
    "They found a letter under the door, opened it and read it twice before they said a word to each other.",
)
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

    heads: tuple[Head | SubLayer, ...]
    before: MaskPrediction
    after: MaskPrediction
    changes: tuple[Change, ...]
    """The answers among the best before or after, by probability before."""
    bits: float
    """KL(before ‖ after)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """The prediction without one part."""

    bits: float
    """KL(before ‖ after)."""
    before: float
    """Probability of the top answer of the whole model."""
    after: float
    """Probability of the same answer without the part."""
    answer: str
    """The top answer without it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadEffect(Effect):
    head: Head
    sharpness: float | None
    """Of its attention over this text, that of the content stream if ablated in both; None without a map."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerEffect(Effect):
    layer: SubLayer


def ablate_heads(
    checkpoint: Checkpoint,
    text: str,
    off: Sequence[Head | SubLayer] = (),
    *,
    task: str | None = None,
    by: By = "zero",
    k: int = 5,
) -> Ablation:
    """The prediction for ``text`` with everything, and without the heads and layers of ``off``.

    Args:
        task: as for `core.language.makers.inputs`.
        k: answers to report.

    Raises:
        OutOfRange: an unknown head or layer.
        NoAttentionMatrix: the heads of the architecture are not known.
        InputEmpty, InputTooLong, InputUnusable, UnknownTask: as `core.language.makers.inputs`.
    """
    question = inputs(checkpoint, text, task, step=0)
    every: tuple[Head | SubLayer, ...] = (*heads_of(checkpoint), *sub_layers_of(checkpoint))
    for ablated in off:
        if ablated not in every:
            kind, layer, part = ablated
            name = f"head {part + 1} in layer" if isinstance(part, int) else f"{part} layer"
            raise OutOfRange(f"This model has no {name} {layer + 1} of its {kind}.")
    before, after = ask(question, 2, edits=without(checkpoint, [(), off], values(question, by))).logs
    first, second = best(question, before, k), best(question, after, k)
    ids = sorted({*first.ids, *second.ids}, key=lambda i: (-float(before[i]), i))
    return Ablation(
        tuple(candidate for candidate in every if candidate in off),
        first,
        second,
        tuple(
            Change(token, i, math.exp(before[i]), math.exp(after[i]))
            for token, i in zip(names(question, ids), ids, strict=True)
        ),
        float(kl_bits(before, after)),
    )


def rank_heads(
    checkpoint: Checkpoint, text: str, *, task: str | None = None, step: int = 0, by: By = "zero"
) -> tuple[HeadEffect, ...]:
    """The effect of each head, ablated alone, on the prediction for ``text``; the largest first.

    Arguments as for `core.language.makers.inputs`, errors as :func:`ablate_heads`.
    """
    question = inputs(checkpoint, text, task, step)
    intact = ask(question, keep={"pattern", "mask"})
    sharp = _sharpness(checkpoint, intact.recorded)
    effects = [
        HeadEffect(**effect, head=head, sharpness=sharp.get(head))
        for head, effect in _each(question, intact.logs[0], heads_of(checkpoint), by)
    ]
    return tuple(sorted(effects, key=lambda effect: -effect.bits))


def rank_layers(
    checkpoint: Checkpoint, text: str, *, task: str | None = None, by: By = "zero"
) -> tuple[LayerEffect, ...]:
    """The same of each feed-forward layer and each whole layer, in their order; empty where they are not known."""
    question = inputs(checkpoint, text, task, step=0)
    effects = _each(question, ask(question).logs[0], sub_layers_of(checkpoint), by)
    return tuple(LayerEffect(**effect, layer=layer) for layer, effect in effects)


def _each(
    question: Inputs, log_probabilities: Tensor, parts: Sequence[P], by: By
) -> Iterator[tuple[P, dict[str, Any]]]:
    """Each part, with the fields of an :class:`Effect`; ``log_probabilities`` (V,) are those of the whole model."""
    top = int(log_probabilities.argmax())
    before = math.exp(log_probabilities[top])
    in_place = values(question, by)
    rows = max(1, AT_ONCE // (len(question.tokens) + len(question.source)))
    for start in range(0, len(parts), rows):
        tried = parts[start : start + rows]
        logs = ask(question, len(tried), edits=without(question.checkpoint, [(part,) for part in tried], in_place)).logs
        answers = names(question, logs.argmax(-1).tolist())
        bits = kl_bits(log_probabilities, logs)
        for row, part in enumerate(tried):
            after = math.exp(logs[row, top])
            yield part, {"bits": float(bits[row]), "before": before, "after": after, "answer": answers[row]}


def values(question: Inputs, by: By) -> dict[Site, Tensor]:
    """What stands in place of ablated outputs, (1 or m, ...) by site; empty for zero."""
    if by == "zero":
        return {}
    checkpoint = question.checkpoint
    texts = REFERENCE if by == "mean" else REFERENCE[-1:]
    runs = [_reference(checkpoint, text, question.task) for text in texts]
    if by == "other":
        return {site: tensor[0] for site, tensor in runs[0].tensors.items()}
    tokens = {site: torch.cat([recorded.tensors[site][0] for recorded in runs]) for site in runs[0].tensors}
    return {site: tensor.mean(0, keepdim=True) for site, tensor in tokens.items()}


def _reference(checkpoint: Checkpoint, text: str, task: str | None) -> Run:
    """The pass over a text of `REFERENCE`; an encoder-decoder's decoder reads its first tokens alone."""
    question = inputs(checkpoint, text, task, target="")
    keep = {"z", "mlp_out"}
    if task is None or checkpoint.spec.offers("rewrites"):
        return run(checkpoint.model, question.tensors, keep=keep)
    with recording(keep) as recorded:
        checkpoint.model.answer(question.tensors, task)
    return recorded


def without(
    checkpoint: Checkpoint, off: Sequence[Collection[Head | SubLayer]], in_place: Mapping[Site, Tensor] | None = None
) -> dict[Site, Edit]:
    """The edits of a pass whose row r is computed without the heads and layers of ``off[r]``.

    Args:
        in_place: of their outputs, as :func:`values` has them; zero by default.
    """
    heads = _counts(checkpoint)
    gates: dict[Site, Tensor] = {}
    edits: dict[Site, Edit] = {}
    for row, ablated in enumerate(off):
        for kind, layer, part in ablated:
            if part == "whole":
                passed = edits.setdefault(Site(kind, layer, "resid_pre"), _Passed())
                assert isinstance(passed, _Passed)
                passed.rows.append(row)
                edits[Site(kind, layer, "resid_post")] = passed.on
                continue
            name = "z" if isinstance(part, int) else "mlp_out"
            for stream in checkpoint.spec.family.streams_of(kind):
                shape = (len(off), heads[kind, layer]) if isinstance(part, int) else (len(off),)
                gate = gates.setdefault(Site(stream, layer, name), torch.ones(shape))
                gate[(row, part) if isinstance(part, int) else row] = 0
    for site, gate in gates.items():
        edits[site] = partial(_gated, gate, (in_place or {}).get(site))
    return edits


def _gated(gate: Tensor, value: Tensor | None, output: Tensor) -> Tensor:
    """``output`` (R, n, ...) where ``gate`` (R,) or (R, H) is 1, elsewhere ``value`` (m, ...)."""
    gate = gate[:, None, :, None] if gate.dim() == 2 else gate[:, None, None]
    if value is None:
        return output * gate
    return torch.where(gate == 1, output, value[torch.arange(output.shape[1]) % len(value)])


class _Passed:
    """What a layer reads, passed on in some rows of a pass in place of what it makes of it."""

    def __init__(self) -> None:
        self.rows: list[int] = []

    def __call__(self, read: Tensor) -> Tensor:
        self.read = read
        return read

    def on(self, made: Tensor) -> Tensor:
        passed = made.clone()
        passed[self.rows] = self.read[self.rows]
        return passed


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


class SubLayer(NamedTuple):
    """A feed-forward layer, or a whole layer; from 0."""

    kind: MapKind
    layer: int
    part: Literal["feed-forward", "whole"]


def sub_layers_of(checkpoint: Checkpoint) -> tuple[SubLayer, ...]:
    """The feed-forward layers and the layers of a checkpoint; none where they are not known or carry two streams."""
    if not has_blueprint(checkpoint) or "query" in checkpoint.spec.family.streams or checkpoint.spec.offers("hashing"):
        return ()
    return tuple(
        SubLayer(stack.kind, layer.layer, part)
        for stack in stacks(checkpoint)
        for layer in plan_of(checkpoint).layers[stack.kind]
        for part in ("feed-forward", "whole")
    )


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
