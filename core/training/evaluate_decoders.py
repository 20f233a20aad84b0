"""Measures of decoders: bits per byte, what a draft saves, what a code and a memory are worth, what hashing catches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from core.checkpoints.spec import Checkpoint
from core.errors import AtlasError
from core.language import segments
from core.language.codes import codes_of
from core.language.decoding.draft import drafted, plain
from core.sparse import hashing, reformer
from core.training import measures
from core.training import recipe as recipes
from core.training.corpus import held_out_books
from core.training.measures import BOOKS, STORY, Found, story
from core.training.objectives.causal import LENGTH, bits_per_byte, passages, right_codes, spread, texts

BEGINNING = 32
WRITTEN = 32
AHEAD = 4
OF_STORY = 8
OF_BOOKS = 4
"""A draft is measured on beginnings of `BEGINNING` tokens, so many from the committed story and from each book; the
large model continues each by `WRITTEN` tokens greedily, and the draft proposes `AHEAD` at a time."""
PASSAGES = 100
"""Passages whose code is asked at most, for each code."""
WINDOWS = 20
"""Runs as long as the model's positions that are measured in bits per byte at most, for each code."""
ENDS = 128
"""Bytes at the end of a stretch that are measured with more and with less before them."""


def _bits(checkpoint: Checkpoint, some: Sequence[str]) -> dict[str, float]:
    sizes = [len(text.encode()) for text in some]
    spent = [measures.bits_per_byte(checkpoint.model, checkpoint.tokenizer, text) for text in some]
    return {"bits per byte": sum(b * n for b, n in zip(spent, sizes, strict=True)) / sum(sizes)}


def causal(checkpoint: Checkpoint, corpus: Path | None) -> Found:
    """Bits per byte of the committed story; of held-out books."""
    found = {STORY: _bits(checkpoint, [story()])}
    if corpus is not None:
        books = list(held_out_books(corpus).values())
        found[BOOKS.format(len(books))] = _bits(checkpoint, books)
    return found


def draft(checkpoint: Checkpoint, corpus: Path | None) -> Found:
    """A draft model: its own bits per byte, and what the large model takes of its drafts."""
    from core import checkpoints

    large = checkpoints.load(checkpoint.spec.slug.partition(":")[0])
    found = causal(checkpoint, corpus)
    found[f"{OF_STORY} beginnings from {STORY}"] = _taken(large, checkpoint, [story()], OF_STORY)
    if corpus is not None:
        books = list(held_out_books(corpus).values())
        on = f"{OF_BOOKS} beginnings from each of {BOOKS.format(len(books))}"
        found[on] = _taken(large, checkpoint, books, OF_BOOKS)
    return found


def _taken(large: Checkpoint, small: Checkpoint, given: Sequence[str], count: int) -> dict[str, float]:
    """Share of accepted tokens and passes of the large model a token; both texts must be the same."""
    accepted = checked = passes = written = 0
    for text in given:
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


def codes(checkpoint: Checkpoint, corpus: Path | None) -> Found:
    """The story and the translations written for this project; the held-out part of each source of the recipe."""
    rows = measures.read_table(measures.TRANSLATIONS)
    written = {
        "Story": story().splitlines(),
        "Dialogue": [row[0] for row in rows],
        "French": [row[1] for row in rows],
        "German": [row[2] for row in rows],
    }
    found = {
        f"{label}: text written for this project": of_code(checkpoint, label, lines.copy)
        for label, lines in written.items()
    }
    if corpus is not None:
        for label in codes_of(checkpoint):
            own = partial(held_out, checkpoint, corpus, label)
            found[f"{label}: text of the corpus held out from training"] = of_code(checkpoint, label, own)
    return found


def held_out(checkpoint: Checkpoint, corpus: Path, label: str) -> Iterator[str]:
    """The held-out lines of the sources that have a code."""
    recipe = recipes.load(checkpoint.spec.slug)
    for source in recipe.sources:
        if source.task == label:
            lines = texts(corpus, source, every=int(recipe.data["hold_out_every"]))
            yield from (text for _, text, held in lines if held)


def of_code(checkpoint: Checkpoint, label: str, lines: Callable[[], Iterable[str]]) -> dict[str, float]:
    """Passages whose code is found, in percent, and bits per byte under the code ``label`` of a text.

    Args:
        lines: gives the text line by line; called twice, so that no text need be held.
    """
    model, tokenizer, known = checkpoint.model, checkpoint.tokenizer, codes_of(checkpoint)

    def rows() -> Iterator[list[int]]:
        return (tokenizer(line + "\n", verbose=False)["input_ids"] for line in lines() if line.strip())

    short = spread(passages(rows(), LENGTH), PASSAGES)
    wide = spread(passages(rows(), int(model.config.max_position_embeddings)), WINDOWS) or short
    size = sum(_bytes(tokenizer, text) for text in wide)
    return {
        "right code": right_codes(model, short, list(known.values()), known[label]),
        "bits per byte": bits_per_byte(model, wide, known[label], size),
    }


def _bytes(tokenizer: Any, ids: list[int]) -> int:
    """Bytes of text that the tokens stand for: a byte-level token has one character a byte."""
    special = set(tokenizer.all_special_ids)
    kept = [i for i in ids if i not in special]
    return sum(map(len, tokenizer.convert_ids_to_tokens(kept)))


def saved_by_memory(checkpoint: Checkpoint, text: str) -> tuple[np.ndarray[Any, Any], int]:
    """(2,) bits of a text that begins a document, with the memory and without, and its bytes."""
    model, tokenizer = checkpoint.model, checkpoint.tokenizer
    ids = [int(tokenizer.bos_token_id), *tokenizer(text, verbose=False)["input_ids"]]  # type: ignore[arg-type]
    bits = [segments.costs(model, ids, memory=memory).sum() for memory in (None, 0)]
    return np.array(bits), len(text.encode())


def segmented(checkpoint: Checkpoint, corpus: Path | None) -> Found:
    """Bits per byte of the story, and of held-out books, read in segments with the memory and without."""

    def named(given: list[str]) -> dict[str, float]:
        read = [saved_by_memory(checkpoint, text) for text in given]
        each = np.sum([bits for bits, _ in read], axis=0) / sum(size for _, size in read)
        return dict(zip(("bits per byte", "without memory, bits per byte"), each.tolist(), strict=True))

    found = {STORY: named([story()])}
    if corpus is not None:
        books = held_out_books(corpus)
        found[BOOKS.format(len(books))] = named(list(books.values()))
    return found


def hashed(checkpoint: Checkpoint, corpus: Path | None) -> Found:
    """Bits per byte of the story, and what hashing catches there; of held-out books by how much is read."""
    model = checkpoint.model
    width = reformer.positions_of(model)
    text = story()
    ids = [int(i) for i in checkpoint.tokenizer(text, verbose=False)["input_ids"]]
    end = checkpoint.tokenizer.eos_token_id
    first = [end, *ids][:width]
    found: Found = {STORY: {"bits per byte": story_bits(model, [end, *ids])}}
    found[STORY] |= {
        f"attention caught, {rounds} round{'s' * (rounds > 1)}": 100 * share
        for rounds, share in shares(model, first).items()
    }
    if corpus is not None:
        books = [
            [int(i) for i in checkpoint.tokenizer(text[: 8 * width], verbose=False)["input_ids"]]
            for text in held_out_books(corpus).values()
        ]
        found[BOOKS.format(len(books))] = _by_reading(model, [book for book in books if len(book) >= width], width)
    return found


def story_bits(model: Any, ids: Sequence[int]) -> float:
    """Bits per byte of a text that begins a document, each byte seen with at least half a window of context."""
    width = reformer.positions_of(model)
    spent, done = 0.0, 1
    while done < len(ids):
        start = 0 if done == 1 else max(0, done - width // 2)
        stop = min(len(ids), start + width)
        spent += float(reformer.surprises(model, ids[start:stop])[done - start - 1 :].sum())
        done = stop
    return spent / (len(ids) - 1)


def shares(model: Any, ids: Sequence[int]) -> dict[int, float]:
    """Mean share of full attention's weight that the hashing layers' heads meet, by rounds; the first tokens left out.

    Within the first two chunks everything may be met in any order, so they would flatter the hashing.
    """
    _, heads, chunk, _ = reformer.shape_of(model)
    out: dict[int, float] = {}
    for rounds in reformer.ROUNDS:
        keep: dict[int, reformer.Hashed] = {}
        reformer.states(model, torch.tensor([list(ids)]), rounds=rounds, keep=keep)
        found = [
            hashing.caught(hashing.full_weights(one.vectors[head]), hashing.seen(one.buckets[head], chunk))[2 * chunk :]
            for one in keep.values()
            for head in range(heads)
        ]
        out[rounds] = float(torch.cat(found).mean())
    return out


def _by_reading(model: Any, books: Sequence[Sequence[int]], width: int) -> dict[str, float]:
    """Bits per byte of whole stretches with one round and four; of their ends, the whole and a quarter read."""
    ways = (
        "bits per byte",
        "bits per byte, 4 rounds",
        f"bits per byte, {width} read",
        f"bits per byte, {width // 4} read",
    )
    spent: dict[str, list[float]] = {way: [] for way in ways}
    for book in books:
        for start in range(0, len(book) - width + 1, width):
            ids = book[start : start + width]
            bits = reformer.surprises(model, ids)
            spent[ways[0]].append(float(bits.mean()))
            spent[ways[1]].append(float(reformer.surprises(model, ids, rounds=4).mean()))
            for way, value in zip(ways[2:], reformer.by_context(model, ids, (width, width // 4), ENDS), strict=True):
                spent[way].append(value)
    return {way: float(np.mean(values)) for way, values in spent.items()}
