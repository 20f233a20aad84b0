"""Masked words: chips to select them, and the verdict on a guess."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from core.language.side_by_side import carry_over
from core.language.tokens import words
from core.language.types import MaskPrediction, Token
from core.links import parameters as link
from core.ui.chips import token_chips
from core.ui.demos.cover import Judge, verdict
from core.ui.links import PageState
from core.ui.param import Carried
from core.ui.slot import Slot
from core.words import is_word

MASK = Carried(name="mask", label="Masked tokens", as_=link.Integers(high=599, most=64))
"""The masked positions, counted with special tokens."""
ONE, SEVERAL = "Your guess at the masked word", "Your guesses, one word for each mask"
FIRST = "Your guess at the first masked word"


def masked_in(state: PageState, tokens: Sequence[Token], usual: tuple[int, ...] = ()) -> Slot[tuple[int, ...]]:
    """The masked positions: after a change of the text, words that remain stay masked."""
    pieces = [token.piece for token in tokens]
    return Slot(state, MASK, usual, owner=pieces, carry=lambda former, masked: carry_over(former, pieces, masked))


def mask_chips(
    tokens: Sequence[Token], masked: Slot[tuple[int, ...]], *, accent: str, label: str, held: Sequence[int] = ()
) -> tuple[int, ...]:
    """Draw the tokens as chips that mask whole words; return the masked positions.

    Args:
        masked: positions selected before; those that the text lacks are ignored.
        accent: the branch whose color marks the selected chips.
        held: positions of typed mask tokens.
    """
    numbers = words(tokens)
    fixed = [i for i, token in enumerate(tokens) if token.special]
    chosen = {numbers[i] for i in masked.get() if i < len(tokens) and i not in fixed}
    picked = token_chips(
        tokens,
        selected=[i for i, number in enumerate(numbers) if number in chosen and i not in fixed],
        key=f"{masked.key}.chips",
        multi=True,
        accent=accent,
        label=label,
        disabled=fixed,
        held=held,
        groups=numbers,
    )
    masked.set(picked)
    return picked


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
