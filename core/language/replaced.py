"""Replaced-token detection (Clark et al., 2020): a generator fills masked positions, a discriminator classifies tokens.

The generator samples a token for every masked position; the discriminator assigns every token of the result a
probability :math:`D_t = \\sigma(w^\\top h_t)` that it was replaced. A sample that equals the original token counts as
original.

Shapes: n tokens, special ones included.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.checkpoints.spec import Checkpoint
from core.errors import InputUnusable
from core.language.fill_mask import MAX_CHARS, masked_logits, prepare
from core.language.text import clean
from core.language.tokens import check_length, describe, tokenize, words
from core.language.types import Token
from core.lazy import torch
from core.run.model import call
from core.words import is_word

SHARE = 0.15
"""Of the words that are masked where the visitor has not chosen any."""


@dataclass(frozen=True, slots=True)
class Detection:
    """A text with some of its tokens replaced, and the discriminator's probability for each."""

    before: tuple[Token, ...]
    """(n,) original tokens."""
    after: tuple[Token, ...]
    """(n,) tokens after replacement."""
    masked: tuple[int, ...]
    """Positions that the generator filled, or where the visitor's own version differs."""
    sampled: tuple[float, ...]
    """The generator's probability of each sampled token; empty for the visitor's own changes."""
    probabilities: tuple[float, ...]
    """(n,) probabilities that a token was replaced."""

    @property
    def replaced(self) -> tuple[int, ...]:
        """Positions whose token differs from the original."""
        return tuple(i for i in self.masked if self.before[i].id != self.after[i].id)

    def correct(self, threshold: float = 0.5) -> tuple[int, int]:
        """The number of correctly classified ordinary tokens, and of all ordinary tokens."""
        ordinary = [i for i, token in enumerate(self.after) if not token.special]
        hits = sum((self.probabilities[i] > threshold) == (i in self.replaced) for i in ordinary)
        return hits, len(ordinary)


def some_words(tokens: Sequence[Token], seed: int) -> tuple[int, ...]:
    """Positions of about `SHARE` of the words, at least one, sampled with the seed; whole words."""
    numbers = words(tokens)
    ordinary = sorted({numbers[i] for i, token in enumerate(tokens) if not token.special and is_word(token.text)})
    if not ordinary:
        raise InputUnusable("There is no word in this text that could be masked. Type a sentence of a few words.")
    count = max(1, round(SHARE * len(ordinary)))
    chosen = set(np.random.default_rng(seed).choice(ordinary, size=count, replace=False).tolist())
    return tuple(i for i, number in enumerate(numbers) if number in chosen and not tokens[i].special)


def replace_and_detect(
    generator: Checkpoint, discriminator: Checkpoint, text: str, positions: Sequence[int], seed: int
) -> Detection:
    """Mask the words at ``positions`` of ``text``, sample them from the generator, and classify all tokens.

    :param positions: of tokens, special ones included; none for `some_words` of the seed.
    :raises InputEmpty: nothing readable in the text.
    :raises InputUnusable: no word in it.
    :raises InputTooLong: more tokens than the models have positions.
    """
    before = prepare(generator, text).tokens
    if not positions:
        positions = some_words(before, seed)
    masked = prepare(generator, text, positions)
    sampled, probabilities = sample(generator, masked.ids, masked.positions, seed)
    ids = list(masked.ids)
    for position, token in zip(masked.positions, sampled, strict=True):
        ids[position] = token
    fresh = describe(generator.tokenizer, ids)  # a typed mask keeps its offsets
    after = tuple(replace(new, start=old.start, end=old.end) for new, old in zip(fresh, before, strict=True))
    return Detection(before, after, masked.positions, probabilities, detector_probabilities(discriminator, ids))


def sample(
    generator: Checkpoint, ids: Sequence[int], positions: Sequence[int], seed: int
) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """The generator's sample at the masked ``positions`` of ``ids``: token ids and their probabilities."""
    with torch.inference_mode():
        logits = masked_logits(generator.model, torch.tensor([list(ids)]), positions)  # (M, V)
        probabilities = logits.float().softmax(-1)
        sampled = torch.multinomial(probabilities, 1, generator=torch.Generator().manual_seed(seed))[:, 0]
    return tuple(sampled.tolist()), tuple(probabilities[torch.arange(len(sampled)), sampled].tolist())


def detect(discriminator: Checkpoint, text: str) -> Detection:
    """The discriminator's probabilities for an unchanged text."""
    tokens = tokenize(discriminator, clean(text, MAX_CHARS))
    check_length(discriminator, len(tokens))
    return Detection(tokens, tokens, (), (), detector_probabilities(discriminator, [token.id for token in tokens]))


def detector_probabilities(discriminator: Checkpoint, ids: Sequence[int]) -> tuple[float, ...]:
    """(n,) probabilities that a token was replaced."""
    with torch.inference_mode():
        scores = call(discriminator.model, input_ids=torch.tensor([list(ids)])).logits  # (1, n)
    return tuple(scores[0].float().sigmoid().tolist())
