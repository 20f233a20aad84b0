"""Measures XLNet by the words that it finds, and Transformer-XL by what its memory saves."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from core.checkpoints.spec import Checkpoint
from core.language import permuted, segments
from core.training import measures
from core.training import recipe as recipes
from core.training.corpus import held_out_books
from core.training.evaluate_encoders import HELD_OUT, STORY, Found, held_out, story_chunks

MEMORY = ("bits per byte", "without memory, bits per byte")


def permuted_words(model: Any, tokenizer: Any, texts: Iterable[str]) -> dict[str, float]:
    """Hidden words of short texts, the same that other encoders' cards count: all at once, and one after the other.

    The second counts each token with those of the hidden ones that stand before it.
    """
    hits = {"top-1": 0, "top-5": 0, "one after the other top-1": 0, "one after the other top-5": 0}
    total = 0
    for seed, text in enumerate(texts):
        ids = np.array(tokenizer(text)["input_ids"], dtype=np.int64)
        _, places = measures.hide(ids, tokenizer, seed=seed)
        given = torch.from_numpy(ids)[None].to(model.device)
        at_once = permuted.at_once(model, given, places.tolist())
        in_order = permuted.in_order(model, ids.tolist(), places.tolist())
        for before, scores in (("", at_once), ("one after the other ", in_order)):
            right = scores.topk(5).indices.cpu().numpy() == ids[places][:, None]
            hits[f"{before}top-1"] += int(right[:, 0].sum())
            hits[f"{before}top-5"] += int(right.any(axis=1).sum())
        total += len(places)
    return {name: 100 * count / total for name, count in hits.items()}


def cost_of_orders(model: Any, tokenizer: Any, texts: Iterable[str]) -> dict[str, float]:
    """Bits per token of whole texts, every token found: from left to right, from right to left, in a random order."""
    bits = np.zeros(3)
    total = 0
    for seed, text in enumerate(texts):
        ids = tokenizer(text)["input_ids"]
        inside = [place for place, token in enumerate(ids) if token not in tokenizer.all_special_ids]
        shuffled = np.random.default_rng(seed).permutation(inside).tolist()
        for number, places in enumerate((inside, inside[::-1], shuffled)):
            logs = permuted.in_order(model, ids, places)
            own = logs[torch.arange(len(places)), torch.tensor(ids)[places]]
            bits[number] -= float(own.sum()) / math.log(2)
        total += len(inside)
    names = ("left to right, bits per token", "right to left, bits per token", "random order, bits per token")
    return dict(zip(names, (bits / total).tolist(), strict=True))


def permuted_measures(checkpoint: Checkpoint, corpus: Path | None) -> Found:
    """The story's hidden words and the cost of its chunks by order; of held-out documents the ends of random orders."""
    model, tokenizer = checkpoint.model, checkpoint.tokenizer
    chunks = story_chunks(tokenizer)
    found = {STORY: permuted_words(model, tokenizer, chunks) | cost_of_orders(model, tokenizer, chunks)}
    if corpus is not None:
        from core.training.objectives.permutation import Orders, PermutationModel, found_tokens

        k = float(recipes.load(checkpoint.spec.slug).data["k"])
        side = Orders(held_out(checkpoint, corpus).text, tokenizer.backend_tokenizer, k)  # type: ignore[attr-defined]
        numbers = found_tokens(PermutationModel(model).eval(), side)
        found[f"{HELD_OUT}, the last sixth of random orders"] = {name: numbers[name] for name in ("top-1", "top-5")}
    return found


def saved_by_memory(checkpoint: Checkpoint, text: str) -> tuple[np.ndarray[Any, Any], int]:
    """(2,) bits of a text that begins a document, with the memory and without, and its bytes."""
    model, tokenizer = checkpoint.model, checkpoint.tokenizer
    ids = [int(tokenizer.bos_token_id), *tokenizer(text, verbose=False)["input_ids"]]  # type: ignore[arg-type]
    bits = [segments.costs(model, ids, memory=memory).sum() for memory in (None, 0)]
    return np.array(bits), len(text.encode())


def segmented(checkpoint: Checkpoint, corpus: Path | None) -> Found:
    """Bits per byte of the story, and of held-out books, read in segments with the memory and without."""

    def named(texts: list[str]) -> dict[str, float]:
        read = [saved_by_memory(checkpoint, text) for text in texts]
        each = np.sum([bits for bits, _ in read], axis=0) / sum(size for _, size in read)
        return dict(zip(MEMORY, each.tolist(), strict=True))

    found = {STORY: named([measures.STORY.read_text(encoding="utf-8")])}
    if corpus is not None:
        books = held_out_books(corpus)
        found[f"{len(books)} books of the corpus held out from training"] = named(list(books.values()))
    return found
