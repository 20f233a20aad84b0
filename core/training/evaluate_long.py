"""Measures models of long texts: Longformer beside its base, Reformer by how much it reads and how often it hashes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from core.checkpoints.spec import Checkpoint
from core.efficiency import hashing, reformer
from core.efficiency.longformer import forward, states
from core.training import measures
from core.training.evaluate_encoders import STORY, Found
from core.training.tokens import Ints

BOOKS = "{} books of the corpus held out from training"
LENGTHS = (512, 1024, 2048)
SHORT = 128
"""Tokens of a piece that the base reads."""
RARE = 2e-4
"""A word that makes up no larger share of the held-out books is rare."""
FAR = ((65, 256), (257, 900))
"""Ranges of tokens between a rare word and its only other occurrence: within the reach of four windows, and beyond."""
ENDS = 128
"""Bytes at the end of a stretch that are measured with more and with less before them."""


def windowed(checkpoint: Checkpoint, corpus: Path | None) -> Found:
    """Masked words of the story; of held-out books by length, beside the base in pieces; rare words told far away."""
    from core import checkpoints
    from core.training.corpus import held_out_books

    card = checkpoint.spec.card
    base = checkpoints.load(str(card.base)) if card and card.base else None
    story = _ids(checkpoint, measures.STORY.read_text(encoding="utf-8"))
    length = min(1024, len(story))
    found = {f"{STORY}, {length} tokens": _masked(checkpoint, base, [story[:length]])}
    if corpus is None:
        return found
    books = [_ids(checkpoint, text) for text in held_out_books(corpus).values()]
    on = BOOKS.format(len(books))
    for length in LENGTHS:
        found[f"{on}, {length} tokens"] = _masked(checkpoint, base, list(_stretches(books, length, 8192 // length)))
    found[f"{on}, 1024 tokens"] |= far_words(checkpoint, books)
    return found


def _ids(checkpoint: Checkpoint, text: str) -> Ints:
    return np.array(checkpoint.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"], dtype=np.int64)


def _stretches(books: Sequence[Ints], length: int, most: int) -> Iterator[Ints]:
    """Up to ``most`` stretches of so many tokens from the beginning of each book."""
    for book in books:
        for start in range(0, min(len(book) - length + 1, most * length), length):
            yield book[start : start + length].copy()


def _framed(checkpoint: Checkpoint, ids: Ints) -> Ints:
    """The tokens with the first and the last one made special, as in training."""
    out = ids.copy()
    out[0], out[-1] = checkpoint.tokenizer.cls_token_id, checkpoint.tokenizer.sep_token_id
    return out


@torch.inference_mode()
def _masked(checkpoint: Checkpoint, base: Checkpoint | None, stretches: Sequence[Ints]) -> dict[str, float]:
    """Top-1 and top-5 in percent on the same masked words: read whole, in pieces of `SHORT`, and so by the base."""
    hits: Counter[str] = Counter()
    total = 0
    model = checkpoint.model
    for seed, ids in enumerate(stretches):
        hidden, places = measures.hide(_framed(checkpoint, ids), checkpoint.tokenizer, seed=seed)
        places = places[(places % SHORT != 0) & (places % SHORT != SHORT - 1)]  # where pieces have their special tokens
        cut = [hidden[at : at + SHORT] for at in range(0, len(hidden), SHORT)]
        pieces = [torch.from_numpy(_framed(checkpoint, piece))[None] for piece in cut if len(piece) > 1]
        places = places[places < sum(piece.shape[1] for piece in pieces)]
        best = {
            "": torch.from_numpy(forward(model, hidden.tolist(), places.tolist()).logits),
            "in pieces ": model.lm_head(torch.cat([states(model, piece)[0] for piece in pieces])[places.tolist()]),
        }
        if base is not None:
            every = torch.cat([base.model(piece).logits[0] for piece in pieces])
            best["base in pieces "] = every[places.tolist()]
        for name, scores in best.items():
            right = scores.topk(5).indices.numpy() == ids[places][:, None]
            hits[f"{name}top-1"] += int(right[:, 0].sum())
            hits[f"{name}top-5"] += int(right.any(axis=1).sum())
        total += len(places)
    return {name: 100 * count / total for name, count in hits.items()}


def pairs_far(ids: Ints, rare: Ints, low: int, high: int) -> list[tuple[int, int]]:
    """(first, second) places of words of ``rare`` that the text has exactly twice, ``low`` to ``high`` tokens apart."""
    places: dict[int, list[int]] = {}
    for at in np.flatnonzero(np.isin(ids, rare)).tolist():
        places.setdefault(int(ids[at]), []).append(at)
    return [(p[0], p[1]) for p in places.values() if len(p) == 2 and low <= p[1] - p[0] <= high]


@torch.inference_mode()
def far_words(checkpoint: Checkpoint, books: Sequence[Ints], length: int = 1024) -> dict[str, float]:
    """Top-5 in percent on masked rare words whose only other occurrence stands far away, with it and without it.

    A word is a token that begins a word and that the next token does not continue. Without: the other occurrence is
    masked too.
    """
    tokenizer, model = checkpoint.tokenizer, checkpoint.model
    pieces = tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))
    words = np.array([piece.isalpha() for piece in pieces])
    goes_on = np.array([piece.startswith("##") for piece in pieces])
    counts = np.zeros(len(pieces), dtype=np.int64)
    for book in books:
        counts += np.bincount(book, minlength=len(pieces))
    rare = np.flatnonzero(words & (counts <= RARE * counts.sum()))
    out: dict[str, float] = {}
    for low, high in FAR:
        hits: Counter[str] = Counter()
        asked = 0
        for stretch in _stretches(books, length, 8):
            ids = _framed(checkpoint, stretch)
            for first, second in pairs_far(ids, rare, low, high):
                if goes_on[ids[[first + 1, second + 1]]].any():
                    continue
                told = ids.copy()
                told[second] = tokenizer.mask_token_id
                untold = told.copy()
                untold[first] = tokenizer.mask_token_id
                hidden = states(model, torch.from_numpy(np.stack([told, untold])))[:, second]
                right = (model.lm_head(hidden).topk(5).indices == int(ids[second])).any(1).tolist()
                asked += 1
                hits["told"] += right[0]
                hits["not told"] += right[1]
        for name in ("told", "not told"):
            out[f"rare word, {name} {low} to {high} tokens away, top-5"] = 100 * hits[name] / max(1, asked)
    return out


def hashed(checkpoint: Checkpoint, corpus: Path | None) -> Found:
    """Bits per byte of the story, and what hashing catches there; of held-out books by how much is read."""
    from core.training.corpus import held_out_books

    model = checkpoint.model
    width = reformer.positions_of(model)
    text = measures.STORY.read_text(encoding="utf-8")
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
