"""The studies ``distillation`` and ``widths``.

Both train on sentences of the corpus of 6 to 12 words, each once, in a fixed random
order: the first 500 are held out, and each seed chooses its training sentences from the others.

    distillation   the class is the file: an everyday sentence, an encyclopedia or a story; as many of each. The teacher
                   learns 64 labeled sentences; the student has those and 2,000 unlabeled ones
    widths         positive and negative opinions of ``reviews.tsv``, 512 labeled
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from core import checkpoints
from core.checkpoints.spec import Checkpoint
from core.errors import AtlasError
from core.finetuning.examples import Example, LabeledSet
from core.finetuning.setup import Setup
from core.finetuning.train import Learner
from lab import corpus as texts
from lab.distill import DistillationRow, accuracy, distill, scores_of, student_of
from lab.recipe import SourceFile

WORDS = (6, 12)
HELD_OUT = 500
KINDS = {"everyday": "dialogue.txt", "encyclopedia": "encyclopedia_simple.txt", "story": "stories.txt"}
LABELED, UNLABELED, EACH = 64, 2000, 2500
"""Sentences of a student, and of each class that are used."""
TEACHER = Setup("all", "first", epochs=8, seconds=1e6)
ALPHAS, TEMPERATURES = (0.0, 0.25, 0.5, 0.75, 1.0), (1, 2, 4, 8)
BOTTLENECKS, RANKS = (1, 4, 16, 64), (1, 8, 32)
OPINIONS = 512
RATES = {"head": 5e-4, "adapters": 3e-3, "lora": 2e-3, "all": 5e-4}
"""Learning rates, chosen on other sentences. The head's own is that of `core.finetuning.setup`."""
EPOCHS = {"head": 30, "adapters": 5, "lora": 5, "all": 5}


@dataclass(frozen=True, slots=True)
class Width:
    """One fine-tuning run."""

    trained: str
    """head, adapters, lora or all."""
    size: int
    """Bottleneck or rank; 0 where there is none."""
    seed: int
    rate: float
    parameters: int
    """Trained, the head's included."""
    accuracy: float


def kinds(corpus: Path) -> list[Example]:
    """Sentences whose class is their file."""
    examples = []
    for label, file in KINDS.items():
        lines = [text for text in _lines(corpus, file) if not text.startswith(texts.TITLE)]
        random.Random(0).shuffle(lines)
        examples += [Example(label, line) for line in lines[:EACH]]
    random.Random(0).shuffle(examples)
    return examples


def opinions(corpus: Path) -> list[Example]:
    """Positive and negative sentences."""
    items = texts.items_of(corpus, SourceFile("reviews.tsv"), every=2)
    examples = [Example(item.text, item.other) for item in items if _fits(item.other)]
    examples = list(dict.fromkeys(examples))
    random.Random(0).shuffle(examples)
    return examples


def _lines(corpus: Path, file: str) -> list[str]:
    return list(dict.fromkeys(line.strip() for line in texts.lines(corpus, file) if _fits(line)))


def _fits(text: str) -> bool:
    return WORDS[0] <= len(text.split()) <= WORDS[1]


def drawn(examples: Sequence[Example], labeled: int, seed: int, held_out: int) -> tuple[LabeledSet, list[Example]]:
    """A seed's labeled sentences, the held-out ones of all seeds, and the rest in the seed's order.

    Raises:
        AtlasError: the corpus has too few sentences.
    """
    pool = list(examples[held_out:])
    if len(pool) < 2 * labeled:
        raise AtlasError(f"The corpus has {len(examples)} usable sentences; {held_out + 2 * labeled} are needed.")
    random.Random(seed).shuffle(pool)
    return LabeledSet(tuple(pool[:labeled]), tuple(examples[:held_out])), pool[labeled:]


def fine_tuned(checkpoint: Checkpoint, data: LabeledSet, setup: Setup) -> Learner:
    """A model after training; it is measured once, afterwards."""
    learner = Learner(checkpoint, len(data.labels), setup)
    for _ in learner.train(LabeledSet(data.train, data.train[:1])):
        pass
    return learner


def sweep_distillation(
    teacher: Checkpoint, examples: Sequence[Example], done: Sequence[DistillationRow], seeds: int
) -> Iterator[list[DistillationRow]]:
    """The rows of each run that is not done; the last of a seed are those of its majority, which complete it."""
    student = student_of(teacher)
    settings = [(alpha, t) for alpha in ALPHAS for t in (TEMPERATURES if alpha < 1 else TEMPERATURES[:1])]
    for seed in range(seeds):
        measured = [row for row in done if row.seed == seed]
        if any(row.model == "majority" for row in measured):
            continue
        data, remaining = drawn(examples, LABELED, seed, HELD_OUT)
        unlabeled = [example.text for example in remaining[:UNLABELED]]
        learner = fine_tuned(teacher, data, Setup(**asdict(TEACHER) | {"seed": seed}))
        scores = scores_of(learner, unlabeled)
        for alpha, t in settings:
            if not any(row.model == "student" and _same(row, alpha, t) for row in measured):
                yield list(distill(student, data, unlabeled, scores, alpha, t, seed))
        others = {"teacher": accuracy(learner, data), "majority": data.majority}
        yield [DistillationRow(name, seed, 0.0, 1, 0, 0.0, value) for name, value in others.items()]


def _same(row: DistillationRow, alpha: float, temperature: int) -> bool:
    """Whether a row is of this setting; labels alone (α = 1) know no temperature."""
    return row.alpha == alpha and (alpha == 1 or row.temperature == temperature)


def sweep_widths(
    checkpoint: Checkpoint, examples: Sequence[Example], done: Sequence[Width], seeds: int
) -> Iterator[list[Width]]:
    """The row of each run that is not done."""
    settings: list[tuple[Any, int]] = [("head", 0), *(("adapters", n) for n in BOTTLENECKS)]
    settings += [*(("lora", n) for n in RANKS), ("all", 0)]
    measured = {(row.trained, row.size, row.seed) for row in done}
    for seed in range(seeds):
        data, _ = drawn(examples, OPINIONS, seed, HELD_OUT)
        for trained, size in settings:
            if (trained, size, seed) in measured:
                continue
            setup = Setup(trained, "first", EPOCHS[trained], RATES[trained], seed, seconds=1e6, size=size)
            learner = fine_tuned(checkpoint, data, setup)
            yield [Width(trained, size, seed, setup.rate, learner.trained, accuracy(learner, data))]


def distillation_runs(done: Sequence[DistillationRow], corpus: Path, seeds: int) -> Iterator[list[DistillationRow]]:
    """`sweep_distillation` of the page's model on sentences of the corpus."""
    return sweep_distillation(_teacher(), kinds(corpus), done, seeds)


def width_runs(done: Sequence[Width], corpus: Path, seeds: int) -> Iterator[list[Width]]:
    """`sweep_widths` of the page's model on opinions of the corpus."""
    return sweep_widths(_teacher(), opinions(corpus), done, seeds)


def _teacher() -> Checkpoint:
    return checkpoints.load(checkpoints.first("fine-tuning")[0])
