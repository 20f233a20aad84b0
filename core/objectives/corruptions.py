"""The five corruptions of BART (Lewis et al., 2020, section 2.2), on token ids.

==============  ====================================================================================================
mask            each token becomes the mask token with probability 0.15
delete          each token is left out with probability 0.15: where something is missing must be found, too
infill          spans of Poisson(3) tokens, 30 % of the tokens in all, each become *one* mask token; a span of no
                token puts a mask between two
permute         the sentences change places
rotate          the text begins at a token drawn at random, and what stood before it follows at the end
==============  ====================================================================================================

Every function takes a text as a list of sentences (lists of ids, at least one id in all) and its own random generator,
and gives a flat list of ids. Nothing but masks is added, so that a text is never longer than before, except by masks of
empty spans.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from core.checkpoints.spec import Checkpoint
from core.errors import OutOfRange

_ENDS = re.compile(r"(?<=[.!?])\s+")
RATE = 0.15
INFILLED = 0.3
MEAN_SPAN = 3.0

Sentences = Sequence[Sequence[int]]


def mask_tokens(sentences: Sentences, mask: int, rng: np.random.Generator, rate: float = RATE) -> list[int]:
    """Some tokens hidden, at least one."""
    ids = _flat(sentences)
    chosen = _some(len(ids), rate, rng)
    return [mask if hidden else token for token, hidden in zip(ids, chosen, strict=True)]


def delete_tokens(sentences: Sentences, mask: int, rng: np.random.Generator, rate: float = RATE) -> list[int]:
    """Some tokens left out, at least one unless only one is there."""
    ids = _flat(sentences)
    chosen = _some(len(ids), rate, rng)
    return [token for token, gone in zip(ids, chosen, strict=True) if not gone] or ids[:1]


def infill(sentences: Sentences, mask: int, rng: np.random.Generator, rate: float = INFILLED) -> list[int]:
    """Spans hidden behind one mask each, until ``rate`` of the tokens are hidden."""
    ids = _flat(sentences)
    budget = max(1, round(rate * len(ids)))
    lengths: list[int] = []
    while sum(lengths) < budget:
        lengths.append(min(int(rng.poisson(MEAN_SPAN)), budget - sum(lengths)))
    kept = len(ids) - budget
    # Spans are dealt between the kept tokens, so that no two of them touch where there is room.
    gaps = rng.permutation(kept + 1)
    places = np.sort(gaps[: len(lengths)] if len(lengths) <= kept + 1 else rng.integers(0, kept + 1, len(lengths)))
    out: list[int] = []
    at = taken = 0
    for place, length in zip(places.tolist(), rng.permutation(lengths).tolist(), strict=True):
        out += ids[at : at + place - taken]
        at += place - taken + length
        taken = place
        out.append(mask)
    return out + ids[at:]


def permute_sentences(sentences: Sentences, mask: int, rng: np.random.Generator) -> list[int]:
    """The sentences in another order; one sentence stays as it is."""
    if len(sentences) < 2:
        return _flat(sentences)
    order = rng.permutation(len(sentences))
    while (order == np.arange(len(sentences))).all():
        order = rng.permutation(len(sentences))
    return _flat([sentences[i] for i in order])


def rotate(sentences: Sentences, mask: int, rng: np.random.Generator) -> list[int]:
    """The text begun at another token; one token stays as it is."""
    ids = _flat(sentences)
    start = int(rng.integers(1, len(ids))) if len(ids) > 1 else 0
    return ids[start:] + ids[:start]


CORRUPTIONS: dict[str, Callable[[Sentences, int, np.random.Generator], list[int]]] = {
    "mask": mask_tokens,
    "delete": delete_tokens,
    "infill": infill,
    "permute": permute_sentences,
    "rotate": rotate,
}
"""By the names that links and cards use."""


def corrupt(kind: str, sentences: Sentences, mask: int, rng: np.random.Generator) -> list[int]:
    """One of `CORRUPTIONS`. Raises KeyError for another name."""
    return CORRUPTIONS[kind](sentences, mask, rng)


def damage_text(checkpoint: Checkpoint, text: str, kind: str, seed: int = 0) -> str:
    """``text`` after one of the corruptions, as a text again: masks are written as the model's tokeniser writes them.

    :raises OutOfRange: an unknown kind.
    """
    if kind not in CORRUPTIONS:
        raise OutOfRange(f"There is no corruption called “{kind[:40]}”. Choose one of: {', '.join(CORRUPTIONS)}.")
    tokenizer: Any = checkpoint.tokenizer
    sentences = [
        tokenizer(sentence, add_special_tokens=False, verbose=False)["input_ids"]
        for sentence in _ENDS.split(text)
        if sentence.strip()
    ]
    damaged = corrupt(kind, sentences, int(tokenizer.mask_token_id), np.random.default_rng(seed))
    return str(tokenizer.decode(damaged, skip_special_tokens=False)).strip()


def _flat(sentences: Sentences) -> list[int]:
    return [token for sentence in sentences for token in sentence]


def _some(count: int, rate: float, rng: np.random.Generator) -> list[bool]:
    """Where to strike: each place with probability ``rate``, at least one."""
    chosen = rng.random(count) < rate
    if not chosen.any():
        chosen[rng.integers(count)] = True
    return [bool(c) for c in chosen]
