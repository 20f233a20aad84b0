"""From scores to the next token: temperature, top-k, top-p, and a choice that can be replayed.

With z_w the score of token w, T the temperature:

    p_T(w) = exp(z_w / T) / Σ_v exp(z_v / T)

* top-k keeps the k tokens with the highest scores;
* top-p (nucleus sampling, Holtzman et al. 2020, arXiv:1904.09751) keeps the smallest set of most probable tokens
  whose probabilities sum to at least p;
* what is kept is scaled to sum to one again. The order is temperature, then top-k, then top-p.

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


def check(decoding: Decoding) -> None:
    """Raise :class:`OutOfRange`, saying what is allowed, when a setting makes no sense."""
    if not 0.01 <= decoding.temperature <= 100:
        raise OutOfRange(f"The temperature must lie from 0.01 to 100, not {decoding.temperature:g}.")
    if decoding.top_k < 0:
        raise OutOfRange(f"Top-k must be 0 (no cut) or more, not {decoding.top_k}.")
    if not 0 < decoding.top_p <= 1:
        raise OutOfRange(f"Top-p must lie above 0 and be at most 1 (no cut), not {decoding.top_p:g}.")
    if not 1 <= decoding.beams <= 64:
        raise OutOfRange(f"The number of beams must lie from 1 to 64, not {decoding.beams}.")
    if decoding.max_new_tokens < 1:
        raise OutOfRange("At least one new token must be asked for.")
    if decoding.seed < 0:
        raise OutOfRange("The seed must be 0 or more.")


def kept_scores(scores: Tensor, decoding: Decoding) -> Tensor:
    """``scores`` (V,) after temperature and cuts; what is cut is minus infinity."""
    import torch

    scores = scores / decoding.temperature
    cut = 0 < decoding.top_k < scores.shape[-1]
    if not cut and decoding.top_p >= 1:
        return scores
    # Only what top-k leaves has to be put in order for top-p.
    ordered, order = scores.topk(decoding.top_k) if cut else scores.sort(descending=True)
    if decoding.top_p < 1:
        chances = ordered.softmax(-1)
        # A token stays when the more probable ones before it do not reach p yet; the first always stays.
        out = chances.cumsum(-1) - chances >= decoding.top_p
        out[0] = False
        ordered = ordered.masked_fill(out, float("-inf"))
    return torch.full_like(scores, float("-inf")).scatter(0, order, ordered)


def draw(chances: Tensor, seed: int, step: int) -> int:
    """A token drawn from ``chances`` (V,), which sum to one, with the dice of this seed and step."""
    sums = chances.double().cumsum(-1)
    point = np.random.default_rng((seed, step)).random() * float(sums[-1])
    return min(int((sums <= point).sum()), chances.shape[-1] - 1)
