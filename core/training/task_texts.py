"""Examples for tasks on one encoder: labelled texts, texts whose source is the answer, texts put in disorder.

=====================  ===============================================================================================
``labelled``           the answer stands before the tab of a line, its text behind it
``source``             a sentence; the answer is that of its source, ``task = "genre/story"``
``swapped-words``      a sentence as it stands (answer 0), or with two neighbouring words exchanged (answer 1)
``swapped-sentences``  two sentences that follow each other in one paragraph (0), or the second one first (1)
``other-sentence``     two such sentences (0), or the second one of another pair of the same source (1)
=====================  ===============================================================================================

What is exchanged is drawn when a text is shown, anew in each epoch, in half of all cases. Two words can change places
where both are made of letters, differ, and touch neither an apostrophe nor a hyphen.

Texts are tokenised in a stream, kept on the disk and read through memory maps. Held out are whole books, other lines
one by one; of a labelled line its text decides, not its label.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from core.errors import AtlasError
from core.training import batches, corpus
from core.training.arrays import ArrayWriter
from core.training.batches import Ints, Ragged, RaggedWriter
from core.training.documents import AT_ONCE, batched
from core.training.objectives.pieces import WordPieces
from core.training.recipe import Recipe, SourceFile

PAIRS = ("swapped-sentences", "other-sentence")
"""The forms that ask about two sentences."""
_APART = 50
"""Pairs that stand nearer than this in a source may be of one paragraph or one scene."""
_JOINERS = ("'", "’", "-", "‘", "`")


class Text(NamedTuple):
    """A text, its second sentence where it has one, and the number of its answer (0 where it is drawn later)."""

    first: str
    second: str
    answer: int


@dataclass(frozen=True, slots=True)
class Texts:
    """n tokenised texts of one task, without special tokens."""

    first: Ragged
    second: Ragged
    """Empty rows where the task asks about one text."""
    answers: Ints
    """(n,)."""
    source: Ints
    """(n,) number of the source among the task's own."""

    def __len__(self) -> int:
        return len(self.answers)

    @property
    def lengths(self) -> Ints:
        """(n,) tokens as the encoder reads them, ``[CLS]`` and one or two ``[SEP]`` included."""
        second = self.second.lengths
        return np.asarray(self.first.lengths + second + 2 + (second > 0), dtype=np.int64)

    @classmethod
    def load(cls, stem: Path) -> Texts:
        """Maps what `write` wrote; raises FileNotFoundError where it is missing."""
        numbers = [np.load(stem.with_suffix(f".{name}.npy"), mmap_mode="r") for name in ("answers", "source")]
        first, second = (Ragged.load(stem.with_name(f"{stem.name}-{side}")) for side in "ab")
        return cls(first, second, *numbers)


def sources_of(recipe: Recipe, task: str) -> tuple[SourceFile, ...]:
    """The sources of a task; what stands behind the slash of a source's task is its answer."""
    found = tuple(source for source in recipe.sources if source.task.partition("/")[0] == task)
    if not found:
        raise AtlasError(f"The recipe {recipe.slug} has no source for the task {task!r}.")
    return found


def read(
    folder: Path, source: SourceFile, form: str, answers: list[str], *, every: int, held_out: bool
) -> Iterator[Text]:
    """The texts of one side of the split."""
    items = corpus.read(folder, source, every=every)
    if form == "labelled":
        for item in items:
            if corpus.held_out(item.other, every) == held_out:
                yield Text(item.other, "", answers.index(item.text))
    elif form in PAIRS:
        mine = (item for item in items if item.held_out == held_out)
        for _, paragraph in groupby(mine, key=lambda item: (item.document, item.line)):
            for one, two in couples(item.text for item in paragraph):
                yield Text(one, two, 0)
    else:
        answer = answers.index(source.task.partition("/")[2]) if form == "source" else 0
        for item in items:
            if item.held_out == held_out:
                yield Text(item.text, "", answer)


def couples(sentences: Iterator[str]) -> Iterator[tuple[str, str]]:
    """Neighbours, each sentence once: the first with the second, the third with the fourth."""
    for number, pair in enumerate(pairwise(sentences)):
        if number % 2 == 0:
            yield pair


def write(folder: Path, recipe: Recipe, task: str, tokenizer: Any, stem: Path, *, held_out: bool) -> None:
    """Tokenises one side of the split of a task into the files that `Texts.load` maps.

    Texts outside ``shortest`` .. ``longest`` tokens (each sentence of a pair for itself) are left out.
    """
    form, answers = str(recipe.model["tasks"][task]["form"]), list(recipe.model["tasks"][task]["answers"])
    every = int(recipe.data["hold_out_every"])
    shortest, longest = int(recipe.data["shortest"]), int(recipe.data["longest"])
    sources = sources_of(recipe, task)
    with (
        RaggedWriter(stem.with_name(f"{stem.name}-a")) as first,
        RaggedWriter(stem.with_name(f"{stem.name}-b")) as second,
        ArrayWriter(stem.with_suffix(".answers.npy"), np.int64) as answer,
        ArrayWriter(stem.with_suffix(".source.npy"), np.int64) as origin,
    ):
        for number, source in enumerate(sources):
            texts = read(folder, source, form, answers, every=every, held_out=held_out)
            for part in batched(texts, AT_ONCE):
                left = tokenizer.encode_batch_fast([text.first for text in part], add_special_tokens=False)
                right = tokenizer.encode_batch_fast([text.second for text in part], add_special_tokens=False)
                kept = [
                    (a.ids, b.ids, text.answer)
                    for a, b, text in zip(left, right, part, strict=True)
                    if all(shortest <= len(ids) <= longest for ids in (a.ids, b.ids)[: 1 + bool(text.second)])
                ]
                first.extend([row[0] for row in kept])
                second.extend([row[1] for row in kept])
                answer.add([row[2] for row in kept])
                origin.add([number] * len(kept))
        corpus.require(first.count, "measuring" if held_out else "training", sources)


def prepare(recipe: Recipe, task: str, tokenizer: Any, folder: Path, cache: Path, *, held_out: bool) -> Texts:
    """One side of a task's split, from ``cache`` where it was made before.

    Raises `CorpusError` where no text is left.
    """
    told = recipe.model["tasks"][task]
    what = (sources_of(recipe, task), recipe.data, told["form"], told["answers"])
    stem = cache / f"{task}-{hashlib.blake2b(repr(what).encode(), digest_size=6).hexdigest()}"
    stem = stem / ("test" if held_out else "train")
    try:
        return Texts.load(stem)
    except FileNotFoundError:
        stem.parent.mkdir(parents=True, exist_ok=True)
        write(folder, recipe, task, tokenizer, stem, held_out=held_out)
        return Texts.load(stem)


def evenly(texts: Texts, most: int) -> Ints:
    """Rows that are measured: about as many from each source, spread evenly over it, at most ``most``."""
    sources = np.unique(texts.source)
    each = max(1, most // len(sources))
    found = []
    for number in sources:
        rows = np.flatnonzero(np.asarray(texts.source) == number)
        found.append(rows[np.unique(np.linspace(0, len(rows) - 1, min(each, len(rows))).round().astype(np.int64))])
    return np.concatenate(found)


class Rows:
    """Turns texts into what an encoder reads, and puts half of those in disorder whose task asks for it.

    Args:
        tokenizer: the encoder's, of the tokenizers library.
    """

    def __init__(self, tokenizer: Any) -> None:
        self.pieces = WordPieces(tokenizer)
        vocab: Mapping[str, int] = tokenizer.get_vocab()
        self.pad = vocab["[PAD]"]
        self.letters = np.zeros(len(vocab), dtype=bool)
        self.joins = np.zeros(len(vocab), dtype=bool)
        for piece, index in vocab.items():
            self.letters[index] = piece.removeprefix("##").isalpha()
            self.joins[index] = piece in _JOINERS

    def exchange(self, ids: list[int], rng: np.random.Generator) -> list[int] | None:
        """The tokens with two neighbouring words exchanged; None where no two of them can be."""
        starts = [at for at in range(len(ids)) if not self.pieces.continues[ids[at]]]
        words = [ids[a:b] for a, b in pairwise([*starts, len(ids)])]
        free = [
            all(self.letters[i] for i in word)
            and not any(0 <= n < len(words) and self.joins[words[n][0]] for n in (at - 1, at + 1))
            for at, word in enumerate(words)
        ]
        places = [at for at in range(len(words) - 1) if free[at] and free[at + 1] and words[at] != words[at + 1]]
        if not places:
            return None
        at = places[int(rng.integers(len(places)))]
        words[at], words[at + 1] = words[at + 1], words[at]
        return [piece for word in words for piece in word]

    def row(self, texts: Texts, index: int, form: str, rng: np.random.Generator) -> tuple[list[int], list[int], int]:
        """(first, second, answer) of one text as it is shown."""
        first, second, answer = texts.first.row(index), texts.second.row(index), int(texts.answers[index])
        if form in ("labelled", "source") or rng.random() < 0.5:
            return first, second, answer
        if form == "swapped-sentences":
            return second, first, 1
        if form == "other-sentence":
            row = self.other(texts, index, rng)
            return first, texts.second.row(row), int(row != index)
        changed = self.exchange(first, rng)
        return (first, second, 0) if changed is None else (changed, second, 1)

    def other(self, texts: Texts, index: int, rng: np.random.Generator) -> int:
        """Another row of the same source, `_APART` rows away where there are so many; of a single row, itself."""
        first, last = np.searchsorted(texts.source, [texts.source[index], texts.source[index] + 1]).tolist()
        size = last - first
        apart = min(_APART, size // 2)
        away = int(rng.integers(apart, size - apart + 1))
        return int(first + (index - first + away) % size)

    def batch(self, texts: Texts, index: Ints, form: str, rngs: Iterator[np.random.Generator]) -> dict[str, Ints]:
        """``input_ids``, ``token_type_ids`` and ``attention_mask`` (rows, width), and ``answers`` (rows,)."""
        begin, end = self.pieces.begin, self.pieces.end
        shown = [self.row(texts, int(i), form, rng) for i, rng in zip(index, rngs, strict=False)]
        sides = [([begin, *a, end], [*b, end] if b else []) for a, b, _ in shown]
        width = int(batches.round_up(np.array([max(len(a) + len(b) for a, b in sides)]))[0])
        ids = np.full((len(sides), width), self.pad, dtype=np.int64)
        types = np.zeros_like(ids)
        real = np.zeros_like(ids)
        for row, (a, b) in enumerate(sides):
            ids[row, : len(a) + len(b)] = a + b
            types[row, len(a) : len(a) + len(b)] = 1
            real[row, : len(a) + len(b)] = 1
        answers = np.array([answer for _, _, answer in shown], dtype=np.int64)
        return {"input_ids": ids, "token_type_ids": types, "attention_mask": real, "answers": answers}
