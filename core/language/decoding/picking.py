"""One step: from the scores of the whole vocabulary to the token that is taken, and what else could have come.

From probabilities to the next token: settings that make sense, and a choice that can be replayed.

What the rules make of a model's scores stands in `core.language.decoding.rules`.

The random number of a step depends on the seed and the number of the step alone. So a step that is taken back and
taken again falls the same way, and a change at step 5 leaves the dice of step 6 as they were.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np

from core.errors import OutOfRange
from core.language.decoding.rules import chain
from core.language.tokens import Wording
from core.language.types import Alternative, Alternatives, Decoding, Spread

if TYPE_CHECKING:
    from torch import Tensor

MAX_STOPS = 8
MAX_STOP_CHARS = 60


def check(decoding: Decoding) -> None:
    """Raise :class:`OutOfRange`, saying what is allowed, when a setting makes no sense."""
    if not 0.01 <= decoding.temperature <= 100:
        raise OutOfRange(f"The temperature must lie from 0.01 to 100, not {decoding.temperature:g}.")
    if decoding.top_k < 0:
        raise OutOfRange(f"Top-k must be 0 (no truncation) or more, not {decoding.top_k}.")
    if not 0 < decoding.top_p <= 1:
        raise OutOfRange(f"Top-p must lie above 0 and be at most 1 (no truncation), not {decoding.top_p:g}.")
    if not 0 <= decoding.min_p <= 1:
        raise OutOfRange(f"Min-p must lie from 0 (no truncation) to 1, not {decoding.min_p:g}.")
    if not 0 < decoding.typical <= 1:
        raise OutOfRange(
            f"The typical mass must lie above 0 and be at most 1 (no truncation), not {decoding.typical:g}."
        )
    if not 0.1 <= decoding.penalty <= 10:
        raise OutOfRange(f"The repetition penalty must lie from 0.1 to 10 (1: none), not {decoding.penalty:g}.")
    if not 0 <= decoding.no_repeat <= 100:
        raise OutOfRange(f"N-grams that may not repeat have 1 to 100 tokens (0: all may), not {decoding.no_repeat}.")
    if decoding.length_penalty is not None and not -10 <= decoding.length_penalty <= 10:
        raise OutOfRange(f"The length penalty must lie from -10 to 10, not {decoding.length_penalty:g}.")
    if len(decoding.stop) > MAX_STOPS or any(not 0 < len(stop) <= MAX_STOP_CHARS for stop in decoding.stop):
        raise OutOfRange(f"Up to {MAX_STOPS} texts of 1 to {MAX_STOP_CHARS} characters may end a generation.")
    if not 1 <= decoding.beams <= 64:
        raise OutOfRange(f"The number of beams must lie from 1 to 64, not {decoding.beams}.")
    if decoding.max_new_tokens < 1:
        raise OutOfRange("At least one new token must be asked for.")
    if decoding.seed < 0:
        raise OutOfRange("The seed must be 0 or more.")


def draw(chances: Tensor, seed: int, step: int) -> int:
    """A token drawn from ``chances`` (V,), which sum to one, with the dice of this seed and step."""
    sums = chances.double().cumsum(-1)
    point = np.random.default_rng((seed, step)).random() * float(sums[-1])
    return min(int((sums <= point).sum()), chances.shape[-1] - 1)


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
        chances = scores.softmax(-1)
        best = chances.topk(min(ALTERNATIVES, scores.shape[-1]))
        top: list[int] = best.indices.tolist()
        own: list[float] = best.values.tolist()
        ruled = chain(scores, decoding, before)
        untouched = ruled is scores and decoding.strategy != "sample"
        kept = chances if untouched else ruled.softmax(-1)
        if decoding.strategy == "sample":
            token = draw(kept, decoding.seed, index) if forced is None else forced
            after: list[float] = [*kept[best.indices].tolist(), float(kept[token])]
        else:
            # The first of the highest scores; where the two most probable tokens differ, that is known already.
            winner = top[0] if untouched and own[0] > own[min(1, len(own) - 1)] else int(ruled.argmax())
            token = winner if forced is None else forced
            after = [float(i == winner) for i in (*top, token)]
        own.append(own[top.index(token)] if token in top else float(chances[token]))
        entropy, left = spread_of(chances, scores, (top[0], own[0]))
        kept_entropy = entropy
        if not untouched:
            kept_entropy, left = spread_of(kept, ruled)
        # A probability may be too small for its number; its logarithm is not.
        surprise = -math.log2(own[-1]) if own[-1] > 0 else -float(scores.log_softmax(-1)[token]) / math.log(2)
    taken = Alternative(token, wording.token(token), own.pop(), after.pop())
    spread = Spread(surprise, entropy, kept_entropy, left)
    return taken, Alternatives(tuple(top), tuple(map(wording.token, top)), tuple(own), tuple(after)), spread


def spread_of(chances: Tensor, scores: Tensor, best: tuple[int, float] | None = None) -> tuple[float, int]:
    r"""The entropy in bits of ``chances`` (V,), the softmax of ``scores`` (V,), and how many tokens are possible.

    :math:`\log Z - \sum_w p_w z_w`, one product over the vocabulary, with :math:`\log Z = z_w - \log p_w`. A score of
    minus infinity has no share in it.

    Args:
        best: the most probable w and its probability, where they are known.
    """
    at, chance = best or (at := int(chances.argmax()), float(chances[at]))
    mean, possible = float(chances @ scores), len(scores)
    if math.isnan(mean):  # 0 times minus infinity
        never = scores.isneginf()
        mean, possible = float(chances @ scores.masked_fill(never, 0)), possible - int(never.sum())
    return max(0.0, float(scores[at]) - math.log(chance) - mean) / math.log(2), possible


def why(token: int, text: str, decoding: Decoding, ends: Collection[int], otherwise: str) -> str:
    """Why the generation is over with this token and text; ``otherwise`` where neither ends it."""
    if token in ends:
        return "end"
    return "stop" if any(stop in text for stop in decoding.stop) else otherwise
