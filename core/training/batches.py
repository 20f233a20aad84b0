"""Tokens in memory-mapped arrays, and the plan of batches: a pure function of seed and epoch.

Items of one batch share a key (their length, or the padded lengths of a pair), so next to no position is padding and a
short item never waits for a long one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Ragged:
    """Rows of different length, end to end: row i is ``flat[offsets[i]:offsets[i + 1]]``."""

    flat: npt.NDArray[np.uint16]
    offsets: Ints

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> Ints:
        return np.diff(self.offsets)

    def rows(self, index: Ints, width: int, fill: int) -> Ints:
        """The chosen rows as one (len(index), width) array; short rows end in ``fill``, long ones are cut."""
        out = np.full((len(index), width), fill, dtype=np.int64)
        for row, item in enumerate(index):
            piece = self.flat[self.offsets[item] : self.offsets[item + 1]][:width]
            out[row, : len(piece)] = piece
        return out

    def count(self, wanted: npt.NDArray[np.bool_]) -> Ints:
        """How many tokens of each row are among the ``wanted`` (vocabulary,) ones."""
        total = np.concatenate([[0], np.cumsum(wanted[self.flat], dtype=np.int64)])
        return np.asarray(total[self.offsets[1:]] - total[self.offsets[:-1]], dtype=np.int64)

    def save(self, stem: Path) -> None:
        """Writes the rows for `load`."""
        with RaggedWriter(stem) as out:
            out.add(self.flat, self.lengths)

    @classmethod
    def load(cls, stem: Path) -> Ragged:
        """Maps what `save` or a `RaggedWriter` wrote; raises FileNotFoundError where it is missing."""
        return cls(_map(stem.with_suffix(".tokens"), np.uint16), _map(stem.with_suffix(".offsets"), np.int64))

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]]) -> Ragged:
        """Packs rows of token ids below 65,536."""
        offsets = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum([len(row) for row in rows], out=offsets[1:])
        flat = np.fromiter((token for row in rows for token in row), dtype=np.uint16, count=int(offsets[-1]))
        return cls(flat, offsets)


def _map(path: Path, kind: Any) -> Any:
    """The numbers of a file; an empty one cannot be mapped."""
    return np.memmap(path, kind, mode="r") if path.stat().st_size else np.zeros(0, kind)


class RaggedWriter:
    """Appends rows to the two files that `Ragged.load` maps, so that no more than one piece is ever held.

    The offsets begin with the 0 of an empty `Ragged`. What is complete carries its name only on leaving the ``with``
    block; a block that fails leaves nothing.
    """

    def __init__(self, stem: Path) -> None:
        self.stem = stem
        self._end = 0

    def __enter__(self) -> RaggedWriter:
        self.stem.parent.mkdir(parents=True, exist_ok=True)
        self._files = [self.stem.with_suffix(f"{kind}.new").open("wb") for kind in (".tokens", ".offsets")]
        np.zeros(1, np.int64).tofile(self._files[1])
        return self

    def add(self, flat: Sequence[int] | npt.NDArray[Any], lengths: Sequence[int] | Ints) -> None:
        """Appends rows of these lengths, end to end in ``flat``; ids below 65,536."""
        np.asarray(flat, dtype=np.uint16).tofile(self._files[0])
        ends = self._end + np.cumsum(lengths, dtype=np.int64)
        ends.tofile(self._files[1])
        self._end = int(ends[-1]) if len(ends) else self._end

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        for file in self._files:
            path = Path(file.name)
            file.close()
            if kind is None:
                path.rename(path.with_suffix(""))
            else:
                path.unlink()


def round_up(lengths: Ints, multiple: int = 4) -> Ints:
    """Each length rounded up to a multiple."""
    return -(-lengths // multiple) * multiple


def draw(count: int, passes: float, rng: np.random.Generator) -> Ints:
    """Item numbers of one epoch: every item ``floor(passes)`` times, and a random share for the rest."""
    whole = int(passes)
    extra = rng.permutation(count)[: round((passes - whole) * count)]
    return np.concatenate([np.tile(np.arange(count), whole), extra]).astype(np.int64)


def plan(
    items: Ints, keys: Ints, cost: Ints, step_tokens: int, rng: np.random.Generator, *, least: float = 0.5
) -> list[Ints]:
    """Batches of one epoch in random order.

    ``items[i]`` has key ``keys[i]``; an item costs ``cost[i]`` positions (equal for equal keys). A batch holds items of
    one key that together cost at most ``step_tokens``; what is left over of a key is a smaller batch where it fills a
    share of ``least``, and is dropped otherwise (until the next epoch).
    """
    order = rng.permutation(len(items))
    order = order[np.argsort(keys[order], kind="stable")]
    bounds = np.flatnonzero(np.diff(keys[order])) + 1
    batches: list[Ints] = []
    for group in np.split(order, bounds):
        size = max(1, step_tokens // int(cost[group[0]]))
        for start in range(0, len(group), size):
            part = group[start : start + size]
            if len(part) >= least * size:
                batches.append(items[part])
    return [batches[i] for i in rng.permutation(len(batches))]


def mix(origin: Ints, passes: Sequence[float], rng: np.random.Generator) -> Ints:
    """Item numbers of one epoch over several sources: ``origin[i]`` is the source of item i, drawn as `draw` says."""
    parts = []
    for number, count in enumerate(passes):
        members = np.flatnonzero(origin == number)
        parts.append(members[draw(len(members), count, rng)])
    return np.concatenate(parts)


class Epochs:
    """The batch of any step: epoch after epoch, each planned from the seed and its number alone.

    Args:
        seed: the recipe's.
        make: plans one epoch; equal generators give equal plans.
    """

    def __init__(self, seed: int, make: Callable[[np.random.Generator], Sequence[Ints]]) -> None:
        self.seed = seed
        self.make = make
        self._start_over()

    def _start_over(self) -> None:
        self._epoch, self._first = -1, 0
        self._plan: Sequence[Ints] = ()

    def __getitem__(self, step: int) -> Ints:
        """Item numbers of the batch of ``step``, counted from 0."""
        if step < self._first:
            self._start_over()
        while step >= self._first + len(self._plan):
            self._first += len(self._plan)
            self._epoch += 1
            self._plan = self.make(np.random.default_rng([self.seed, self._epoch]))
        return self._plan[step - self._first]
