r"""What a live model makes of an example: the loss :math:`-\log p` at each place that is asked, and its best guess.

All losses are in nats; a nat is :math:`1 / \ln 2 = 1.44` bits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from core.checkpoints.spec import Checkpoint
from core.language.limits import check_length
from core.objectives.example import Example

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
    ids = _ids(checkpoint, [cell.token for cell in example.source])
    with torch.inference_mode():
        logits = masked_logits(checkpoint.model, torch.tensor([ids], device=checkpoint.model.device), places)
    return Losses(source=_paid(checkpoint, example, places, logits), options=logits.shape[-1])


def of_next(checkpoint: Checkpoint, example: Example) -> Losses:
    """A causal model, at every place of ``source`` that is asked."""
    import torch

    check_length(checkpoint, len(example.source))
    places = example.asked
    ids = _ids(checkpoint, [cell.token for cell in example.source])
    with torch.inference_mode():
        logits = checkpoint.model(input_ids=torch.tensor([ids], device=checkpoint.model.device)).logits[0]
    return Losses(source=_paid(checkpoint, example, places, logits[list(places)]), options=logits.shape[-1])


def _ids(checkpoint: Checkpoint, tokens: Sequence[str]) -> list[int]:
    return [int(i) for i in checkpoint.tokenizer.convert_tokens_to_ids(list(tokens))]


def _paid(checkpoint: Checkpoint, example: Example, places: Sequence[int], logits: Tensor) -> dict[int, PlaceLoss]:
    """From (M, V) scores at the places."""
    targets = _ids(checkpoint, [example.source[place].target or "" for place in places])
    logs = logits.float().log_softmax(-1)
    best = logs.max(-1)
    names = checkpoint.tokenizer.convert_ids_to_tokens(best.indices.tolist())
    return {
        place: PlaceLoss(-float(logs[row, target]), str(names[row]), math.exp(float(best.values[row])))
        for row, (place, target) in enumerate(zip(places, targets, strict=True))
    }
