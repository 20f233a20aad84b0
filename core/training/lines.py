"""Short texts, each for itself: tokenised in a stream, kept on disk, read through memory maps.

In memory there are some thousand texts at a time, and numbers that say where rows begin; never the corpus.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from core.training import corpus
from core.training.arrays import ArrayWriter
from core.training.batches import Ints, Ragged, RaggedWriter
from core.training.documents import AT_ONCE, batched
from core.training.recipe import Recipe

HELD = 4000
"""Held-out texts that are kept at most, drawn evenly."""


def prepare(recipe: Recipe, tokenizer: Any, folder: Path, cache: Path) -> tuple[Ragged, Ints, Ragged]:
    """Training texts, the number of the source of each, and held-out texts; from ``cache`` where they were made before.

    Args:
        recipe: sources, and in its data ``hold_out_every``, ``shortest`` and ``longest``: texts with fewer or more
            tokens are left out.
        tokenizer: of the tokenizers library; adds the special tokens.
        folder: the corpus.
        cache: where results are kept.

    Raises:
        CorpusError: a file is missing or not text, or no text is left.
    """
    stem = cache / hashlib.blake2b(repr((recipe.sources, recipe.data)).encode(), digest_size=6).hexdigest()
    try:
        return _load(stem)
    except FileNotFoundError:
        _write(recipe, tokenizer, folder, stem)
        return _load(stem)


def _load(stem: Path) -> tuple[Ragged, Ints, Ragged]:
    return Ragged.load(stem / "train"), np.load(stem / "source.npy", mmap_mode="r"), Ragged.load(stem / "test")


def _write(recipe: Recipe, tokenizer: Any, folder: Path, stem: Path) -> None:
    every = int(recipe.data["hold_out_every"])
    shortest, longest = int(recipe.data["shortest"]), int(recipe.data["longest"])
    origin: list[int] = []
    with RaggedWriter(stem / "train") as train, RaggedWriter(stem / "held") as held:
        for source in recipe.sources:
            before = train.count
            for items in batched(corpus.read(folder, source, every=every), AT_ONCE):
                encoded = tokenizer.encode_batch_fast([item.text for item in items])
                sides: dict[bool, list[list[int]]] = {False: [], True: []}
                for item, encoding in zip(items, encoded, strict=True):
                    if shortest <= len(encoding.ids) <= longest:
                        sides[item.held_out].append(encoding.ids)
                train.extend(sides[False])
                held.extend(sides[True])
            origin.append(train.count - before)
        corpus.require(train.count, "training", recipe.sources)
        corpus.require(held.count, "measuring", recipe.sources)
    everything = Ragged.load(stem / "held")
    order = np.arange(len(everything))
    np.random.default_rng(recipe.seed).shuffle(order)
    with RaggedWriter(stem / "test") as test:
        for row in order[:HELD]:
            test.extend([everything.row(int(row))])
    del everything
    for kind in (".tokens", ".offsets"):
        (stem / "held").with_suffix(kind).unlink()
    with ArrayWriter(stem / "source.npy", np.int64) as numbers:
        for number, count in enumerate(origin):
            for start in range(0, count, AT_ONCE):
                numbers.add(np.full(min(AT_ONCE, count - start), number))
