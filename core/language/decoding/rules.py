r"""The rules between a model's scores and its next token, each a function from scores to scores.

With :math:`z_w` the score of token :math:`w`, :math:`p = \mathrm{softmax}(z)` and :math:`x` what was read before:

penalty      :math:`z_w \leftarrow z_w / \theta` for :math:`z_w \ge 0`, :math:`\theta z_w` below 0, for every w in x
             (after Keskar et al. 2019, arXiv 1909.05858; the case below 0 is transformers')
no_repeat    :math:`z_w \leftarrow -\infty` where w would end a run of n tokens that stands in x already
temperature  :math:`z_w \leftarrow z_w / T`
top_k        keeps the k highest scores (Fan et al. 2018, arXiv 1805.04833), and what ties with the last of them
top_p        keeps the smallest set of most probable tokens that reaches p (Holtzman et al. 2020, arXiv 1904.09751)
min_p        keeps :math:`p_w \ge m \max_v p_v` (Nguyen et al. 2024, arXiv 2407.01082)
typical      keeps the smallest set of tokens whose surprise is nearest the entropy H, by
             :math:`|-\ln p_w - H|`, that reaches the mass (Meister et al. 2023, arXiv 2202.00666)

What is cut is minus infinity. The order is that of transformers' ``generate``: penalty, no_repeat, then for sampling
temperature, top_k, top_p, min_p, typical; each works on what the one before it left. All scores have shape (V,).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from core.language.types import Decoding

if TYPE_CHECKING:
    from torch import Tensor

Rule = Literal["penalty", "no_repeat", "temperature", "top_k", "top_p", "min_p", "typical"]
ORDER: tuple[Rule, ...] = ("penalty", "no_repeat", "temperature", "top_k", "top_p", "min_p", "typical")
_OFF: dict[Rule, float] = {
    "penalty": 1.0,
    "no_repeat": 0,
    "temperature": 1.0,
    "top_k": 0,
    "top_p": 1.0,
    "min_p": 0.0,
    "typical": 1.0,
}
_ALWAYS: tuple[Rule, ...] = ("penalty", "no_repeat")
"""Rules of every strategy; the others are for sampling."""
_NEVER = float("-inf")


def in_force(decoding: Decoding) -> tuple[tuple[Rule, float], ...]:
    """The rules that change something under ``decoding``, each with its value, in order."""
    rules = ORDER if decoding.strategy == "sample" else _ALWAYS
    return tuple((rule, getattr(decoding, rule)) for rule in rules if getattr(decoding, rule) != _OFF[rule])


def chain(scores: Tensor, decoding: Decoding, before: Sequence[int]) -> Tensor:
    """``scores`` after all rules of ``decoding``.

    Args:
        before: the ids that the decoder has read, prompt and all.
    """
    for rule, value in in_force(decoding):
        scores = apply(scores, rule, value, before)
    return scores


def apply(scores: Tensor, rule: Rule, value: float, before: Sequence[int]) -> Tensor:
    """``scores`` after one rule."""
    match rule:
        case "penalty":
            return penalized(scores, before, value)
        case "no_repeat":
            return unrepeated(scores, before, int(value))
        case "temperature":
            return scores / value
        case "top_k":
            return top_k(scores, int(value))
        case "top_p":
            return top_p(scores, value)
        case "min_p":
            return min_p(scores, value)
        case "typical":
            return typical(scores, value)


def penalized(scores: Tensor, before: Sequence[int], penalty: float) -> Tensor:
    """Every token of ``before`` made less likely; below 1 the penalty makes it more likely."""
    import torch

    seen = torch.zeros_like(scores, dtype=torch.bool)
    seen[[i for i in set(before) if i < len(scores)]] = True
    return torch.where(seen, torch.where(scores < 0, scores * penalty, scores / penalty), scores)


def unrepeated(scores: Tensor, before: Sequence[int], n: int) -> Tensor:
    """No token that would end a run of ``n`` tokens which ``before`` holds already."""
    start = tuple(before[len(before) - n + 1 :])
    if len(before) < n or len(start) != n - 1:
        return scores
    runs = (tuple(before[i : i + n]) for i in range(len(before) - n + 1))
    banned = sorted({run[-1] for run in runs if run[:-1] == start and run[-1] < len(scores)})
    scores = scores.clone()
    scores[banned] = _NEVER
    return scores


def top_k(scores: Tensor, k: int) -> Tensor:
    """The ``k`` highest scores, and those that equal the last of them."""
    last = scores.topk(min(k, len(scores))).values[-1]
    return scores.masked_fill(scores < last, _NEVER)


def top_p(scores: Tensor, p: float) -> Tensor:
    """The most probable tokens: what the less probable ones up to a token sum to must exceed 1 - p."""
    ordered, order = scores.sort()
    out = ordered.softmax(-1).cumsum(-1) <= 1 - p
    out[-1] = False
    return scores.masked_fill(out.new_zeros(len(out)).scatter(0, order, out), _NEVER)


def min_p(scores: Tensor, share: float) -> Tensor:
    """Tokens with at least ``share`` of the probability of the most probable one."""
    chances = scores.softmax(-1)
    best = chances.amax()
    return scores.masked_fill((chances < share * best) & (chances < best), _NEVER)


def typical(scores: Tensor, mass: float) -> Tensor:
    """Tokens whose surprise is nearest the entropy, until they reach ``mass``; who ties with the last one stays."""
    logs = scores.log_softmax(-1)
    entropy = -(logs * logs.exp()).nansum()
    distance, order = (-logs - entropy).abs().sort()
    reached = scores[order].softmax(-1).cumsum(-1)
    last = min(int((reached < mass).sum()), len(scores) - 1)
    out = distance > distance[last]
    out[0] = False
    return scores.masked_fill(out.new_zeros(len(out)).scatter(0, order, out), _NEVER)
