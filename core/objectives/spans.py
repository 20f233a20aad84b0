r"""Spans hidden, and their borders asked: SpanBERT's two objectives.

A span has :math:`\ell` words with

.. math:: P(\ell) = \frac{p (1 - p)^{\ell - 1}}{1 - (1 - p)^{10}}, \qquad \ell = 1, \dots, 10, \quad p = 0.2,

a geometric law cut off at 10 and made to sum to one; its mean is 3.80. Spans begin at the beginning of a word and are
drawn until 15 % of the tokens are hidden; the last one ends where the number is reached. Spans that touch count as
one. A whole span becomes masks (80 %), random tokens (10 %), or stays (10 %).

Each token :math:`x_i` of a span from :math:`s` to :math:`e` is asked twice,

.. math:: L(x_i) = -\log p(x_i \mid h_i) - \log p(x_i \mid y_i), \qquad y_i = f(h_{s-1}, h_{e+1}, p_{i-s+1}),

once from its own last vector :math:`h_i`, and once from those of the two tokens outside the span and a vector for how
far the token stands from the left one; :math:`f` has two layers with GELU and layer normalization. Joshi et al. (2020),
sections 3.1 and 3.2.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from core.objectives import masked
from core.objectives.example import Example
from core.objectives.masked import RATE, Settings
from core.objectives.whole_words import members

P = 0.2
LONGEST = 10


@dataclass(frozen=True, slots=True)
class Boundary:
    """What one token of a span is asked from, besides its own place. All are indices of the input."""

    place: int
    left: int
    right: int
    distance: int
    """From the left boundary: 1 for the span's first token."""


def chances(p: float = P, longest: int = LONGEST) -> NDArray[np.float64]:
    """(longest,) probabilities of lengths 1, ..., longest, in words."""
    raw = p * (1 - p) ** np.arange(longest)
    return np.asarray(raw / raw.sum(), dtype=np.float64)


def lengths(count: int, rng: np.random.Generator, p: float = P, longest: int = LONGEST) -> NDArray[np.int64]:
    """(count,) lengths as they are drawn, before any span is cut short."""
    return np.asarray(1 + rng.choice(longest, count, p=chances(p, longest)), dtype=np.int64)


def choose(
    words: Sequence[int],
    rng: np.random.Generator,
    *,
    rate: float = RATE,
    p: float = P,
    longest: int = LONGEST,
    fixed: Collection[int] = (),
) -> tuple[tuple[int, ...], ...]:
    """The spans, each as its places, in the order of the text. ``words`` has the number of the word at each place."""
    all_words = members(words, fixed)
    room = masked.budget(sum(map(len, all_words)), rate, rng) if all_words else 0
    hidden: set[int] = set()
    while len(hidden) < room:
        free = [index for index, word in enumerate(all_words) if word[0] not in hidden]
        if not free:
            break
        start, length = int(rng.choice(free)), int(lengths(1, rng, p, longest)[0])
        for at, word in enumerate(all_words[start : start + length]):
            # A token of the format between two words ends the span; so does the number of tokens to hide.
            if at and word[0] != all_words[start + at - 1][-1] + 1:
                break
            hidden.update(word[: max(0, room - len(hidden - set(word)))])
    return runs(sorted(hidden))


def runs(places: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Ascending places as runs of neighbors."""
    found: list[list[int]] = []
    for place in places:
        if found and found[-1][-1] == place - 1:
            found[-1].append(place)
        else:
            found.append([place])
    return tuple(map(tuple, found))


def corrupt(
    tokens: Sequence[str],
    words: Sequence[int],
    vocabulary: Sequence[str],
    rng: np.random.Generator,
    *,
    p: float = P,
    longest: int = LONGEST,
    **settings: Unpack[Settings],
) -> Example:
    """As `core.objectives.masked.corrupt`; the cells of a span share a ``group`` and a fate."""
    rate, fixed = settings.get("rate", RATE), settings.get("fixed", ())
    chosen = choose(words, rng, rate=rate, p=p, longest=longest, fixed=fixed)
    return masked.hide_groups(tokens, chosen, vocabulary, rng, **settings)


def boundaries(example: Example) -> tuple[Boundary, ...]:
    """From where each hidden token is asked a second time; none for a span that reaches an end of the input."""
    found: list[Boundary] = []
    for span in runs(example.asked):
        left, right = span[0] - 1, span[-1] + 1
        if left >= 0 and right < len(example.source):
            found.extend(Boundary(place, left, right, place - left) for place in span)
    return tuple(found)
