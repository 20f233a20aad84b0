"""A text that a model wrote, covered: guessed as a text, or, where a damaged one is mended, by how much comes back."""

from __future__ import annotations

from core.language.guesses import in_order, plain_words
from core.ui.demos.cover import SENTENCE_CHARS, uncovered
from core.ui.links import PageState

BACK = ("Word for word", "All but one or two words", "Less than that")


def text_uncovered(state: PageState, asked: object, written: str, original: str | None) -> bool:
    """Whether what was written may be drawn; else ask for a guess at it.

    :param asked: what tells this text from another: model, task, input and settings.
    :param original: the text before the damage that the model was to undo; None where there was no such damage.
    """
    question = ("text", asked, written)  # the writing may have been stopped half-way
    if original is None:
        label = "Your guess at the text"
        return uncovered(state, question, label, lambda guess: shared(guess, written), most=SENTENCE_CHARS, on=True)

    def judge(guess: str) -> str:
        return f"{'Right' if guess == BACK[mended(original, written)] else 'Wrong'}: {kept(original, written)}"

    return uncovered(state, question, "How much of your text is reconstructed?", judge, choices=BACK, on=True)


def kept(before: str, after: str) -> str:
    """How much of a text has come back, in a sentence; words are compared in their order."""
    old, new = before.split(), after.split()
    if old == new:
        return "Reconstructed word for word."
    same = in_order(old, new)
    return f"{same} of the original's {len(old)} words stand in their order in the {len(new)} that were generated."


def mended(original: str, written: str) -> int:
    """Which of `BACK` is true of a text and what was made of its damaged form."""
    old, new = original.split(), written.split()
    wrong = max(len(old), len(new)) - in_order(old, new)
    return 0 if old == new else 1 if wrong <= 2 else 2


def shared(guess: str, written: str) -> str:
    """What is said of a guess at a whole text: how many of its words stand in the guess, in their order."""
    ours, theirs = plain_words(guess), plain_words(written)
    same = in_order(ours, theirs)
    if same == len(ours) == len(theirs):
        return "Right: word for word, but for capitals, accents and marks."
    if not theirs:
        return "It generated no word."
    share = f"{100 * same / len(theirs):.0f} %"
    return f"{same} of the {len(theirs)} words that it generated stand in your guess, in their order: {share}."
