"""Replaced-token detection (Clark et al., 2020): one model fills hidden places, another looks for what it put there.

The generator samples a token for every hidden place from its own distribution; the discriminator gives every token of
the result the probability :math:`D_t = \\sigma(w^\\top h_t)` of having been replaced. A sample that happens to be the
word that stood there counts as original.

Shapes: n tokens, special ones included.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.checkpoints.spec import Checkpoint
from core.errors import InputUnusable
from core.language.fill_mask import MAX_CHARS, MaskedText, masked_logits, prepare
from core.language.limits import check_length
from core.language.text import clean
from core.language.tokens import describe, tokenise, words
from core.language.types import Token

SHARE = 0.15
"""Of the words that are hidden where the visitor has not chosen any."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A text with some of its tokens replaced, and the discriminator's verdict on each."""

    before: tuple[Token, ...]
    """(n,) what stood there."""
    after: tuple[Token, ...]
    """(n,) what stands there now."""
    hidden: tuple[int, ...]
    """Positions that the generator filled, or where the visitor's own version differs."""
    chances: tuple[float, ...]
    """For each hidden position the generator's probability of what it wrote; empty for the visitor's own changes."""
    verdicts: tuple[float, ...]
    """(n,) probability of having been replaced."""

    @property
    def replaced(self) -> tuple[int, ...]:
        """Positions whose token is not the one that stood there."""
        return tuple(i for i in self.hidden if self.before[i].id != self.after[i].id)

    def right(self, threshold: float = 0.5) -> tuple[int, int]:
        """How many ordinary tokens are judged rightly, and how many there are."""
        ordinary = [i for i, token in enumerate(self.after) if not token.special]
        hits = sum((self.verdicts[i] > threshold) == (i in self.replaced) for i in ordinary)
        return hits, len(ordinary)


def some_words(tokens: Sequence[Token], seed: int) -> tuple[int, ...]:
    """Positions of about `SHARE` of the words, at least one, drawn from the seed; whole words."""
    import numpy as np

    numbers = words(tokens)
    ordinary = sorted({numbers[i] for i, token in enumerate(tokens) if not token.special and token.text.isalnum()})
    if not ordinary:
        raise InputUnusable("There is no word in this text that could be masked. Type a sentence of a few words.")
    count = max(1, round(SHARE * len(ordinary)))
    chosen = set(np.random.default_rng(seed).choice(ordinary, size=count, replace=False).tolist())
    return tuple(i for i, number in enumerate(numbers) if number in chosen and not tokens[i].special)


def replace_and_judge(
    generator: Checkpoint, discriminator: Checkpoint, text: str, positions: Sequence[int], seed: int
) -> Judged:
    """Hides the words at ``positions`` of ``text``, lets the generator fill them, and asks the discriminator.

    :param positions: of tokens, special ones included; none for `some_words` of the seed.
    :raises InputEmpty: nothing readable in the text.
    :raises InputUnusable: no word in it.
    :raises InputTooLong: more tokens than the models have positions.
    """
    text = clean(text, MAX_CHARS)
    if not positions:
        positions = some_words(tokenise(generator, text), seed)
    masked = prepare(generator, text, positions)
    drawn, taken = sample(generator, masked.ids, masked.positions, seed)
    ids = list(masked.ids)
    for position, token in zip(masked.positions, drawn, strict=True):
        ids[position] = token
    after = _written(generator, masked, ids)
    return Judged(masked.tokens, after, masked.positions, taken, verdicts(discriminator, ids))


def sample(
    generator: Checkpoint, ids: Sequence[int], positions: Sequence[int], seed: int
) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """What the generator writes at the masked ``positions`` of ``ids``: a token's id for each, and its probability."""
    import torch

    with torch.inference_mode():
        logits = masked_logits(generator.model, torch.tensor([list(ids)]), positions)  # (M, V)
        chances = logits.float().softmax(-1)
        drawn = torch.multinomial(chances, 1, generator=torch.Generator().manual_seed(seed))[:, 0]
    return tuple(drawn.tolist()), tuple(chances[torch.arange(len(drawn)), drawn].tolist())


def _written(checkpoint: Checkpoint, masked: MaskedText, ids: Sequence[int]) -> tuple[Token, ...]:
    """The filled text's tokens; a mask that the visitor typed counts as hidden, whatever stands there now."""
    fresh = describe(checkpoint.tokenizer, ids)
    return tuple(replace(new, start=old.start, end=old.end) for new, old in zip(fresh, masked.tokens, strict=True))


def judge_own(discriminator: Checkpoint, text: str) -> Judged:
    """The verdict on a text as it stands: nothing is known to be replaced."""
    tokens = tokenise(discriminator, clean(text, MAX_CHARS))
    check_length(discriminator, len(tokens))
    return Judged(tokens, tokens, (), (), verdicts(discriminator, [token.id for token in tokens]))


def verdicts(discriminator: Checkpoint, ids: Sequence[int]) -> tuple[float, ...]:
    """(n,) probabilities of having been replaced."""
    import torch

    with torch.inference_mode():
        scores = discriminator.model(input_ids=torch.tensor([list(ids)])).logits  # (1, n)
    return tuple(scores[0].float().sigmoid().tolist())
