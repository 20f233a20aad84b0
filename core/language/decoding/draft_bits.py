r"""How surprising a text is to the model that checked it, token by token.

The large model reads the beginning and everything that was written in one pass. With :math:`p_t` its probabilities for
the token at place t,

.. math:: s_t = -\log_2 p_t(x_t), \qquad H_t = -\sum_v p_t(v) \log_2 p_t(v)

are surprise and entropy, as in plain decoding (`core.language.types.Spread`). A refused token stood where the large
model's own stands, so its surprise is that of the same :math:`p_t`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from core.checkpoints.spec import Checkpoint
from core.language.decode import banned_ids, without
from core.language.decoding.draft import Drafted


@dataclass(frozen=True, slots=True)
class Bits:
    """What the large model makes of one token, in bits."""

    surprise: float
    entropy: float
    """The surprise that it expects there."""


@dataclass(frozen=True, slots=True)
class RoundBits:
    """The tokens of one round."""

    written: tuple[Bits, ...]
    refused: Bits | None
    """Of the first drafted token that was not accepted."""


def bits(checkpoint: Checkpoint, prompt: Sequence[int], found: Drafted) -> tuple[RoundBits, ...]:
    """For each round what its tokens are to the large model, before any rule.

    Args:
        prompt: the n ids that the text began with, at least one.
    """
    import torch

    model: Any = checkpoint.model
    ids = found.ids
    with torch.inference_mode():
        feed = torch.tensor([[*prompt, *ids]], device=model.device)
        scores = model(feed).logits[0, len(prompt) - 1 : -1].float()
        logs = without(scores, banned_ids(model)).log_softmax(-1)
        entropy: list[float] = (torch.special.entr(logs.exp()).sum(-1) / math.log(2)).tolist()

    def one(place: int, token: int) -> Bits:
        return Bits(-float(logs[place, token]) / math.log(2), entropy[place])

    out: list[RoundBits] = []
    at = 0
    for round_ in found.rounds:
        written = tuple(one(at + i, token) for i, token in enumerate(round_.written))
        right = round_.accepted
        checked = right < min(len(round_.drafted), len(round_.written))  # not where the text ends with an accepted one
        refused = one(at + right, round_.drafted[right]) if checked else None
        out.append(RoundBits(written, refused))
        at += len(round_.written)
    return tuple(out)
