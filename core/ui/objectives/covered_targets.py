"""An example with covered targets: each target is a question mark, and no other position gives it away.

In a row that predicts its own next tokens, every token is the target of the position before it. Such a row ends at the
first open target. A row in which every position has a target shows its first half, to leave some context to
guess from; a decoder's row has the corrupted text beside it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from core.content import Content, content
from core.language.guesses import same_word
from core.objectives.example import Cell, Example, Visible
from core.ui.demos.cover import Judge
from core.ui.objectives.entry import Inputs, Stage, style
from core.ui.objectives.picture import shown

_MOST = 12
BLANK = "▢"


def main_stage(stages: Sequence[Stage]) -> Stage:
    """The stage whose targets are guessed: the last one with the most targets."""
    return max(reversed(stages), key=lambda stage: len(_targets(stage.example)))


def open_targets(example: Example) -> tuple[str, ...]:
    """The targets to guess in a covered example, without sentinels and special tokens."""
    return tuple(cell.target for cell in _targets(example) if cell.target is not None)


def _targets(example: Example) -> tuple[Cell, ...]:
    if example.decoder:
        after = (*example.decoder[1:], Cell("", change="special"))  # the last target ends the text
        changed = [cell for cell, then in zip(example.decoder, after, strict=True) if then.change in ("none", "moved")]
        return (*(cell for cell in example.source if cell.target is not None), *changed)
    return tuple(cell for cell in example.source[_first(example) :] if cell.target is not None)


def _shifted(example: Example) -> bool:
    """Whether the input row predicts its own next tokens."""
    return bool(example.visible) and example.visible[0].kind == "decoder"


def _first(example: Example) -> int:
    """The position from which such a row is covered; 0 for any other row."""
    if not _shifted(example) or not example.targets:
        return 0
    return example.targets[0] or len(example.source) // 2


def covered(example: Example) -> Example:
    """The example as shown before the guess."""
    if _shifted(example):
        first = _first(example)
        source = _cut(example.source, first)
        left = _blanked(example.source, first + 1)
    elif example.order:
        source = tuple(replace(_cover(c), token=BLANK) if c.target is not None else c for c in example.source)
        left = tuple(cell.token for cell in source)
    else:
        source = tuple(_cover(cell) for cell in example.source)
        left = tuple(cell.token for cell in source)
    right = _blanked(example.decoder, 1)
    return replace(
        example,
        original=(),
        source=source,
        decoder=_cut(example.decoder, 0),
        visible=tuple(_named(seen, left, right) for seen in example.visible),
    )


def _named(seen: Visible, left: tuple[str, ...], right: tuple[str, ...]) -> Visible:
    """The attention mask with covered names; ``left`` of the input, ``right`` of the decoder."""
    queries = right if right and seen.kind in ("decoder", "cross") else left
    keys = right if right and seen.kind == "decoder" else left
    return replace(seen, queries=queries, keys=keys)


def _cover(cell: Cell) -> Cell:
    """The cell without anything that reveals its target."""
    if cell.target is None:
        return cell
    return replace(cell, target="?", change=cell.change if cell.change in ("masked", "inserted", "special") else "none")


def _cut(cells: tuple[Cell, ...], first: int) -> tuple[Cell, ...]:
    """The row up to the first covered target, with an ellipsis."""
    if not cells:
        return ()
    ellipsis = (Cell("…", change="special"),) if len(cells) > first + 1 else ()
    return (*cells[:first], _cover(cells[first]), *ellipsis)


def _blanked(cells: tuple[Cell, ...], first: int) -> tuple[str, ...]:
    return tuple(cell.token if position < first else BLANK for position, cell in enumerate(cells))


def guess_label(stages: Sequence[Stage]) -> tuple[str, tuple[str, ...]]:
    """The label of the box for a guess, and its choices if the whole text has one label."""
    stage = main_stage(stages)
    labels = stage.example.labels
    if labels and not open_targets(stage.example):
        return f"{labels[0].name.capitalize()}?", labels[0].choices
    return _words().label("which" if stage.classifies else "guesses"), ()


def targets_judge(inputs: Inputs, stages: Sequence[Stage]) -> Judge:
    """Compares the guessed words, in order, with the open targets, or else with the labels of the whole text."""
    kind, stage = style(inputs.slug), main_stage(stages)

    def spelled(token: str) -> str:
        return shown(token, kind).strip("␣‿")

    if stage.classifies:
        replaced = [spelled(cell.token) for cell in stage.example.source if cell.target == "replaced"]
        return lambda guess: judge_replaced(guess.replace(",", " ").split(), replaced)
    targets = [spelled(target) for target in open_targets(stage.example)]
    answers = [label.choices[label.answer] for label in stage.example.labels]

    def judge(guess: str) -> str:
        if not targets:
            right = any(guess.strip().casefold() == answer.casefold() for answer in answers)
            return f"{'Right' if right else 'Wrong'}: {', '.join(answers)}."
        words = guess.replace(",", " ").split()
        hits = sum(same_word(word, target) for word, target in zip(words, targets, strict=False))
        more = " …" if len(targets) > _MOST else ""
        return f"{_words().part('Guess: hits', hits=hits, count=len(targets))} {', '.join(targets[:_MOST])}{more}."

    return judge


def judge_replaced(words: Sequence[str], replaced: Sequence[str]) -> str:
    """How many of the replaced tokens were named, and how many others."""
    if not replaced:
        return f"{'Wrong' if words else 'Right'}: {_words().part('Guess: none replaced')}"
    left = list(replaced)
    for word in words:
        at = next((i for i, token in enumerate(left) if same_word(word, token)), None)
        if at is not None:
            left.pop(at)
    hits = len(replaced) - len(left)
    wrong = len(words) - hits
    also = f" {_words().part('Guess: others', wrong=wrong)}" if wrong else ""
    names = ", ".join(f"{word} ×{count}" if count > 1 else word for word, count in Counter(replaced).items())
    return f"{_words().part('Guess: replaced', hits=hits, count=len(replaced))} {names}.{also}"


def _words() -> Content:
    return content("objectives", "page")
