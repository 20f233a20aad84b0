"""The five corruptions of BART (Lewis et al., 2020, section 2.2), on token ids.

==============  ====================================================================================================
mask            each token becomes the mask token with probability 0.15
delete          each token is deleted with probability 0.15: the model must predict where, too
infill          spans of Poisson(3) tokens, 30% of the tokens in all, each become *one* mask token; an empty span
                inserts a mask between two tokens
permute         the sentences are shuffled
rotate          the text begins at a random token, and the tokens before it follow at the end
==============  ====================================================================================================

Every function takes a text as a list of sentences (lists of ids, at least one id in all) and its own random generator,
and returns a flat list of ids. Only masks are added, so a text grows only by the masks of empty spans.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from core.checkpoints.spec import Checkpoint

_ENDS = re.compile(r"(?<=[.!?])\s+")
RATE = 0.15
INFILLED = 0.3
MEAN_SPAN = 3.0

Sentences = Sequence[Sequence[int]]


def mask_tokens(sentences: Sentences, mask: int, rng: np.random.Generator) -> list[int]:
    """Some tokens masked, at least one."""
    ids = _flat(sentences)
    chosen = _some(len(ids), rng)
    return [mask if masked else token for token, masked in zip(ids, chosen, strict=True)]


def delete_tokens(sentences: Sentences, mask: int, rng: np.random.Generator) -> list[int]:
    """Some tokens deleted, at least one unless there is only one."""
    ids = _flat(sentences)
    chosen = _some(len(ids), rng)
    return [token for token, deleted in zip(ids, chosen, strict=True) if not deleted] or ids[:1]


def infill(sentences: Sentences, mask: int, rng: np.random.Generator) -> list[int]:
    """Spans replaced by one mask each, until the share `INFILLED` of the tokens is masked."""
    ids = _flat(sentences)
    budget = max(1, round(INFILLED * len(ids)))
    lengths: list[int] = []
    while sum(lengths) < budget:
        lengths.append(min(int(rng.poisson(MEAN_SPAN)), budget - sum(lengths)))
    unmasked = len(ids) - budget
    # Spans are distributed among the other tokens, so that no two of them touch where there is room.
    gaps = rng.permutation(unmasked + 1)
    insertions = np.sort(
        gaps[: len(lengths)] if len(lengths) <= unmasked + 1 else rng.integers(0, unmasked + 1, len(lengths))
    )
    out: list[int] = []
    at = used = 0
    for insertion, length in zip(insertions.tolist(), rng.permutation(lengths).tolist(), strict=True):
        out += ids[at : at + insertion - used]
        at += insertion - used + length
        used = insertion
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
    """The text from another token on; one token stays as it is."""
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


def corrupt_text(checkpoint: Checkpoint, text: str, kind: str, seed: int = 0) -> str:
    """``text`` after one of `CORRUPTIONS`, as a text again: masks are spelled as in the model's vocabulary."""
    tokenizer = checkpoint.tokenizer
    sentences = [
        tokenizer(sentence, add_special_tokens=False, verbose=False)["input_ids"]
        for sentence in _ENDS.split(text)
        if sentence.strip()
    ]
    corrupted = CORRUPTIONS[kind](sentences, int(tokenizer.mask_token_id), np.random.default_rng(seed))
    return str(tokenizer.decode(corrupted, skip_special_tokens=False)).strip()


def _flat(sentences: Sentences) -> list[int]:
    return [token for sentence in sentences for token in sentence]


def _some(count: int, rng: np.random.Generator) -> list[bool]:
    """Which tokens to corrupt: each with probability `RATE`, at least one."""
    chosen = rng.random(count) < RATE
    if not chosen.any():
        chosen[rng.integers(count)] = True
    return [bool(c) for c in chosen]
