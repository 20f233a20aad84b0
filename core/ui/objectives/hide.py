"""An example with its answers covered: what is asked is a question mark, and no other place gives it away.

Where a row is read from left to right and asked for its own next token, every token is the answer of the place before
it. Such a row ends at the first place that is still open. The only row of an objective that asks every place of it
shows its first half, or there would be nothing to guess from; a decoder's row has the damaged text beside it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from core.language.guesses import same_word
from core.objectives.example import Cell, Example, Visible
from core.ui.demos.cover import Judge
from core.ui.objectives.entry import Given, Stage, style
from core.ui.objectives.picture import shown

LABEL = "Your guesses, in order, separated by spaces"
_MOST = 12
BLANK = "▢"


def asking(stages: Sequence[Stage]) -> Stage:
    """The stage that is guessed at: the last of those that ask most."""
    counts = [len(_targets(stage.example)) for stage in stages]
    return max(reversed(list(zip(counts, stages, strict=True))), key=lambda pair: pair[0])[1]


def judges(stage: Stage) -> bool:
    """Whether each token is judged, original or replaced."""
    return stage.among == "answers"


def open_targets(example: Example) -> tuple[str, ...]:
    """The targets that a covered example leaves to be guessed, without sentinels and tokens of the format."""
    return tuple(cell.target for cell in _targets(example) if cell.target is not None)


def _targets(example: Example) -> tuple[Cell, ...]:
    if example.decoder:
        after = (*example.decoder[1:], Cell("", change="special"))  # the last target ends the text
        told = [cell for cell, then in zip(example.decoder, after, strict=True) if then.change in ("kept", "moved")]
        return (*(cell for cell in example.source if cell.target is not None), *told)
    return tuple(cell for cell in example.source[_first(example) :] if cell.target is not None)


def _shifted(example: Example) -> bool:
    """Whether the row that is read is asked for its own next tokens."""
    return bool(example.visible) and example.visible[0].kind == "decoder"


def _first(example: Example) -> int:
    """The place from which a covered row of its own next tokens is hidden; 0 where the row is no such row."""
    if not _shifted(example) or not example.asked:
        return 0
    return example.asked[0] or len(example.source) // 2


def covered(example: Example) -> Example:
    """The example as a visitor may see it who has not guessed yet."""
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
    """Attention mask, under names that tell nothing; ``left`` of the input, ``right`` of the decoder."""
    queries = right if right and seen.kind in ("decoder", "cross") else left
    keys = right if right and seen.kind == "decoder" else left
    return replace(seen, queries=queries, keys=keys)


def _cover(cell: Cell) -> Cell:
    """The cell as a model meets it: asked, but with nothing that gives the answer away."""
    if cell.target is None:
        return cell
    return replace(cell, target="?", change=cell.change if cell.change in ("masked", "inserted", "special") else "kept")


def _cut(cells: tuple[Cell, ...], first: int) -> tuple[Cell, ...]:
    """The row as far as the first hidden target, with a sign that it goes on."""
    if not cells:
        return ()
    rest = (Cell("…", change="special"),) if len(cells) > first + 1 else ()
    return (*cells[:first], _cover(cells[first]), *rest)


def _blanked(cells: tuple[Cell, ...], first: int) -> tuple[str, ...]:
    return tuple(cell.token if place < first else BLANK for place, cell in enumerate(cells))


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
        return f"{'Wrong' if words else 'Right'}: no token was replaced."
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
