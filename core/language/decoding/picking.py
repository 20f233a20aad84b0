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
        untouched = ruled is scores and decoding.strategy != "sample"
        kept = chances if untouched else ruled.softmax(-1)
        if decoding.strategy == "sample":
            token = choose.draw(kept, decoding.seed, index) if forced is None else forced
            after: list[float] = [*kept[best.indices].tolist(), float(kept[token])]
        else:
            # The first of the highest scores; where the two most probable tokens differ, that is known already.
            winner = top[0] if untouched and own[0] > own[min(1, len(own) - 1)] else int(ruled.argmax())
            token = winner if forced is None else forced
            after = [float(i == winner) for i in (*top, token)]
        own.append(own[top.index(token)] if token in top else float(chances[token]))
        entropy = bits(chances, logs)
        kept_entropy = entropy if kept is chances else bits(kept)
        spread = Spread(-float(logs[token]) / math.log(2), entropy, kept_entropy, int(kept.count_nonzero()))
    taken = Alternative(token, wording.token(token), own.pop(), after.pop())
    return taken, Alternatives(tuple(top), tuple(map(wording.token, top)), tuple(own), tuple(after)), spread


def bits(chances: Tensor, logs: Tensor | None = None) -> float:
    """The entropy of probabilities (V,) in bits; 0 log 0 is 0. ``logs``: their natural logarithms, where known."""
    # The logarithm of 0 becomes a number, and 0 times a number is 0. torch.special.entr takes three times as long.
    logs = (chances.log() if logs is None else logs).clamp(min=-200)
    return max(0.0, -float(chances @ logs)) / math.log(2)


def why(token: int, text: str, decoding: Decoding, ends: Collection[int], otherwise: str) -> str:
    """Why the generation is over with this token and text; ``otherwise`` where neither ends it."""
    if token in ends:
        return "end"
    return "stop" if any(stop in text for stop in decoding.stop) else otherwise
