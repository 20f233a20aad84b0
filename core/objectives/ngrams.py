r"""N-gram masking: spans of up to three words, shorter ones more often (ALBERT: Lan et al., 2019, arXiv 1909.11942).

.. math:: p(n) = \frac{1/n}{\sum_{k=1}^{N} 1/k}, \qquad N = 3: \quad p = \tfrac{6}{11}, \tfrac{3}{11}, \tfrac{2}{11}

is the probability of an n-gram of n whole words. They are sampled until 15% of the tokens are chosen, as in
`core.objectives.spans`; each chosen token is masked, replaced or unchanged (80, 10, 10%) by itself. The loss is that of
`core.objectives.masked`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from core.objectives import masked, spans
from core.objectives.example import Example
from core.objectives.masked import RATE, Settings

LONGEST = 3


def chances(longest: int = LONGEST) -> NDArray[np.float64]:
    """(longest,) probabilities of n-grams of 1, ..., longest words."""
    raw = 1 / np.arange(1, longest + 1)
    return np.asarray(raw / raw.sum(), dtype=np.float64)


def corrupt(
    tokens: Sequence[str],
    words: Sequence[int],
    vocabulary: Sequence[str],
    rng: np.random.Generator,
    *,
    longest: int = LONGEST,
    **settings: Unpack[Settings],
) -> Example:
    """As `core.objectives.spans.corrupt`; the cells of an n-gram share a ``group``."""
    rate, fixed = settings.get("rate", RATE), settings.get("fixed", ())
    chosen = spans.choose(words, rng, rate=rate, law=chances(longest), fixed=fixed)
    return masked.mask_groups(tokens, chosen, vocabulary, rng, shared=False, **settings)
