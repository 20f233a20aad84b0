"""What is said of a guess at hidden words: one word for each mask, against what stood there and the model's answers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from core.language.tokens import words
from core.ui.demos.cover import Judge, verdict

if TYPE_CHECKING:
    from core.language.types import MaskPrediction, Token

ONE, SEVERAL = "Your guess at the hidden word", "Your guesses, one word for each mask"
FIRST = "Your guess at the first hidden word"


def label(predictions: Sequence[MaskPrediction]) -> str:
    """What stands over the box."""
    return ONE if len(predictions) == 1 else SEVERAL


def judge_of(tokens: Sequence[Token], predictions: Sequence[MaskPrediction]) -> Judge:
    """Says of each guessed word whether it stood there and which answer of the model it is.

    :param tokens: of the sentence, at whose positions the predictions stand.
    """
    numbers = words(tokens)
    # A word of several pieces is one thing to guess; masks that were typed stand for a word each.
    gaps = [
        list(group)
        for _, group in groupby(
            predictions,
            lambda p: (-1, p.position) if tokens[p.position].special else (0, numbers[p.position]),
        )
    ]

    def judge(guess: str) -> str:
        if len(gaps) == 1:
            return _said(guess, gaps[0], tokens)
        parts = zip(guess.replace(",", " ").split(), gaps, strict=False)
        return " ".join(f"“{part}”: {_said(part, gap, tokens)}" for part, gap in parts)

    return judge


def _said(guess: str, gap: Sequence[MaskPrediction], tokens: Sequence[Token]) -> str:
    hidden = [tokens[prediction.position] for prediction in gap]
    truth = "" if hidden[0].special else "".join(token.text for token in hidden)
    if len(gap) == 1:
        return verdict(guess, gap[0].tokens, gap[0].probabilities, truth)
    whole = "".join(prediction.tokens[0].removeprefix("##") for prediction in gap)
    chance = 1.0
    for prediction in gap:
        chance *= prediction.probabilities[0]
    return verdict(guess, (whole,), (chance,), truth)
