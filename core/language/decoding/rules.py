r"""Logits processors and the choice of the next token.

With :math:`z_w` the score of token :math:`w`, :math:`p = \mathrm{softmax}(z)` and :math:`x` the tokens before it:

penalty      :math:`z_w \leftarrow z_w / \theta` for :math:`z_w \ge 0`, :math:`\theta z_w` below 0, for every w in x
             (after Keskar et al. 2019, arXiv 1909.05858; the case below 0 is transformers')
no_repeat    :math:`z_w \leftarrow -\infty` where w would complete an n-gram that x contains
temperature  :math:`z_w \leftarrow z_w / T`
top_k        keeps the k highest scores (Fan et al. 2018, arXiv 1805.04833), and ties with the last of them
top_p        keeps the smallest set of most probable tokens that reaches p (Holtzman et al. 2020, arXiv 1904.09751)
min_p        keeps :math:`p_w \ge m \max_v p_v` (Nguyen et al. 2024, arXiv 2407.01082)
typical      keeps the smallest set of tokens whose surprisal is nearest the entropy H, by
             :math:`|-\ln p_w - H|`, that reaches the mass (Meister et al. 2023, arXiv 2202.00666)

Each is computed by its processor in transformers. Truncated scores are minus infinity. The order is that of
``generate`` in transformers: penalty, no_repeat, then for sampling temperature, top_k, top_p, min_p, typical. Scores
have shape (V,).

The next token is the most probable of the remaining ones, or sampled with a random number that depends on the seed and
the step alone. So an undone and repeated step samples the same token, and a change at step 5 does not affect the random
number of step 6.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import Any, Literal

import numpy as np

from core.errors import OutOfRange
from core.language.tokens import Wording
from core.language.types import Alternative, Alternatives, Decoding, Spread
from core.lazy import Tensor, torch
from core.settings import raised_with, settings

Rule = Literal["penalty", "no_repeat", "temperature", "top_k", "top_p", "min_p", "typical"]
ORDER: tuple[Rule, ...] = ("penalty", "no_repeat", "temperature", "top_k", "top_p", "min_p", "typical")
_OFF = Decoding()
"""Its values change nothing."""
_ALWAYS: tuple[Rule, ...] = ("penalty", "no_repeat")
"""Rules of every strategy; the others are for sampling."""
_PROCESSORS: dict[Rule, str] = {
    "penalty": "RepetitionPenaltyLogitsProcessor",
    "no_repeat": "NoRepeatNGramLogitsProcessor",
    "temperature": "TemperatureLogitsWarper",
    "top_k": "TopKLogitsWarper",
    "top_p": "TopPLogitsWarper",
    "min_p": "MinPLogitsWarper",
    "typical": "TypicalLogitsWarper",
}
"""The class of transformers that applies each rule."""
MAX_STOPS = 8
MAX_STOP_CHARS = 60
ALTERNATIVES = 10
"""How many of a step's most probable tokens are reported."""
_ALLOWED: tuple[tuple[str, Callable[[Any], bool], str], ...] = (
    ("temperature", lambda t: 0.01 <= t <= 100, "The temperature must lie from 0.01 to 100"),
    ("top_k", lambda k: k >= 0, "Top-k must be 0 (no truncation) or more"),
    ("top_p", lambda p: 0 < p <= 1, "Top-p must lie above 0 and be at most 1 (no truncation)"),
    ("min_p", lambda m: 0 <= m <= 1, "Min-p must lie from 0 (no truncation) to 1"),
    ("typical", lambda m: 0 < m <= 1, "The typical mass must lie above 0 and be at most 1 (no truncation)"),
    ("penalty", lambda p: 0.1 <= p <= 10, "The repetition penalty must lie from 0.1 to 10 (1: none)"),
    ("no_repeat", lambda n: 0 <= n <= 100, "N-grams that may not repeat have 1 to 100 tokens (0: all may)"),
    ("length_penalty", lambda a: a is None or -10 <= a <= 10, "The length penalty must lie from -10 to 10"),
    ("seed", lambda seed: seed >= 0, "The seed must be 0 or more"),
)
"""Fields of a `Decoding` with a test of allowed values and the sentence for others."""


def check(decoding: Decoding) -> None:
    """Raise :class:`OutOfRange`, with the allowed range, for an invalid setting."""
    for name, allows, sentence in _ALLOWED:
        if not allows(value := getattr(decoding, name)):
            raise OutOfRange(f"{sentence}, not {value:g}.")
    for name, what in (("beams", "The number of beams"), ("max_new_tokens", "The number of new tokens")):
        value, limit = getattr(decoding, name), f"max_{name.removeprefix('max_')}"
        most = getattr(settings(), limit)
        if not 1 <= value <= most:
            raise OutOfRange(f"{what} must lie from 1 to {most}, not {value:g}. {raised_with(limit)}")
    if len(decoding.stop) > MAX_STOPS or any(not 0 < len(stop) <= MAX_STOP_CHARS for stop in decoding.stop):
        raise OutOfRange(f"Up to {MAX_STOPS} texts of 1 to {MAX_STOP_CHARS} characters may end a generation.")


def active_rules(decoding: Decoding) -> tuple[tuple[Rule, float], ...]:
    """The rules of ``decoding`` with their values, in order."""
    rules = ORDER if decoding.strategy == "sample" else _ALWAYS
    return tuple((rule, getattr(decoding, rule)) for rule in rules if getattr(decoding, rule) != getattr(_OFF, rule))


def chain(scores: Tensor, decoding: Decoding, before: Sequence[int]) -> Tensor:
    """``scores`` after all rules of ``decoding``.

    Args:
        before: the ids before the next token, prompt included.
    """
    for rule, value in active_rules(decoding):
        scores = apply(scores, rule, value, before)
    return scores


def apply(scores: Tensor, rule: Rule, value: float, before: Sequence[int]) -> Tensor:
    """``scores`` after one rule, by the processor of transformers."""
    from transformers.generation import logits_process as processors

    number = int(value) if rule in ("top_k", "no_repeat") else float(value)  # the library takes no other type
    processor = getattr(processors, _PROCESSORS[rule])(number)
    processed: Tensor = processor(torch.tensor([list(before)], device=scores.device), scores[None])[0]
    return processed


def sample(probabilities: Tensor, seed: int, step: int) -> int:
    """A token sampled from ``probabilities`` (V,) with the random number of this seed and step."""
    sums = probabilities.double().cumsum(-1)
    point = np.random.default_rng((seed, step)).random() * float(sums[-1])
    return min(int((sums <= point).sum()), probabilities.shape[-1] - 1)


def pick(
    scores: Tensor, decoding: Decoding, index: int, forced: int | None, wording: Wording, before: Sequence[int]
) -> tuple[Alternative, Alternatives, Spread]:
    """The token of step ``index``, the most probable tokens, and the spread of the probabilities.

    Args:
        scores: (V,) of the model.
        forced: the token to choose regardless of the scores.
        before: the ids before it.
    """
    with torch.inference_mode():
        probabilities = scores.softmax(-1)
        best = probabilities.topk(min(ALTERNATIVES, scores.shape[-1]))
        top: list[int] = best.indices.tolist()
        shares: list[float] = best.values.tolist()
        ruled = chain(scores, decoding, before)
        untouched = ruled is scores and decoding.strategy != "sample"
        ruled_probabilities = probabilities if untouched else ruled.softmax(-1)
        if decoding.strategy == "sample":
            token = sample(ruled_probabilities, decoding.seed, index) if forced is None else forced
            after: list[float] = [*ruled_probabilities[best.indices].tolist(), float(ruled_probabilities[token])]
        else:
            # argmax takes the first of equal scores; without a tie it is the most probable token.
            winner = top[0] if untouched and shares[0] > shares[min(1, len(shares) - 1)] else int(ruled.argmax())
            token = winner if forced is None else forced
            after = [float(i == winner) for i in (*top, token)]
        shares.append(shares[top.index(token)] if token in top else float(probabilities[token]))
        entropy, possible_tokens = spread_of(probabilities, scores, (top[0], shares[0]))
        processed_entropy = entropy
        if not untouched:
            processed_entropy, possible_tokens = spread_of(ruled_probabilities, ruled)
        # A probability may underflow; its logarithm does not.
        surprisal = -math.log2(shares[-1]) if shares[-1] > 0 else -float(scores.log_softmax(-1)[token]) / math.log(2)
    token_taken = Alternative(token, wording.token(token), shares.pop(), after.pop())
    spread = Spread(surprisal, entropy, processed_entropy, possible_tokens)
    return token_taken, Alternatives.of(top, [wording.token(i) for i in top], shares, after), spread


def spread_of(chances: Tensor, scores: Tensor, best: tuple[int, float] | None = None) -> tuple[float, int]:
    r"""The entropy in bits of ``chances`` (V,), the softmax of ``scores`` (V,), and how many tokens are possible.

    :math:`\log Z - \sum_w p_w z_w`, one product over the vocabulary, with :math:`\log Z = z_w - \log p_w`. A score of
    minus infinity adds nothing.

    Args:
        best: the most probable w and its probability, if known.
    """
    at, chance = best or (at := int(chances.argmax()), float(chances[at]))
    mean, possible = float(chances @ scores), len(scores)
    if math.isnan(mean):  # 0 times minus infinity
        never = scores.isneginf()
        mean, possible = float(chances @ scores.masked_fill(never, 0)), possible - int(never.sum())
    return max(0.0, float(scores[at]) - math.log(chance) - mean) / math.log(2), possible


def end_reason(token: int, text: str, decoding: Decoding, ends: Collection[int], otherwise: str) -> str:
    """Why the generation ends with this token and text; ``otherwise`` where neither ends it."""
    if token in ends:
        return "end"
    return "stop" if any(stop in text for stop in decoding.stop) else otherwise
