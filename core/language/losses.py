r"""The losses of a live model on an example: :math:`-\log p` at each position with a target, and its top prediction.

All losses are in nats; a nat is :math:`1 / \ln 2 = 1.44` bits. Each model predicts as in its training: encoders at
masks, decoders the next token, others in a factorization order or with a translation.

Shapes: n tokens, M positions with a loss, V vocabulary size, d hidden size.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from core.checkpoints.families.architectures import word_head
from core.checkpoints.spec import Checkpoint
from core.errors import InputUnusable
from core.language import bilingual, permuted
from core.language.fill_mask import masked_logits
from core.language.pairs import pair_scores
from core.language.replaced import detector_probabilities
from core.language.tokens import check_length, label, pieces_of
from core.lazy import Tensor, torch
from core.objectives.example import Cell, Example
from core.objectives.replaced import REPLACED
from core.run.model import Model, call

BITS = 1 / math.log(2)
"""Bits in a nat."""
LossKind = Literal["masks", "next", "order", "translation", "written", "pair", "verdicts"]


@dataclass(frozen=True, slots=True)
class PositionLoss:
    nats: float
    """:math:`-\\log p` of the target."""
    prediction: str = ""
    """The model's top prediction, as its vocabulary entry."""
    prediction_probability: float = 0.0

    @property
    def bits(self) -> float:
        return self.nats * BITS

    @property
    def probability(self) -> float:
        """Of the target."""
        return math.exp(-self.nats)


@dataclass(frozen=True, slots=True)
class Losses:
    """The losses of one example. Indices count the cells of ``source`` and of ``decoder``."""

    source: Mapping[int, PositionLoss] = field(default_factory=dict)
    decoder: Mapping[int, PositionLoss] = field(default_factory=dict)
    labels: Mapping[int, PositionLoss] = field(default_factory=dict)
    """By index of the example's labels."""
    choices: Mapping[int, tuple[float, ...]] = field(default_factory=dict)
    """By index of the example's labels: the probability of each choice."""
    options: int | None = None
    """The number of classes at each position: random guessing has the loss log(options)."""

    @property
    def mean(self) -> float | None:
        """Mean over the positions, in nats; None where there is none."""
        nats = [loss.nats for loss in (*self.source.values(), *self.decoder.values())]
        return sum(nats) / len(nats) if nats else None


def losses(checkpoint: Checkpoint, example: Example, kind: LossKind) -> Losses:
    """The losses of ``example``.

    Args:
        kind: how the model predicts. ``masks``: an encoder, masked tokens. ``next``: a causal model, the next token.
            ``order``: a permutation language model, along the example's order. ``translation``: an XLM, masked tokens
            of two sentences whose cells state language and position. ``written``: an encoder-decoder, the tokens of
            the decoder. ``pair``: the head for pairs of an encoder (its ``pairs`` part), the example's label.
            ``verdicts``: a discriminator, whether a token was replaced; its prediction is always "replaced".

    Raises:
        InputTooLong: more tokens than the model has positions.
        InputUnusable: an XLM without embeddings of both languages.
    """
    positions = [i if cell.position is None else cell.position for i, cell in enumerate(example.source)]
    check_length(checkpoint, max(*positions, len(example.decoder) - 1, 0) + 1)
    ids = _ids(checkpoint, example.source)
    if kind == "pair":
        return _of_pair(checkpoint, example, ids)
    cells = example.decoder or example.source
    targets = example.order or tuple(i for i, cell in enumerate(cells) if cell.target is not None)
    if not targets:
        return Losses()
    if kind == "verdicts":
        return _of_discriminator(checkpoint, example, ids)
    with torch.inference_mode():
        logits = _LOGITS[kind](checkpoint, example, ids, targets)
    by_position, options = _losses_at(checkpoint, cells, targets, logits), logits.shape[-1]
    if example.decoder:
        return Losses(decoder=by_position, options=options)
    return Losses(source=by_position, options=options)


def _at_masks(checkpoint: Checkpoint, example: Example, ids: Tensor, positions: Sequence[int]) -> Tensor:
    head, segments = word_head(checkpoint.model), _segments(example, ids)
    if head is None or not segments.any():
        return masked_logits(checkpoint.model, ids, positions)
    states = call(checkpoint.model.base_model, input_ids=ids, token_type_ids=segments)[0]  # (1, n, d)
    scores: Tensor = head(states[:, list(positions)])[0]
    return scores


def _next(checkpoint: Checkpoint, example: Example, ids: Tensor, positions: Sequence[int]) -> Tensor:
    scores: Tensor = call(checkpoint.model, input_ids=ids).logits[0, list(positions)]
    return scores


def _in_order(checkpoint: Checkpoint, example: Example, ids: Tensor, positions: Sequence[int]) -> Tensor:
    return permuted.in_order(checkpoint.model, ids[0].tolist(), positions)


def _with_translation(checkpoint: Checkpoint, example: Example, ids: Tensor, targets: Sequence[int]) -> Tensor:
    languages = bilingual.numbers(checkpoint)
    langs = ids.new_tensor([[languages[cell.segment] for cell in example.source]])
    places = ids.new_tensor([[int(cell.position or 0) for cell in example.source]])
    row = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "langs": langs, "position_ids": places}
    return bilingual.scores(checkpoint.model, row, targets)


def _of_decoder(checkpoint: Checkpoint, example: Example, ids: Tensor, positions: Sequence[int]) -> Tensor:
    out = call(checkpoint.model, input_ids=ids, decoder_input_ids=_ids(checkpoint, example.decoder))
    scores: Tensor = out.logits[0, list(positions)]
    return scores


_LOGITS: dict[LossKind, Callable[[Checkpoint, Example, Tensor, Sequence[int]], Tensor]] = {
    "masks": _at_masks,
    "next": _next,
    "order": _in_order,
    "translation": _with_translation,
    "written": _of_decoder,
}
"""Functions that return logits or log-probabilities (M, V) at the positions with a loss."""


def _of_pair(pairs: Checkpoint, example: Example, ids: Tensor) -> Losses:
    """The classes of the head are the choices of the example's first label, in order."""
    logs = pair_scores(pairs, ids, _segments(example, ids))[0].log_softmax(-1).tolist()
    pair_label = example.labels[0]
    best = max(range(len(logs)), key=logs.__getitem__)
    loss = PositionLoss(-logs[pair_label.answer], pair_label.choices[best], math.exp(logs[best]))
    return Losses(labels={0: loss}, choices={0: tuple(math.exp(log) for log in logs)})


def _of_discriminator(discriminator: Checkpoint, example: Example, ids: Tensor) -> Losses:
    probabilities = detector_probabilities(discriminator, ids[0].tolist())
    by_position = {}
    for position in example.targets:
        replaced = min(max(probabilities[position], 1e-12), 1 - 1e-12)
        right = replaced if example.source[position].target == REPLACED else 1 - replaced
        by_position[position] = PositionLoss(-math.log(right), REPLACED, replaced)
    return Losses(source=by_position, options=2)


def ids_of(checkpoint: Checkpoint, tokens: Sequence[str]) -> list[int]:
    """The ids of vocabulary entries."""
    return [int(i) for i in checkpoint.tokenizer.convert_tokens_to_ids(list(tokens))]


def _ids(checkpoint: Checkpoint, cells: Sequence[Cell]) -> Tensor:
    """The ids (1, n) of the cells' tokens."""
    return torch.tensor([ids_of(checkpoint, [cell.token for cell in cells])], device=checkpoint.model.device)


def _segments(example: Example, ids: Tensor) -> Tensor:
    """The segment ids (1, n) of the cells."""
    return ids.new_tensor([[cell.segment for cell in example.source]])


def _losses_at(
    checkpoint: Checkpoint, cells: Sequence[Cell], positions: Sequence[int], logits: Tensor
) -> dict[int, PositionLoss]:
    """The losses at ``positions`` of ``cells``, from logits or log-probabilities (M, V)."""
    targets = ids_of(checkpoint, [cells[position].target or "" for position in positions])
    logs = logits.float().log_softmax(-1)
    best = logs.max(-1)
    names = pieces_of(checkpoint.tokenizer, best.indices.tolist())
    return {
        position: PositionLoss(-float(logs[row, target]), names[row], math.exp(float(best.values[row])))
        for row, (position, target) in enumerate(zip(positions, targets, strict=True))
    }


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """A teacher and its student on one corrupted text of n tokens, at M masked ones."""

    teacher: NDArray[np.float32]  # (M, V) scores
    student: NDArray[np.float32]  # (M, V)
    truth: NDArray[np.int64]  # (M,) the original tokens
    states: tuple[NDArray[np.float32], NDArray[np.float32]]  # (n, d) last hidden states of both
    names: tuple[str, ...]
    """All V vocabulary entries as labels."""


def scored(teacher: Checkpoint, student: Checkpoint, example: Example) -> Scored:
    """Logits and hidden states of two models with the same vocabulary.

    Raises:
        InputTooLong: more tokens than a model has positions.
        InputUnusable: the vocabularies differ, or no token has a loss.
    """
    if len(teacher.tokenizer) != len(student.tokenizer):
        raise InputUnusable(f"{student.spec.name} and {teacher.spec.name} have different vocabularies.")
    if not example.targets:
        raise InputUnusable("No token is masked. Type a sentence of a few words.")
    for model in (teacher, student):
        check_length(model, len(example.source))
    truth = ids_of(teacher, [example.source[position].target or "" for position in example.targets])
    ids = _ids(teacher, example.source)
    (t_scores, t_states), (s_scores, s_states) = (_read(m.model, ids, example.targets) for m in (teacher, student))
    names = tuple(label(teacher.tokenizer, i) for i in range(t_scores.shape[-1]))
    return Scored(t_scores, s_scores, np.asarray(truth, dtype=np.int64), (t_states, s_states), names)


def _read(model: Model, ids: Tensor, positions: Sequence[int]) -> tuple[Any, Any]:
    """Logits (M, V) at ``positions`` and last hidden states (n, d)."""
    with torch.inference_mode():
        out = call(model, input_ids=ids, output_hidden_states=True)
    logits: Tensor = out.logits if "logits" in out else out["prediction_logits"]
    return logits[0, list(positions)].float().cpu().numpy(), out.hidden_states[-1][0].float().cpu().numpy()
