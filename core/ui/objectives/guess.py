"""What is said of a guess at the targets of an objective: how many of them the visitor named."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from core.language.guesses import same_word
from core.ui.demos.cover import Judge
from core.ui.objectives.entry import Given, Stage
from core.ui.objectives.given import style
from core.ui.objectives.hide import asking, judges, open_targets
from core.ui.objectives.picture import shown

LABEL = "Your guesses, in order, with blanks between"
_MOST = 12


def label_of(stages: Sequence[Stage]) -> tuple[str, tuple[str, ...]]:
    """What stands over the box, and what can be chosen, where one thing alone is asked about the whole."""
    stage = asking(stages)
    labels = stage.example.labels
    if labels and not open_targets(stage.example):
        return f"{labels[0].name.capitalize()}?", labels[0].choices
    return ("Which tokens were replaced?" if judges(stage) else LABEL), ()


def targets_judge(asked: Given, stages: Sequence[Stage]) -> Judge:
    """Compares the guessed words, in order, with the open targets; with the answers about the whole without any."""
    kind = style(asked.slug)
    example = asking(stages).example
    targets = [shown(target, kind).strip("␣‿") for target in open_targets(example)]
    answers = [label.choices[label.answer] for label in example.labels]
    if judges(asking(stages)):
        replaced = [shown(c.token, kind).strip("␣‿") for c in example.source if c.target == "replaced"]
        return lambda guess: _found(guess.replace(",", " ").split(), replaced)

    def judge(guess: str) -> str:
        if not targets:
            right = any(guess.strip().casefold() == answer.casefold() for answer in answers)
            return f"{'Right' if right else 'Wrong'}: {', '.join(answers)}."
        words = guess.replace(",", " ").split()
        hits = sum(same_word(word, target) for word, target in zip(words, targets, strict=False))
        more = " …" if len(targets) > _MOST else ""
        return f"{hits} of {len(targets)} targets right: {', '.join(targets[:_MOST])}{more}."

    return judge


def _found(words: Sequence[str], replaced: Sequence[str]) -> str:
    """How many of the replaced tokens were named, and how many others."""
    if not replaced:
        return f"{'Wrong' if words else 'Right'}: no token is another one than before."
    left, hits = list(replaced), 0
    for word in words:
        at = next((i for i, token in enumerate(left) if same_word(word, token)), None)
        if at is not None:
            left.pop(at)
            hits += 1
    wrong = len(words) - hits
    also = f" {wrong} that you named {'was' if wrong == 1 else 'were'} not." if wrong else ""
    names = ", ".join(f"{word} ×{count}" if count > 1 else word for word, count in Counter(replaced).items())
    return f"{hits} of {len(replaced)} replaced tokens found: {names}.{also}"
