"""Measures of decoders: bits per byte, speculative decoding, control codes, memory, hashed attention."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from core import checkpoints
from core.checkpoints.spec import Checkpoint
from core.errors import AtlasError
from core.interventions.heldout import story
from core.language import segments
from core.language.codes import codes_of
from core.language.decoding.draft import generate_with_draft, plain
from core.sparse import reformer
from lab import measures
from lab import recipe as recipes
from lab.corpus import held_out_books
from lab.measures import BOOKS, STORY, Numbers, hold_out_every, stories, token_ids
from lab.objective import Sampled, Share
from lab.objectives.causal import LENGTH, bits_per_byte, passages, right_codes, spread, texts

PROMPT = 32
CONTINUATION = 32
AHEAD = 4
OF_STORY = 8
OF_BOOKS = 4
"""A draft model is evaluated on `OF_STORY` prompts from the committed story and `OF_BOOKS` from each book, of `PROMPT`
tokens: the target model continues each greedily by `CONTINUATION` tokens, the draft proposes `AHEAD` at a time."""
PASSAGES = 100
"""The most passages per code whose code is predicted."""
LEARNED = 5_000
"""The most training lines of each code that its unigram model counts."""
WINDOWS = 20
"""The most windows per code, as long as the model's positions, that are measured in bits per byte."""
ENDS = 128
"""Bytes at the end of a window that are predicted with more and with less context."""


def bits(checkpoint: Checkpoint, texts_measured: Sequence[str]) -> Numbers:
    """Bits per byte of all texts together."""
    sizes = [len(text.encode()) for text in texts_measured]
    spent = [measures.bits_per_byte(checkpoint, text) for text in texts_measured]
    return {"bits per byte": sum(b * n for b, n in zip(spent, sizes, strict=True)) / sum(sizes)}


def draft_prompts(checkpoint: Checkpoint, corpus: Path | None) -> Iterator[tuple[str, list[list[int]]]]:
    """Prompts for speculative decoding, evenly spaced in the story and in each book."""
    names = (f"{OF_STORY} beginnings from {{}}", f"{OF_BOOKS} beginnings from each of {{}}")
    for name, count, (on, source_texts) in zip(names, (OF_STORY, OF_BOOKS), stories(checkpoint, corpus), strict=False):
        prompts = []
        for text in source_texts:
            ids = token_ids(checkpoint, text)
            last = len(ids) - PROMPT
            prompts += [ids[start : start + PROMPT] for start in (last * number // count for number in range(count))]
        yield name.format(on), prompts


def draft_acceptance(small: Checkpoint, prompts: Sequence[list[int]]) -> Numbers:
    """Acceptance rate of a draft model, and passes of the target model per token; the text is unchanged."""
    large = checkpoints.load(small.spec.slug.partition(":")[0])
    accepted = checked = 0
    passes: list[tuple[int, int]] = []  # of each prompt, and tokens
    for ids in prompts:
        draft_run = generate_with_draft(large, small, ids, CONTINUATION, ahead=AHEAD)
        if list(draft_run.ids) != plain(large, ids, CONTINUATION):
            raise AtlasError(f"With a draft {large.spec.name} generated another text than without one.")
        accepted, checked = accepted + draft_run.accepted, checked + draft_run.checked
        passes.append((draft_run.passes, len(draft_run.ids)))
    return {
        "drafted tokens accepted": Share(accepted, checked),
        "passes per token": measures.bootstrap(*np.array(passes).T),
    }


Labeled = tuple[str, Callable[[], Iterable[str]], NDArray[np.float64] | None]
"""A code, a function that returns its lines, and the unigram model of each code (`unigrams`), if any."""


def labeled(checkpoint: Checkpoint, corpus: Path | None) -> Iterator[tuple[str, Labeled]]:
    """Codes with a function that returns their lines: the story and the translations written for this project, then the
    held-out part of each source.
    """
    rows = measures.read_table(measures.TRANSLATIONS)
    written = {"Story": story().splitlines()}
    written |= {label: [row[number] for row in rows] for number, label in enumerate(("Dialogue", "French", "German"))}
    for label, lines in written.items():
        yield f"{label}: text written for this project", (label, lines.copy, None)
    if corpus is not None:
        counted = unigrams(checkpoint, corpus)
        for label in codes_of(checkpoint):
            on = f"{label}: text of the corpus held out from training"
            yield on, (label, partial(lines_of, checkpoint, corpus, label, held_out=True), counted)


def lines_of(checkpoint: Checkpoint, corpus: Path, label: str, *, held_out: bool) -> Iterator[str]:
    """The held-out lines of the sources that have a code, or those of its training."""
    for source in recipes.load(checkpoint.spec.slug).sources:
        if source.task == label:
            lines = texts(corpus, source, every=hold_out_every(checkpoint))
            yield from (text for _, text, held in lines if held == held_out)


def unigrams(checkpoint: Checkpoint, corpus: Path) -> NDArray[np.float64]:
    """(codes, V) log-probabilities of the tokens of each code's training lines, with one count added to each."""
    codes = codes_of(checkpoint)
    counts = np.ones((len(codes), len(checkpoint.tokenizer)))  # type: ignore[arg-type]
    for row, label in zip(counts, codes, strict=True):
        for line in spread(lines_of(checkpoint, corpus, label, held_out=False), LEARNED):
            np.add.at(row, token_ids(checkpoint, line + "\n"), 1)
    logs: NDArray[np.float64] = np.log(counts / counts.sum(1, keepdims=True))
    return logs


def of_code(checkpoint: Checkpoint, labeled_lines: Labeled) -> Numbers:
    """Passages with the right code, in percent, by the model and by unigrams; bits per byte under a text's own code."""
    label, lines, counted = labeled_lines
    model, tokenizer, codes = checkpoint.model, checkpoint.tokenizer, codes_of(checkpoint)

    def rows() -> Iterator[list[int]]:
        return (token_ids(checkpoint, line + "\n") for line in lines() if line.strip())

    short = spread(passages(rows(), LENGTH), PASSAGES)
    wide = spread(passages(rows(), int(model.config.max_position_embeddings)), WINDOWS) or short
    special = {*tokenizer.all_special_tokens}  # any other byte-level token has one character a byte
    pieces = (tokenizer.convert_ids_to_tokens(ids) for ids in wide)
    size = sum(len(piece) for row in pieces for piece in row if piece not in special)
    right: Numbers = {"right code": right_codes(model, short, list(codes.values()), codes[label])}
    if counted is not None:
        best = [list(codes)[int(counted[:, ids].sum(1).argmax())] for ids in short]
        right["right code, unigram model"] = Share(best.count(label), len(best))
    return right | {
        "bits per byte": bits_per_byte(model, wide, codes[label], size),
    }


def with_and_without_memory(checkpoint: Checkpoint, some: Sequence[str]) -> Numbers:
    """Bits per byte of whole documents, read in segments with the memory and without."""
    model = checkpoint.model
    spent = np.zeros(2)
    for text in some:
        ids = [int(checkpoint.tokenizer.bos_token_id), *token_ids(checkpoint, text)]  # type: ignore[arg-type]
        spent += [segments.costs(model, ids, memory=memory).sum() for memory in (None, 0)]
    each = spent / sum(len(text.encode()) for text in some)
    return dict(zip(("bits per byte", "without memory, bits per byte"), each.tolist(), strict=True))


def story_bytes(checkpoint: Checkpoint, corpus: Path | None) -> Iterator[tuple[str, list[int]]]:
    """The story as byte tokens, after the token that begins a document."""
    yield STORY, [int(checkpoint.tokenizer.eos_token_id), *token_ids(checkpoint, story())]  # type: ignore[arg-type]


def book_bytes(checkpoint: Checkpoint, corpus: Path | None) -> Iterator[tuple[str, list[list[int]]]]:
    """The first bytes of held-out books, eight windows of the model."""
    if corpus is not None:
        most = 8 * reformer.positions_of(checkpoint.model)
        books = [token_ids(checkpoint, text[:most]) for text in held_out_books(corpus).values()]
        yield BOOKS.format(len(books)), books


def hashed(checkpoint: Checkpoint, ids: Sequence[int]) -> Numbers:
    """Bits per byte with at least half a window of context, and the attention weight that hashing covers."""
    model = checkpoint.model
    width = reformer.positions_of(model)
    windows = measures.half_windows(len(ids), width)
    spent = sum(float(reformer.surprisals(model, ids[part])[-fresh:].sum()) for part, fresh in windows)
    measured = {"bits per byte": spent / (len(ids) - 1)}
    for rounds, share in shares(model, ids[:width]).items():
        measured[f"attention weight covered, {rounds} round{'s' * (rounds > 1)}"] = share
    return measured


def shares(model: Any, ids: Sequence[int]) -> dict[int, Sampled]:
    """Mean share, in percent, of the full attention weight of a query that LSH attention covers, by rounds of hashing.

    Without the first two chunks, where a query can attend to all earlier keys whatever their buckets.
    """
    _, heads, chunk, _ = reformer.shape_of(model)
    out: dict[int, Sampled] = {}
    for rounds in reformer.ROUNDS:
        recorded: dict[int, reformer.Hashed] = {}
        reformer.states(model, torch.tensor([list(ids)]), rounds=rounds, record=recorded)
        per_head = [
            reformer.covered_weight(
                reformer.full_weights(layer.vectors[head]), reformer.attended(layer.buckets[head], chunk)
            )[2 * chunk :]
            for layer in recorded.values()
            for head in range(heads)
        ]
        of_queries = 100 * torch.stack(per_head).mean(0).numpy()
        out[rounds] = measures.bootstrap(of_queries, np.ones(len(of_queries)))
    return out


def by_reading(checkpoint: Checkpoint, books: Sequence[Sequence[int]]) -> Numbers:
    """Bits per byte of windows with one round and four; of their ends, with a whole and a quarter window as context."""
    model = checkpoint.model
    width = reformer.positions_of(model)
    read = (width, width // 4)
    spent: dict[str, list[float]] = {}
    for book in books:
        for start in range(0, len(book) - width + 1, width):
            ids = book[start : start + width]
            surprisals = {"": reformer.surprisals(model, ids), ", 4 rounds": reformer.surprisals(model, ids, rounds=4)}
            ends = zip(read, reformer.by_context(model, ids, read, ENDS), strict=True)
            means = {way: float(each.mean()) for way, each in surprisals.items()} | {
                f", {n} read": end for n, end in ends
            }
            for way, value in means.items():
                spent.setdefault(f"bits per byte{way}", []).append(value)
    return {way: float(np.mean(values)) for way, values in spent.items()}
