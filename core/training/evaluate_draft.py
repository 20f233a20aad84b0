"""A draft model as its card states it: its own bits per byte, and what the large model takes of its drafts.

Beginnings of `BEGINNING` tokens are cut from texts that neither model has seen, the large model continues each by
`WRITTEN` tokens greedily, and the draft proposes `AHEAD` at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from core.checkpoints.spec import Checkpoint
from core.errors import AtlasError
from core.language.decoding.draft import drafted, plain
from core.training import measures
from core.training.corpus import held_out_books

BEGINNING = 32
WRITTEN = 32
AHEAD = 4
OF_STORY = 8
OF_BOOKS = 4
"""Beginnings that are cut from the committed story, and from each book."""


def draft(checkpoint: Checkpoint, corpus: Path | None) -> dict[str, dict[str, float]]:
    """Numbers by the texts that they were measured on."""
    from core import checkpoints

    large = checkpoints.load(checkpoint.spec.slug.partition(":")[0])
    story = measures.STORY.read_text(encoding="utf-8")
    on = "a story written for this project"
    out = {
        on: _bits(checkpoint, [story]),
        f"{OF_STORY} beginnings from {on}": _taken(large, checkpoint, [story], OF_STORY),
    }
    if corpus is not None:
        books = list(held_out_books(corpus).values())
        on = f"{len(books)} books of the corpus held out from training"
        out |= {
            on: _bits(checkpoint, books),
            f"{OF_BOOKS} beginnings from each of {on}": _taken(large, checkpoint, books, OF_BOOKS),
        }
    return out


def _bits(checkpoint: Checkpoint, texts: Sequence[str]) -> dict[str, float]:
    sizes = [len(text.encode()) for text in texts]
    spent = [measures.bits_per_byte(checkpoint.model, checkpoint.tokenizer, text) for text in texts]
    return {"bits per byte": sum(b * n for b, n in zip(spent, sizes, strict=True)) / sum(sizes)}


def _taken(large: Checkpoint, small: Checkpoint, texts: Sequence[str], count: int) -> dict[str, float]:
    """Share of accepted tokens and passes of the large model a token; both texts must be the same."""
    accepted = checked = passes = written = 0
    for text in texts:
        for ids in beginnings(large.tokenizer, text, count):
            found = drafted(large, small, ids, WRITTEN, ahead=AHEAD)
            if list(found.ids) != plain(large, ids, WRITTEN):
                raise AtlasError(f"With a draft {large.spec.name} wrote another text than without one.")
            accepted, checked = accepted + found.accepted, checked + found.checked
            passes, written = passes + found.passes, written + len(found.ids)
    return {"drafted tokens accepted": 100 * accepted / checked, "passes per token": passes / written}


def beginnings(tokenizer: Any, text: str, count: int) -> list[list[int]]:
    """``count`` runs of `BEGINNING` tokens, evenly spread over ``text``."""
    ids = [int(token) for token in tokenizer(text, verbose=False)["input_ids"]]
    last = len(ids) - BEGINNING
    return [ids[start : start + BEGINNING] for start in (last * number // count for number in range(count))]
