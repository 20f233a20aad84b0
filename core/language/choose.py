"""From probabilities to the next token: settings that make sense, and a choice that can be replayed.

What the rules make of a model's scores stands in `core.language.decoding.rules`.

The random number of a step depends on the seed and the number of the step alone. So a step that is taken back and
taken again falls the same way, and a change at step 5 leaves the dice of step 6 as they were.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from core.errors import OutOfRange
from core.language.types import Decoding

if TYPE_CHECKING:
    from torch import Tensor

MAX_STOPS = 8
MAX_STOP_CHARS = 60


def check(decoding: Decoding) -> None:
    """Raise :class:`OutOfRange`, saying what is allowed, when a setting makes no sense."""
    if not 0.01 <= decoding.temperature <= 100:
        raise OutOfRange(f"The temperature must lie from 0.01 to 100, not {decoding.temperature:g}.")
    if decoding.top_k < 0:
        raise OutOfRange(f"Top-k must be 0 (no cut) or more, not {decoding.top_k}.")
    if not 0 < decoding.top_p <= 1:
        raise OutOfRange(f"Top-p must lie above 0 and be at most 1 (no cut), not {decoding.top_p:g}.")
    if not 0 <= decoding.min_p <= 1:
        raise OutOfRange(f"Min-p must lie from 0 (no cut) to 1, not {decoding.min_p:g}.")
    if not 0 < decoding.typical <= 1:
        raise OutOfRange(f"The typical mass must lie above 0 and be at most 1 (no cut), not {decoding.typical:g}.")
    if not 0.1 <= decoding.penalty <= 10:
        raise OutOfRange(f"The repetition penalty must lie from 0.1 to 10 (1: none), not {decoding.penalty:g}.")
    if not 0 <= decoding.no_repeat <= 100:
        raise OutOfRange(f"Runs that may not repeat have 1 to 100 tokens (0: all may), not {decoding.no_repeat}.")
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
