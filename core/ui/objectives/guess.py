"""What is said of a guess at the targets of an objective: how many of them the visitor named."""

from __future__ import annotations

from collections.abc import Sequence

from core.language.guesses import same_word
from core.ui.demos.cover import Judge
from core.ui.objectives.entry import Given, Stage
from core.ui.objectives.given import style
from core.ui.objectives.picture import shown

LABEL = "Your guesses, in order, with blanks between"
_MOST = 12


def targets_judge(asked: Given, stages: Sequence[Stage]) -> Judge:
    """Compares the guessed words, in order, with the last stage's targets; with its answers where it has no others."""
    kind = style(asked.slug)
    example = stages[-1].example
    cells = (*example.source, *example.decoder)
    targets = [shown(cell.target, kind).strip("␣‿") for cell in cells if cell.target is not None]
    answers = [label.choices[label.answer] for label in example.labels]

    def judge(guess: str) -> str:
        if not targets:
            right = any(same_word(guess, answer) for answer in answers)
            return f"{'Right' if right else 'Wrong'}: {', '.join(answers)}."
        words = guess.replace(",", " ").split()
        hits = sum(same_word(word, target) for word, target in zip(words, targets, strict=False))
        more = " …" if len(targets) > _MOST else ""
        return f"{hits} of {len(targets)} targets right: {', '.join(targets[:_MOST])}{more}."

    return judge
