r"""Masked spans, predicted a second time from their boundaries: SpanBERT's two objectives.

A span has :math:`\ell` words with

.. math:: P(\ell) = \frac{p (1 - p)^{\ell - 1}}{1 - (1 - p)^{10}}, \qquad \ell = 1, \dots, 10, \quad p = 0.2,

a geometric distribution truncated at 10; its mean is 3.80. Spans start at the start of a word and are sampled until
15% of the tokens are masked; the last one ends where the number is reached. Adjacent spans count as one. A whole span
becomes masks (80%), random tokens (10%), or is unchanged (10%).

Each token :math:`x_i` of a span from :math:`s` to :math:`e` is predicted twice,

.. math:: L(x_i) = -\log p(x_i \mid h_i) - \log p(x_i \mid y_i), \qquad y_i = f(h_{s-1}, h_{e+1}, p_{i-s+1}),

once from its own last state :math:`h_i`, and once from those of the two tokens outside the span and an embedding of
the token's distance from the left one; :math:`f` has two layers with GELU and layer normalization. Joshi et al. (2020),
sections 3.1 and 3.2.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from core.objectives import masked
from core.objectives.example import Example
from core.objectives.masked import RATE, Settings
from core.objectives.whole_words import members

P = 0.2
LONGEST = 10


class Boundary(NamedTuple):
    """The input positions from which a token of a span is predicted, besides its own."""

    position: int
    left: int
    right: int
    distance: int
    """From the left boundary: 1 for the span's first token."""


def chances(longest: int = LONGEST) -> NDArray[np.float64]:
    """(longest,) probabilities of lengths 1, ..., longest, in words."""
    raw = P * (1 - P) ** np.arange(longest)
    return np.asarray(raw / raw.sum(), dtype=np.float64)


def lengths(count: int, rng: np.random.Generator, law: NDArray[np.float64] | None = None) -> NDArray[np.int64]:
    """(count,) sampled lengths, before any span is cut short; ``law`` has the probabilities of 1, 2, ... words."""
    law = chances() if law is None else law
    return np.asarray(1 + rng.choice(len(law), count, p=law), dtype=np.int64)


def choose(
    words: Sequence[int],
    rng: np.random.Generator,
    *,
    rate: float = RATE,
    law: NDArray[np.float64] | None = None,
    fixed: Collection[int] = (),
) -> tuple[tuple[int, ...], ...]:
    """The spans as positions, in the order of the text.

    Args:
        words: the number of the word at each position.
        law: probabilities of spans of 1, 2, ... words; SpanBERT's by default.
    """
    all_words = members(words, fixed)
    room = masked.budget(sum(map(len, all_words)), rate, rng) if all_words else 0
    masked_positions: set[int] = set()
    while len(masked_positions) < room:
        free = [index for index, word in enumerate(all_words) if word[0] not in masked_positions]
        if not free:
            break
        start, length = int(rng.choice(free)), int(lengths(1, rng, law)[0])
        for at, word in enumerate(all_words[start : start + length]):
            # A special token between two words ends the span, and so does the number of tokens to mask.
            if at and word[0] != all_words[start + at - 1][-1] + 1:
                break
            masked_positions.update(word[: max(0, room - len(masked_positions - set(word)))])
    return group_adjacent(sorted(masked_positions))


def group_adjacent(positions: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Ascending positions, grouped into spans of adjacent ones."""
    result: list[list[int]] = []
    for position in positions:
        if result and result[-1][-1] == position - 1:
            result[-1].append(position)
        else:
            result.append([position])
    return tuple(map(tuple, result))


def corrupt(
    tokens: Sequence[str],
    words: Sequence[int],
    vocabulary: Sequence[str],
    rng: np.random.Generator,
    *,
    longest: int = LONGEST,
    **settings: Unpack[Settings],
) -> Example:
    """As `core.objectives.masked.corrupt`; the cells of a span share a ``group`` and are changed alike."""
    rate, fixed = settings.get("rate", RATE), settings.get("fixed", ())
    chosen = choose(words, rng, rate=rate, law=chances(longest), fixed=fixed)
    return masked.mask_groups(tokens, chosen, vocabulary, rng, **settings)


def boundaries(example: Example) -> tuple[Boundary, ...]:
    """What each masked token is predicted from in the second loss; none for a span at an end of the input."""
    result: list[Boundary] = []
    for span in group_adjacent(example.targets):
        left, right = span[0] - 1, span[-1] + 1
        if left >= 0 and right < len(example.source):
            result.extend(Boundary(position, left, right, position - left) for position in span)
    return tuple(result)
