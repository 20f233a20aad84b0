"""One step: from the scores of the whole vocabulary to the token that is taken, and what else could have come."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from core.language import choose
from core.language.decoding.rules import chain
from core.language.decoding.wording import Wording
from core.language.types import Alternative, Alternatives, Decoding, Spread

if TYPE_CHECKING:
    from torch import Tensor

ALTERNATIVES = 10
"""How many of a step's most probable tokens are reported."""


def pick(
    scores: Tensor, decoding: Decoding, index: int, forced: int | None, wording: Wording, before: Sequence[int]
) -> tuple[Alternative, Alternatives, Spread]:
    """The token taken at step ``index``, the most probable ones, and how the probabilities are spread.

    Args:
        scores: (V,) of the model.
        forced: the token to take whatever the scores say.
        before: the ids that the decoder has read.
    """
    import torch

    with torch.inference_mode():
        logs = scores.log_softmax(-1)
        chances = logs.exp()
        best = chances.topk(min(ALTERNATIVES, scores.shape[-1]))
        top: list[int] = best.indices.tolist()
        own: list[float] = best.values.tolist()
        ruled = chain(scores, decoding, before)
        if decoding.strategy == "sample":
            kept = ruled.softmax(-1)
            token = choose.draw(kept, decoding.seed, index) if forced is None else forced
            after: list[float] = [*kept[best.indices].tolist(), float(kept[token])]
        else:
            kept = ruled.softmax(-1)
            winner = int(ruled.argmax())
            token = winner if forced is None else forced
            after = [float(i == winner) for i in (*top, token)]
        own.append(own[top.index(token)] if token in top else float(chances[token]))
        spread = Spread(-float(logs[token]) / math.log(2), bits(chances), bits(kept), int((kept > 0).sum()))
    taken = Alternative(token, wording.token(token), own.pop(), after.pop())
    return taken, Alternatives(tuple(top), tuple(map(wording.token, top)), tuple(own), tuple(after)), spread


def bits(chances: Tensor) -> float:
    """The entropy of probabilities (V,) in bits; 0 log 0 is 0."""
    import torch

    return float(torch.special.entr(chances).sum()) / math.log(2)


def why(token: int, text: str, decoding: Decoding, ends: Collection[int], otherwise: str) -> str:
    """Why the generation is over with this token and text; ``otherwise`` where neither ends it."""
    if token in ends:
        return "end"
    return "stop" if any(stop in text for stop in decoding.stop) else otherwise
