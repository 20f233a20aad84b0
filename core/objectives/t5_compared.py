"""The objectives that T5 compared, on one text (Raffel et al., 2019, arXiv 1910.10683, table 3).

prefix    the first half is the input, the rest the target
bert      of the chosen tokens 90% are masked, 10% become random tokens; the target is the whole text
shuffle   all tokens in another order; the target is the whole text
mass      as bert, with masks alone
replace   adjacent chosen tokens become one sentinel; the target is the sentinels with their tokens (the baseline)
drop      chosen tokens are deleted; the target is these tokens

Tokens are chosen one by one, so that spans arise by chance; the same ones in bert, mass, replace and drop.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from core.objectives import masked
from core.objectives.sentinels import RATE
from core.objectives.spans import group_adjacent

MASK = "<M>"
KINDS = ("prefix", "bert", "shuffle", "mass", "replace", "drop")
Pair = tuple[tuple[str, ...], tuple[str, ...]]
"""Input and target."""


def compared(
    tokens: Sequence[str],
    vocabulary: Sequence[str],
    rng: np.random.Generator,
    *,
    rate: float = RATE,
    special: Collection[str] = (),
) -> dict[str, Pair]:
    """Input and target of each kind; ``special`` tokens stay as they are."""
    text, half = tuple(tokens), len(tokens) // 2
    free = np.asarray([token not in special for token in text], dtype=np.bool_)
    chosen = [int(at) for at in np.flatnonzero(masked.choose(free, rng, rate=rate))]
    random = [vocabulary[int(rng.integers(len(vocabulary)))] if rng.random() < 0.1 else MASK for _ in text]
    shuffled = tuple(text[int(at)] for at in rng.permutation(len(text)))
    marks = {span[0]: f"<extra_id_{number}>" for number, span in enumerate(group_adjacent(chosen))}
    left = [marks.get(at) if at in chosen else token for at, token in enumerate(text)]
    gone = [part for at in chosen for part in (marks.get(at), text[at]) if part]
    return {
        "prefix": (text[:half], text[half:]),
        "bert": (tuple(random[at] if at in chosen else token for at, token in enumerate(text)), text),
        "shuffle": (shuffled, text),
        "mass": (tuple(MASK if at in chosen else token for at, token in enumerate(text)), text),
        "replace": (tuple(filter(None, left)), (*gone, f"<extra_id_{len(marks)}>")),
        "drop": (
            tuple(token for at, token in enumerate(text) if at not in chosen),
            tuple(text[at] for at in chosen),
        ),
    }
