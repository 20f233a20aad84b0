"""The comparison with both answers covered: one guess, judged against what each model says."""

from __future__ import annotations

from collections.abc import Sequence

from core.figures.predictions import percent
from core.language.guesses import MAX_CHARS, same_word
from core.language.replaced import Judged
from core.language.side_by_side import Answer, Continued, Filled, Word
from core.ui.demos.cover import SENTENCE_CHARS, switch, uncovered, verdict
from core.ui.demos.covered_text import shared
from core.ui.links import PageState
from core.ui.zoo.answers import Pair, pictures


def answers_uncovered(
    state: PageState,
    pair: Pair,
    answers: Sequence[Answer | str],
    words: Sequence[Word],
    hidden: Sequence[int],
    asked: object,
) -> bool:
    """Whether what the two models said may be drawn; else ask for a guess.

    :param asked: what tells this question from another: sentence and task.
    """
    there = [answer for answer in answers if not isinstance(answer, str)]
    if not switch(state) or not there:
        return True

    def judge(guess: str) -> str:
        return " ".join(
            f"{spec.name}: {judged(guess, answer, words, hidden)}"
            for spec, answer in zip(pair, answers, strict=True)
            if not isinstance(answer, str)
        )

    texts = any(not isinstance(answer, Filled | Continued | Judged) for answer in there)
    question = ("zoo", *(spec.slug for spec in pair), asked, tuple(hidden))
    return uncovered(state, question, label(there), judge, most=SENTENCE_CHARS if texts else MAX_CHARS, on=True)


def label(answers: Sequence[Answer]) -> str:
    """What stands over the box."""
    kinds = {type(answer) for answer in answers}
    if kinds == {Filled}:
        return "Your guess at the first hidden word"
    if kinds == {Continued}:
        return "Your guess at the next token"
    if kinds == {Judged}:
        return "Which word looks most replaced?"
    return "Your guess at what they say"


def judged(guess: str, answer: Answer, words: Sequence[Word], hidden: Sequence[int]) -> str:
    """What is said of a guess beside one model's answer."""
    if isinstance(answer, Filled | Continued):
        first = next(iter(pictures(answer, words, hidden)), None)
        return verdict(guess, first.labels, first.probabilities) if first else "It says nothing here."
    if isinstance(answer, Judged):
        (picture,) = pictures(answer, words, hidden)
        best = max(range(len(picture.labels)), key=lambda i: picture.probabilities[i])
        right = same_word(guess, picture.labels[best])
        chance = percent(picture.probabilities[best])
        return f"{'Right' if right else 'Wrong'}: it doubts “{picture.labels[best]}” most, {chance}."
    return shared(guess, answer.steps[-1].text if answer.steps else "")
