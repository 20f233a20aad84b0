"""The token store: texts are tokenized once, into memory-mapped numpy files in ``var/training``."""

from __future__ import annotations

import hashlib
import json
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from lab import corpus
from lab.files import replacing_folder
from lab.recipe import Recipe

Ints = npt.NDArray[np.int64]
AT_ONCE = 4096
"""Texts that are tokenized in one call."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Ragged:
    """Rows of different lengths, end to end: row i is ``flat[offsets[i]:offsets[i + 1]]``."""

    flat: npt.NDArray[np.uint16]
    offsets: Ints

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> Ints:
        """(rows,) tokens of each row."""
        return np.diff(self.offsets)

    def row(self, item: int) -> list[int]:
        """The tokens of one row."""
        tokens: list[int] = self.flat[self.offsets[item] : self.offsets[item + 1]].tolist()
        return tokens

    def rows(self, index: Ints, width: int, fill: int) -> Ints:
        """The rows ``index`` as an array (len(index), width), padded with ``fill`` or truncated."""
        out = np.full((len(index), width), fill, dtype=np.int64)
        for row, item in enumerate(index):
            piece = self.flat[self.offsets[item] : self.offsets[item + 1]][:width]
            out[row, : len(piece)] = piece
        return out

    def count(self, members: npt.NDArray[np.bool_]) -> Ints:
        """How many tokens of each row are ``members`` (vocabulary,)."""
        total = np.concatenate([[0], np.cumsum(members[self.flat], dtype=np.int64)])
        return np.diff(total[self.offsets])

    @classmethod
    def of(cls, rows: Iterable[Sequence[int]]) -> Ragged:
        """Packs rows of token ids. Raises OverflowError for an id above 65,535."""
        flat, ends = array("H"), array("q", [0])
        for row in rows:
            flat.extend(row)
            ends.append(len(flat))
        return cls(np.array(flat, dtype=np.uint16), np.array(ends, dtype=np.int64))


LAYOUT = 3
"""The version of a stored folder's format."""


def stored(root: Path, key: object, make: Callable[[], Mapping[str, Any]]) -> dict[str, Any]:
    """The cached result of ``make`` for ``key`` (its ``repr``); its folder is complete or absent.

    Arrays and `Ragged` rows are memory-mapped, tokenizers loaded, and other values stored as JSON.
    """
    folder = root / hashlib.blake2b(repr((LAYOUT, key)).encode(), digest_size=6).hexdigest()
    if not folder.is_dir():
        with replacing_folder(folder) as new:
            for name, value in make().items():
                _save(value, new / name)
    return {path.name.partition(".")[0]: _load(path) for path in folder.iterdir() if ".tokens." not in path.name}


def _save(value: Any, stem: Path) -> None:
    if isinstance(value, Ragged):
        np.save(f"{stem}.tokens.npy", value.flat)
        np.save(f"{stem}.offsets.npy", value.offsets)
    elif isinstance(value, np.ndarray):
        np.save(f"{stem}.npy", value)
    elif isinstance(value, (dict, list)):
        stem.with_suffix(".json").write_text(json.dumps(value, ensure_ascii=False), "utf-8")
    else:
        value.save(f"{stem}.tokenizer.json")


def _load(path: Path) -> Any:
    if path.name.endswith(".tokenizer.json"):
        return Tokenizer.from_file(str(path))
    if path.suffix == ".json":
        return json.loads(path.read_text("utf-8"))
    array = np.load(path, mmap_mode="r")
    stem, rows, _ = path.name.partition(".offsets.")
    return Ragged(np.load(path.with_name(f"{stem}.tokens.npy"), mmap_mode="r"), array) if rows else array


def batched(items: Iterable[T]) -> Iterator[list[T]]:
    """Lists of `AT_ONCE` items, the last one shorter."""
    remaining = iter(items)
    while part := list(islice(remaining, AT_ONCE)):
        yield part


def encoded(tokenizer: Any, texts: Iterable[str], *, special: bool = True) -> Iterator[list[int]]:
    """The token ids of each text, with or without ``special`` tokens."""
    for part in batched(texts):
        yield from (encoding.ids for encoding in tokenizer.encode_batch_fast(part, add_special_tokens=special))


HELD = 4000
"""The most held-out texts of `lines`, sampled uniformly."""


def lines(recipe: Recipe, tokenizer: Any, folder: Path, cache: Path) -> tuple[Ragged, Ints, Ragged]:
    """Short texts: training texts, the number of the source of each, and held-out texts.

    Args:
        recipe: its sources, and in its data ``hold_out_every`` and the lengths ``shortest`` and ``longest`` in tokens.
        tokenizer: of the tokenizers library; adds the special tokens.
        folder: the corpus.
        cache: the folder of the store.
    """
    every, shortest, longest = (int(recipe.data[name]) for name in ("hold_out_every", "shortest", "longest"))

    def make() -> dict[str, Any]:
        origin: list[int] = []
        held: list[list[int]] = []

        def train() -> Iterator[list[int]]:
            for number, source in enumerate(recipe.sources):
                for items in batched(corpus.items_of(folder, source, every=every)):
                    rows = encoded(tokenizer, (item.text for item in items))
                    for item, ids in zip(items, rows, strict=True):
                        if shortest <= len(ids) <= longest and item.held_out:
                            held.append(ids)
                        elif shortest <= len(ids) <= longest:
                            origin.append(number)
                            yield ids

        texts = Ragged.of(train())
        corpus.require(len(texts), "training", recipe.sources)
        corpus.require(len(held), "measuring", recipe.sources)
        order = np.arange(len(held))
        np.random.default_rng(recipe.seed).shuffle(order)
        return {"train": texts, "source": np.array(origin), "test": Ragged.of(held[row] for row in order[:HELD])}

    data = stored(cache, (recipe.sources, recipe.data), make)
    return data["train"], data["source"], data["test"]
