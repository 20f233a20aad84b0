"""Labeled texts: the sets that are ready, and a visitor's own lines.

``assets/finetuning.tsv`` and ``assets/heldout/adapters.tsv`` hold the ready sets, written for this project; every
second text of each class is held out. A visitor writes one example per line, ``label: text`` or, of pairs, ``label:
text | second text``; of those, every fourth of each class is held out.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from random import Random
from typing import Literal

from core.attention.roles.treebank import Sentence
from core.errors import InputEmpty, InputTooLong, InputUnusable
from core.language.text import clean
from core.settings import ASSETS

MOST, LONGEST, LONGEST_LABEL, MOST_LABELS = 100, 300, 30, 8
"""Lines, characters of a text and of a label, and classes of a visitor's set."""
OWN_HELD_OUT, READY_HELD_OUT = 4, 2
"""Of so many texts of a class, one is held out."""
TEN = "ten"
"""The ready set that the page opens with: ten training sentences of the set on topics, and all its held-out ones."""
READY = {
    TEN: (),
    "question": ("full stop", "question mark"),
    "topic": (),
    "spam": (),
    "sentiment": ("negative", "positive"),
    "pair": ("fits", "does not fit"),
}
"""The ready sets; where the label stands in the other file, its labels."""
Task = Literal["classes", "tags", "spans"]


@dataclass(frozen=True, slots=True)
class Example:
    """A text, or a pair, and its class; a sentence and its words' tags; or a question, a passage and its answer."""

    label: str
    text: str
    second: str = ""
    """The second segment of a pair."""
    sentence: Sentence | None = None
    answer: tuple[int, int] | None = None
    """Of a question, where the answer begins and ends in the passage, which is the second segment: in characters."""

    @property
    def whole(self) -> str:
        """The text, or both segments."""
        return f"{self.text} | {self.second}" if self.second else self.text

    @property
    def targets(self) -> tuple[str, ...]:
        """What the head predicts: the class, a tag for each word, or both ends of an answer."""
        if self.answer:
            return "start", "end"
        return self.sentence.upos if self.sentence else (self.label,)

    @property
    def words(self) -> tuple[str, ...]:
        """The words of a sentence with tags."""
        return self.sentence.words if self.sentence else ()


@dataclass(frozen=True, slots=True)
class LabeledSet:
    """Texts to train on, and held-out ones to measure on. Hashable."""

    train: tuple[Example, ...]
    held_out: tuple[Example, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """The classes or tags, in the order of their first example; a rare tag may be in held-out sentences alone."""
        examples = (*self.train, *self.held_out)
        return tuple(dict.fromkeys(target for example in examples for target in example.targets))

    @property
    def task(self) -> Task:
        """What the head tells: a text's class, each word's tag, or an answer's ends."""
        example = self.train[0]
        return "spans" if example.answer else "tags" if example.sentence else "classes"

    @property
    def majority(self) -> float:
        """The held-out accuracy of the most frequent training class."""
        texts = [example.label for example in self.train]
        most = max(self.labels, key=texts.count)
        return sum(example.label == most for example in self.held_out) / len(self.held_out)

    def first(self, examples: int) -> LabeledSet:
        """The same with only so many training texts, the classes in turn."""
        numbers = {label: count() for label in self.labels}
        ranked = sorted((next(numbers[example.label]), n, example) for n, example in enumerate(self.train))
        return LabeledSet(tuple(example for _, _, example in ranked[:examples]), self.held_out)

    def sample(self, examples: int, seed: int) -> LabeledSet:
        """The same with so many training texts drawn at random, the classes in turn."""
        shuffled = list(self.train)
        Random(seed).shuffle(shuffled)
        return LabeledSet(tuple(shuffled), self.held_out).first(examples)


@lru_cache(maxsize=8)
def ready(name: str) -> LabeledSet:
    """A ready set by its name in :data:`READY`."""
    if name == TEN:
        return ready("topic").first(10)
    examples = []
    for file in ("finetuning.tsv", "heldout/adapters.tsv"):
        with (ASSETS / file).open(encoding="utf-8", newline="") as lines:
            rows = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
            examples += [
                Example(row["answer"], row["text"], row.get("second") or "") for row in rows if row["task"] == name
            ]
    return split(examples, READY_HELD_OUT)


def split(examples: Sequence[Example], every: int) -> LabeledSet:
    """Hold out one of ``every`` texts of each class."""
    numbers = {example.label: count(1) for example in examples}
    held_out = [next(numbers[example.label]) % every == 0 for example in examples]
    return LabeledSet(
        tuple(example for example, out in zip(examples, held_out, strict=True) if not out),
        tuple(example for example, out in zip(examples, held_out, strict=True) if out),
    )


def _example(label: str, text: str, number: int) -> Example:
    """A text or a pair. Raises as `parse`, which names the line by its ``number``."""
    first, *others = (part.strip() for part in text.split("|"))
    if len(others) > 1:
        raise InputUnusable(f"Line {number} has {1 + len(others)} texts; a pair has two: “first | second”.")
    if others and not (first and others[0]):
        raise InputUnusable("One text of the pair is empty. Write both, with a bar between them: “first | second”.")
    return Example(label, first, "".join(others))


def parse(lines: str) -> LabeledSet:
    """A visitor's examples, one per line: ``label: text``, or on every line ``label: text | second text``.

    Raises:
        InputEmpty: there is none.
        InputUnusable: a line has no label or no text, or more than two, pairs and single texts are mixed, a class is
            alone, or one has too few texts to hold one out.
        InputTooLong: too many lines or classes, or a text or a label that is too long.
    """
    examples: list[Example] = []
    bars = 0
    for number, line in enumerate(clean(lines, newlines=True).split("\n"), 1):
        if not line.strip():
            continue
        label, colon, text = (part.strip() for part in line.partition(":"))
        if not (label and colon and text):
            raise InputUnusable(
                f"Line {number} is not an example. Write its class, a colon and the text: “spam: Win now”."
            )
        bars = text.count("|") if not examples else bars
        if len(label) > LONGEST_LABEL or len(text) > LONGEST:
            raise InputTooLong(
                f"Line {number} is too long: a class has at most {LONGEST_LABEL} characters, a text at most {LONGEST}."
            )
        examples.append(_example(label, text, number))
        if text.count("|") != bars:
            raise InputUnusable(
                f"Line {number} has {text.count('|') + 1} texts, the lines above have {bars + 1}. Write as many bars "
                "on every line."
            )
    if not examples:
        raise InputEmpty("There are no examples. Write one on each line: its class, a colon and the text.")
    if len(examples) > MOST:
        raise InputTooLong(f"There are over {MOST} examples; at most {MOST} are used here. Delete some lines.")
    counts: dict[str, int] = {}
    for example in examples:
        counts[example.label] = counts.get(example.label, 0) + 1
    if len(counts) == 1:
        raise InputUnusable(
            f"All examples have the class “{examples[0].label}”. Two classes or more can be told apart."
        )
    if len(counts) > MOST_LABELS:
        raise InputTooLong(f"There are {len(counts)} classes; at most {MOST_LABELS} are used here.")
    if rare := [label for label, many in counts.items() if many < OWN_HELD_OUT]:
        raise InputUnusable(
            f"The class “{rare[0]}” has {counts[rare[0]]} of the {OWN_HELD_OUT} examples that it needs: three to train "
            "on and one to measure on."
        )
    return split(examples, OWN_HELD_OUT)
