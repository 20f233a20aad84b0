r"""What a live model makes of an example: the loss :math:`-\log p` at each place that is asked, and its top prediction.

All losses are in nats; a nat is :math:`1 / \ln 2 = 1.44` bits. Models are asked in the way in which they were trained:
encoders at masks, decoders for the next token, others in an order of their own or with a translation beside the text.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from core.checkpoints.families.architectures import has, word_head
from core.checkpoints.spec import Checkpoint
from core.errors import InputUnusable
from core.language import bilingual, permuted
from core.language.limits import check_length
from core.language.tokens import label
from core.objectives.example import Cell, Example

if TYPE_CHECKING:
    from torch import Tensor

BITS = 1 / math.log(2)
"""Bits in a nat."""


@dataclass(frozen=True, slots=True)
class PlaceLoss:
    """What one place costs."""

    nats: float
    """:math:`-\\log p` of the target."""
    guess: str = ""
    """The answer that the model gives most, as its vocabulary writes it."""
    chance: float = 0.0
    """The probability of that answer."""

    @property
    def bits(self) -> float:
        return self.nats * BITS

    @property
    def probability(self) -> float:
        """Of the target."""
        return math.exp(-self.nats)


@dataclass(frozen=True, slots=True)
class Losses:
    """Of one example. Indices count the cells of ``source`` and of ``decoder``."""

    source: Mapping[int, PlaceLoss] = field(default_factory=dict)
    decoder: Mapping[int, PlaceLoss] = field(default_factory=dict)
    labels: Mapping[int, PlaceLoss] = field(default_factory=dict)
    """By index of the example's labels."""
    choices: Mapping[int, tuple[float, ...]] = field(default_factory=dict)
    """By index of the example's labels: the probability of each choice."""
    options: int | None = None
    """Among how many answers each place chooses: what knows nothing pays log(options)."""

    @property
    def mean(self) -> float | None:
        """Mean over the places, in nats; None where there is none."""
        paid = [place.nats for place in (*self.source.values(), *self.decoder.values())]
        return sum(paid) / len(paid) if paid else None


def of_masks(checkpoint: Checkpoint, example: Example) -> Losses:
    """An encoder with a masked-word head, at every place of ``source`` that is asked.

    :raises InputTooLong: more tokens than the model has positions.
    """
    import torch

    from core.language.fill_mask import masked_logits

    check_length(checkpoint, len(example.source))
    places = example.asked
    if not places:
        return Losses()
    model = checkpoint.model
    with torch.inference_mode():
        ids = torch.tensor([ids_of(checkpoint, [cell.token for cell in example.source])], device=model.device)
        head = word_head(model)
        if head is not None and any(cell.segment for cell in example.source):
            types = torch.tensor([[cell.segment for cell in example.source]], device=model.device)
            states = model.base_model(input_ids=ids, token_type_ids=types)[0]  # (1, n, d)
            logits = head(states[:, list(places)])[0]
        else:
            logits = masked_logits(model, ids, places)
    return Losses(source=paid_at(checkpoint, example.source, places, logits), options=logits.shape[-1])


def of_next(checkpoint: Checkpoint, example: Example) -> Losses:
    """A causal model, at every place of ``source`` that is asked."""
    import torch

    check_length(checkpoint, len(example.source))
    places = example.asked
    if not places:
        return Losses()
    ids = ids_of(checkpoint, [cell.token for cell in example.source])
    with torch.inference_mode():
        logits = checkpoint.model(input_ids=torch.tensor([ids], device=checkpoint.model.device)).logits[0]
    return Losses(source=paid_at(checkpoint, example.source, places, logits[list(places)]), options=logits.shape[-1])


def of_pair(pairs: Checkpoint, example: Example) -> Losses:
    """The head for pairs of an encoder (`core.language.pairs`), at the first label of a pair of segments.

    :param pairs: the ``pairs`` part of a checkpoint; its first answer is the first choice of the label.
    """
    import torch

    check_length(pairs, len(example.source))
    ids = ids_of(pairs, [cell.token for cell in example.source])
    types = [cell.segment for cell in example.source]
    with torch.inference_mode():
        out = pairs.model(input_ids=torch.tensor([ids]), token_type_ids=torch.tensor([types]))
    scores = out.sop_logits if has(pairs.model.config, "sentence order") else out.logits  # (1, 2)
    logs = scores[0].float().log_softmax(-1).tolist()
    label = example.labels[0]
    best = max(range(len(logs)), key=logs.__getitem__)
    paid = PlaceLoss(-logs[label.answer], label.choices[best], math.exp(logs[best]))
    return Losses(labels={0: paid}, choices={0: tuple(math.exp(log) for log in logs)})


def of_verdicts(judge: Checkpoint, example: Example) -> Losses:
    """A detector of replaced tokens, at every place of ``source`` that is asked whether it is original.

    The guess of each place is "replaced", with the judge's probability of that.
    """
    from core.language.replaced import verdicts
    from core.objectives.replaced import REPLACED

    check_length(judge, len(example.source))
    found = verdicts(judge, ids_of(judge, [cell.token for cell in example.source]))
    paid = {}
    for place in example.asked:
        chance = min(max(found[place], 1e-12), 1 - 1e-12)
        right = chance if example.source[place].target == REPLACED else 1 - chance
        paid[place] = PlaceLoss(-math.log(right), REPLACED, chance)
    return Losses(source=paid, options=2)


def ids_of(checkpoint: Checkpoint, tokens: Sequence[str]) -> list[int]:
    """The ids of pieces as the vocabulary writes them."""
    return [int(i) for i in checkpoint.tokenizer.convert_tokens_to_ids(list(tokens))]


def paid_at(
    checkpoint: Checkpoint, cells: Sequence[Cell], places: Sequence[int], logits: Tensor
) -> dict[int, PlaceLoss]:
    """What ``places`` of ``cells`` cost, by (M, V) scores or log-probabilities at them."""
    targets = ids_of(checkpoint, [cells[place].target or "" for place in places])
    logs = logits.float().log_softmax(-1)
    best = logs.max(-1)
    names = checkpoint.tokenizer.convert_ids_to_tokens(best.indices.tolist())
    return {
        place: PlaceLoss(-float(logs[row, target]), str(names[row]), math.exp(float(best.values[row])))
        for row, (place, target) in enumerate(zip(places, targets, strict=True))
    }


def of_written(checkpoint: Checkpoint, example: Example) -> Losses:
    """An encoder-decoder, at every place of ``decoder``.

    :raises InputTooLong: more tokens on either side than the model has positions.
    """
    import torch

    check_length(checkpoint, max(len(example.source), len(example.decoder)))
    device = checkpoint.model.device
    read, written = (
        torch.tensor([ids_of(checkpoint, [cell.token for cell in cells])], device=device)
        for cells in (example.source, example.decoder)
    )
    with torch.inference_mode():
        logits = checkpoint.model(input_ids=read, decoder_input_ids=written).logits[0]
    places = [at for at, cell in enumerate(example.decoder) if cell.target is not None]
    return Losses(decoder=paid_at(checkpoint, example.decoder, places, logits[places]), options=logits.shape[-1])


def of_order(checkpoint: Checkpoint, example: Example) -> Losses:
    """A permutation language model, at every place of the example's order, each given those before it.

    :raises InputTooLong: more tokens than the model has positions.
    """
    check_length(checkpoint, len(example.source))
    row = ids_of(checkpoint, [cell.token for cell in example.source])
    logs = permuted.in_order(checkpoint.model, row, example.order)
    return Losses(source=paid_at(checkpoint, example.source, example.order, logs), options=logs.shape[-1])


def of_translation(checkpoint: Checkpoint, example: Example) -> Losses:
    """An XLM, at every place that is asked; each cell says its language and its position.

    :raises InputTooLong: more tokens in a sentence than the model has positions.
    :raises InputUnusable: the model has no vectors for both languages.
    """
    languages = bilingual.numbers(checkpoint)
    positions = [int(cell.position or 0) for cell in example.source]
    check_length(checkpoint, max(positions) + 1)
    row = bilingual.Row(
        tuple(ids_of(checkpoint, [cell.token for cell in example.source])),
        tuple(languages[cell.segment] for cell in example.source),
        tuple(positions),
    )
    if not example.asked:
        return Losses()
    logits = bilingual.scores(checkpoint.model, row, example.asked)
    return Losses(source=paid_at(checkpoint, example.source, example.asked, logits), options=logits.shape[-1])


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """A teacher and its student on one damaged text of n tokens, at m hidden ones."""

    teacher: NDArray[np.float32]  # (m, V) scores
    student: NDArray[np.float32]  # (m, V)
    truth: NDArray[np.int64]  # (m,) what stood there
    states: tuple[NDArray[np.float32], NDArray[np.float32]]  # (n, d) last states of both
    names: tuple[str, ...]
    """All V pieces as labels."""


def scored(teacher: Checkpoint, student: Checkpoint, example: Example) -> Scored:
    """Scores and states of two models with one vocabulary.

    :raises InputTooLong: more tokens than a model has positions.
    :raises InputUnusable: the vocabularies differ, or nothing is asked.
    """
    if len(teacher.tokenizer) != len(student.tokenizer):
        raise InputUnusable(f"{student.spec.name} and {teacher.spec.name} have different vocabularies.")
    if not example.asked:
        raise InputUnusable("No token is masked. Type a sentence of a few words.")
    for one in (teacher, student):
        check_length(one, len(example.source))
    truth = ids_of(teacher, [example.source[place].target or "" for place in example.asked])
    row = ids_of(teacher, [cell.token for cell in example.source])
    (t_scores, t_states), (s_scores, s_states) = (_read(one, row, example) for one in (teacher, student))
    names = tuple(label(teacher.tokenizer, i) for i in range(t_scores.shape[-1]))
    return Scored(t_scores, s_scores, np.asarray(truth, dtype=np.int64), (t_states, s_states), names)


def _read(checkpoint: Checkpoint, row: list[int], example: Example) -> tuple[Any, Any]:
    """(m, V) scores at the asked places and (n, d) last states."""
    import torch

    model: Any = checkpoint.model
    with torch.inference_mode():
        out = model(input_ids=torch.tensor([row], device=model.device), output_hidden_states=True)
    logits: Tensor = out.logits if "logits" in out else out.prediction_logits
    scores = logits[0, list(example.asked)].float().cpu().numpy()
    return scores, out.hidden_states[-1][0].float().cpu().numpy()
