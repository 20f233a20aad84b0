"""Masked words: chips to select them, and the verdict on a guess."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import groupby

from core.language.tokens import words
from core.language.types import MaskPrediction, Token
from core.links import parameters as link
from core.ui.chips import token_chips
from core.ui.demos.cover import Judge, verdict
from core.ui.param import Carried
from core.words import is_word

MASK = Carried(name="mask", label="Masked tokens", as_=link.Integers(high=599, most=64))
"""The masked positions, counted with special tokens."""
ONE, SEVERAL = "Your guess at the masked word", "Your guesses, one word for each mask"
FIRST = "Your guess at the first masked word"


def mask_chips(
    tokens: Sequence[Token], masked: Collection[int], *, key: str, accent: str, label: str, held: Sequence[int] = ()
) -> tuple[int, ...]:
    """Draw the tokens as chips that mask whole words; return the masked positions.

    Args:
        masked: positions selected before; those that the text lacks are ignored.
        accent: the branch whose color marks the selected chips.
        held: positions of typed mask tokens.
    """
    numbers = words(tokens)
    fixed = [i for i, token in enumerate(tokens) if token.special]
    chosen = {numbers[i] for i in masked if i < len(tokens) and i not in fixed}
    return token_chips(
        tokens,
        selected=[i for i, number in enumerate(numbers) if number in chosen and i not in fixed],
        key=key,
        multi=True,
        accent=accent,
        label=label,
        disabled=fixed,
        held=held,
        groups=numbers,
    )


def last_word(tokens: Sequence[Token]) -> tuple[int, ...]:
    """The positions of the text's last word; none where it has no word."""
    numbers = words(tokens)
    last = [number for number, token in zip(numbers, tokens, strict=True) if not token.special and is_word(token.text)]
    return tuple(i for i, number in enumerate(numbers) if last and number == last[-1])


def label(predictions: Sequence[MaskPrediction]) -> str:
    """The label of the box."""
    return ONE if len(predictions) == 1 else SEVERAL


def judge_of(tokens: Sequence[Token], predictions: Sequence[MaskPrediction]) -> Judge:
    """A verdict on each guessed word: whether it is the original, and its rank among the predictions.

    :param tokens: of the sentence; predictions refer to their positions.
    """
    numbers = words(tokens)
    # A word of several tokens is one guess; each typed mask stands for a word.
    gaps = [
        list(group)
        for _, group in groupby(
            predictions,
            lambda p: (-1, p.position) if tokens[p.position].special else (0, numbers[p.position]),
        )
    ]

    def judge(guess: str) -> str:
        if len(gaps) == 1:
            return _verdict(guess, gaps[0], tokens)
        parts = zip(guess.replace(",", " ").split(), gaps, strict=False)
        return " ".join(f"“{part}”: {_verdict(part, gap, tokens)}" for part, gap in parts)

    return judge


def _verdict(guess: str, gap: Sequence[MaskPrediction], tokens: Sequence[Token]) -> str:
    originals = [tokens[prediction.position] for prediction in gap]
    truth = "" if originals[0].special else "".join(token.original for token in originals)
    if len(gap) == 1:
        return verdict(guess, gap[0].tokens, gap[0].probabilities, truth)
    word = "".join(prediction.tokens[0].removeprefix("##") for prediction in gap)
    chance = 1.0
    for prediction in gap:
        chance *= prediction.probabilities[0]
    return verdict(guess, (word,), (chance,), truth)
