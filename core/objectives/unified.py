r"""One model under three kinds of attention mask (UniLM: Dong et al., 2019, arXiv 1905.03197, sections 2.3 and 2.4).

Tokens are always masked and predicted in the same way; what changes is the attention mask, a matrix M that is added to
the scores, 0 or :math:`-\infty`:

==========  ==========================================  =====================================  ================
name        attends to                                  input                                  share of a batch
==========  ==========================================  =====================================  ================
both        all tokens                                  [SOS] first [EOS] second [EOS]         1/3
seq2seq     the first text; of the second itself and    [SOS] first [EOS] second [EOS]         1/3
            the tokens before it
left        itself and the tokens before it             [SOS] text [EOS]                       1/6
right       itself and the tokens after it              [SOS] text [EOS]                       1/6
==========  ==========================================  =====================================  ================

.. math:: A = \mathrm{softmax}\big(Q K^\top / \sqrt{d_k} + M\big) V

15% of the tokens are chosen: 80% become the mask, 10% a random token, 10% are unchanged. Four times in five one
token is chosen, else two or three neighbors. The paper gives no shares of those two; here both are equally likely.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Literal

import numpy as np

from core.arrays import Bools
from core.errors import InputUnusable
from core.objectives import masked
from core.objectives.example import Example, Visible

UnifiedMask = Literal["both", "seq2seq", "left", "right"]
SHARES: dict[UnifiedMask, float] = {"both": 1 / 3, "seq2seq": 1 / 3, "left": 1 / 6, "right": 1 / 6}
SINGLE = 0.8


def sample_mask(rng: np.random.Generator) -> UnifiedMask:
    """The attention mask of one row, sampled with the published shares."""
    return list(SHARES)[int(rng.choice(len(SHARES), p=list(SHARES.values())))]


def attention_mask(kind: UnifiedMask, length: int, first: int) -> Bools:
    """(length, length) True where the query (row) attends to the key (column); the first text has ``first`` tokens."""
    before = np.tri(length, dtype=np.bool_)
    if kind == "both":
        return np.ones((length, length), dtype=np.bool_)
    if kind == "left":
        return before
    if kind == "right":
        return before.T.copy()
    in_first = np.arange(length) < first
    return np.asarray(in_first | (before & ~in_first[:, None]), dtype=np.bool_)


def choose(count: int, rng: np.random.Generator, rate: float, fixed: frozenset[int]) -> list[list[int]]:
    """Groups of targets, in the order of the text: single tokens, two or three neighbors, up to the rate."""
    free = set(masked.ordinary(count, fixed))
    least = len(free) - masked.budget(len(free), rate, rng)
    groups: list[list[int]] = []
    while len(free) > least:
        size = 1 if rng.random() < SINGLE else int(rng.integers(2, 4))
        start = sorted(free)[int(rng.integers(len(free)))]
        group = range(start, start + min(size, len(free) - least))
        groups.append(list(takewhile(free.__contains__, group)))
        free -= {*groups[-1]}
    return sorted(groups)


def corrupt(
    first: Sequence[str],
    second: Sequence[str],
    vocabulary: Sequence[str],
    rng: np.random.Generator,
    kind: UnifiedMask,
    *,
    rate: float = masked.RATE,
    mask: str = "[MASK]",
    begin: str = "[SOS]",
    end: str = "[EOS]",
    special: Collection[str] = (),
) -> Example:
    """Masked tokens under one of the attention masks.

    Args:
        first, second: two texts as tokens; ``left`` and ``right`` read them as one.
        special: special tokens, which stay unchanged where a visitor typed them.

    Raises:
        InputUnusable: no token; or one text alone where two are needed.
    """
    if not first and not second:
        raise InputUnusable("There is no token to mask. Type a sentence of a few words.")
    paired = kind in ("both", "seq2seq")
    if paired and not (first and second):
        raise InputUnusable("This mask needs two texts. Type two sentences, each with its stop.")
    opening = (begin, *first, end) if paired else (begin,)
    row = (*opening, *(second if paired else (*first, *second)), end)
    typed = {at for at, token in enumerate(row) if token in special}
    fixed = frozenset({0, len(row) - 1, *({len(opening) - 1} if paired else ()), *typed})
    groups = choose(len(row), rng, rate, fixed)
    example = masked.mask_groups(row, groups, vocabulary, rng, mask=mask, fixed=fixed)
    cells = tuple(replace(cell, segment=int(paired and at >= len(opening))) for at, cell in enumerate(example.source))
    names = tuple(cell.token for cell in cells)
    visible = Visible("encoder", names, names, attention_mask(kind, len(row), len(opening) if paired else 0))
    return replace(example, source=cells, visible=(visible,))
