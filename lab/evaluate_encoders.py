"""Measures of encoders: masked words, pairs, replaced tokens, adapter tasks, long texts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from core import checkpoints
from core.attention.disentangled import run_with_terms, supported
from core.checkpoints.spec import Checkpoint
from core.interventions.heldout import story
from core.language import permuted
from core.language.adapters import tasks
from core.language.bilingual import LANGUAGES, layout, numbers, scores
from core.language.pairs import pair_scores
from core.lazy import transformers
from core.objectives import masked as masks
from core.patterns.layout import Sparsity
from core.run.model import call
from core.run.odd import COMPONENTS
from core.sparse import bigbird
from core.sparse.longformer import states
from lab import corpus as corpora
from lab import documents, masking, measures, models, parallel
from lab import recipe as recipes
from lab.corpus import held_out_books
from lab.documents import Documents, Examples
from lab.evaluate_pairs import SegmentPair, segments, shared_words, words_before
from lab.measures import (
    BOOKS,
    STORY,
    Numbers,
    bootstrap,
    hold_out_every,
    masked_words,
    stories,
    story_chunks,
    token_ids,
)
from lab.objective import Hits, Share
from lab.objectives.adapters import Rows, evenly, measured, prepare
from lab.objectives.electra import ElectraModel, replaced_tokens
from lab.objectives.encoder import EncoderModel, masked_tokens
from lab.objectives.parts import measured_pairs, usable
from lab.objectives.permutation import Orders, PermutationModel, target_accuracy
from lab.tokenizers import Vocabulary
from lab.tokens import Ints, Ragged

PAIRS = 400
"""Held-out sentences, or pairs of them, for evaluation."""
ADAPTED = 1000
"""The most held-out texts per task."""
TEXTS = measures.ROOT / "assets" / "heldout" / "adapters.tsv"
HELD_OUT = "books, articles and sentences of the corpus held out from training"
LENGTHS = (512, 1024, 2048)
SHORT = 128
"""Tokens of a chunk that the base of a long-text model reads."""
PIECE = 512
"""Tokens of a piece that a BigBird reads: the positions of its base."""
RARE = 2e-4
"""The largest share of a rare word in the held-out books."""
FAR = ((65, 256), (257, 900))
"""Ranges of the distance between a rare word and its only other occurrence: within four windows, and beyond."""
JUDGED = 550
"""Held-out pairs of segments from each source."""


def cloze_sets(checkpoint: Checkpoint, corpus: Path | None) -> Iterator[tuple[str, list[tuple[str, list[str]]]]]:
    """Cloze sentences with their answers."""
    for on, file in measures.CLOZE.items():
        yield on, [(sentence, answers.split()) for _, sentence, answers in measures.read_table(file)]


def everyday(checkpoint: Checkpoint, corpus: Path | None) -> Iterator[tuple[str, list[str]]]:
    """Everyday sentences of the corpus."""
    if corpus is not None:
        items = corpora.items_of(corpus, recipes.SourceFile("dialogue.txt"), every=hold_out_every(checkpoint))
        texts = [item.text for item in items if item.held_out][:PAIRS]
        yield f"masked words of {PAIRS} everyday sentences held out from training", texts


def story_text(checkpoint: Checkpoint, corpus: Path | None) -> Iterator[tuple[str, list[str]]]:
    """The story in short chunks."""
    yield STORY, story_chunks(checkpoint)


def without_components(checkpoint: Checkpoint, texts: list[str]) -> Numbers:
    """Accuracy on masked words without each component of disentangled attention; empty for other models."""
    numbers: Numbers = {}
    for component in COMPONENTS if supported(checkpoint.model) else ():
        without: Any = _Without(checkpoint.model, component)
        numbers[f"without {component} top-1"] = masked_words(replace(checkpoint, model=without), texts)["top-1"]
    return numbers


class _Without:
    """A model without one component of its attention scores."""

    def __init__(self, model: Any, part: str) -> None:
        self.model, self.device = model, model.device
        self._others = [other for other in COMPONENTS if other != part]

    def __call__(self, ids: Tensor) -> Any:
        return SimpleNamespace(logits=self.model.cls(run_with_terms(self.model, ids, self._others).states))


def held_out_side(checkpoint: Checkpoint, corpus: Path | None) -> Iterator[tuple[str, Examples]]:
    """The held-out side of the checkpoint's recipe, tokenized with its own tokenizer."""
    if corpus is not None:
        recipe = recipes.load(checkpoint.spec.slug)
        backend = checkpoint.tokenizer.backend_tokenizer  # type: ignore[attr-defined]
        width = int(recipe.data["width"])
        text = documents.tokenized(
            corpus, recipe.sources, backend, every=hold_out_every(checkpoint), width=width, held_out=True
        )
        yield HELD_OUT, Examples(text, backend, str(recipe.data.get("pairs", "")), _fates(checkpoint))


def pretrained(checkpoint: Checkpoint, held: Examples) -> Numbers:
    """Accuracy on masked tokens."""
    full = transformers.AutoModelForPreTraining.from_pretrained(
        checkpoint.spec.location, attn_implementation="eager", dtype=checkpoint.model.dtype, local_files_only=True
    )
    shares = masked_tokens(EncoderModel(full).eval(), held)
    return {name: shares[name] for name in ("top-1", "top-5")}


SegmentPairs = tuple[Examples, dict[str, Ints], list[documents.Pair]]
"""The held-out side, the chunks that make pairs, by the source's name, and training pairs where a baseline learns."""


def segment_pairs(checkpoint: Checkpoint, corpus: Path | None) -> Iterator[tuple[str, SegmentPairs]]:
    """Held-out pairs of segments, as the recipe of the part ``pairs`` has them: as many from each source."""
    name = f"{checkpoint.spec.slug}-pairs"
    if corpus is not None and name in recipes.available():
        recipe, backend = recipes.load(name), checkpoint.tokenizer.backend_tokenizer  # type: ignore[attr-defined]
        every, width = int(recipe.data["hold_out_every"]), int(recipe.data["width"])
        anywhere = bool(recipe.data.get("anywhere"))
        text = documents.tokenized(corpus, recipe.sources, backend, every=every, width=width, held_out=True)
        side = Examples(text, backend, str(recipe.data["pairs"]), anywhere=anywhere)
        chosen = {}
        for number, source in enumerate(recipe.sources):
            chunks = np.flatnonzero(usable(side, recipe) & (text.source == number))
            chosen[source.task] = chunks[np.linspace(0, len(chunks) - 1, min(JUDGED, len(chunks))).astype(np.int64)]
        training_pairs: list[documents.Pair] = []
        if side.pairs.question == "order":
            text = documents.tokenized(corpus, recipe.sources, backend, every=every, width=width, held_out=False)
            train, rng = Examples(text, backend, "order"), np.random.default_rng(0)
            training_pairs = [train.pairs.sample(int(chunk), rng) for chunk in np.flatnonzero(usable(train, recipe))]
        yield (
            f"{sum(map(len, chosen.values())):,} pairs of segments held out from training",
            (side, chosen, training_pairs),
        )


def segment_accuracy(checkpoint: Checkpoint, held: SegmentPairs) -> Numbers:
    """Accuracy in percent of the head for pairs and of the baseline for its question, in all and by source."""
    side, chosen, training_pairs = held
    part: Any = checkpoints.load(checkpoint.spec.slug, "pairs")
    right: list[bool] = []
    rows: list[SegmentPair] = []
    numbers: Numbers = {}
    for source, chunks in chosen.items():
        start = len(rows)
        for batch in measured_pairs(side, chunks):
            scores = pair_scores(part, batch["ids"], batch["types"], batch["real"])
            right += (scores.argmax(1) == batch["answers"]).tolist()
            rows += segments(batch)
        if training_pairs:
            return {
                "sentence order": Share(sum(right), len(right)),
                "sentence order, bag of words": words_before(training_pairs, rows),
            }
        numbers |= _next_sentence(f"next sentence, {source}", right[start:], rows[start:])
    return _next_sentence("next sentence", right, rows) | numbers


def _next_sentence(name: str, right: list[bool], rows: list[SegmentPair]) -> Numbers:
    return {name: Share(sum(right), len(right)), f"{name}, shared words alone": shared_words(rows)}


def sides(checkpoint: Checkpoint, corpus: Path | None) -> Iterator[tuple[str, Examples]]:
    """The story as masked rows, one a chunk; held-out documents."""
    ids = [token_ids(checkpoint, text) for text in story_chunks(checkpoint)]
    count = np.arange(len(ids), dtype=np.int64)
    chunks = np.stack([count, count + 1, count + 1, [len(row) for row in ids], 0 * count, 0 * count - 1], axis=1)
    yield STORY, Examples(Documents(Ragged.of(ids), chunks), checkpoint.tokenizer, fates=_fates(checkpoint))
    yield from held_out_side(checkpoint, corpus)


def replaced(checkpoint: Checkpoint, side: Examples) -> Numbers:
    """Replaced tokens, at the threshold that the card states."""
    generator = checkpoints.load(checkpoint.spec.slug, "generator")
    threshold = float(checkpoint.spec.card.extra.get("threshold", 0.5)) if checkpoint.spec.card else 0.5
    return replaced_tokens(ElectraModel(checkpoint.model, generator.model).eval(), side, threshold)


def _fates(checkpoint: Checkpoint) -> tuple[float, float]:
    masked, random = recipes.load(checkpoint.spec.slug).data.get("fates", masks.FATES)
    return float(masked), float(random)


def permuted_words(checkpoint: Checkpoint, texts: Iterable[str]) -> Numbers:
    """Accuracy on the same masked words as other encoders: predicted in parallel, and one after the other.

    The second also predicts each token from the masked ones before it.
    """
    model, tokenizer = checkpoint.model, checkpoint.tokenizer
    hits, in_order = Hits(), Hits()
    for seed, text in enumerate(texts):
        ids = np.array(token_ids(checkpoint, text, special=True), dtype=np.int64)
        _, positions = measures.mask_words(ids, tokenizer, seed=seed)
        inputs = torch.from_numpy(ids)[None].to(model.device)
        labels = inputs[0, positions.tolist()]
        hits.add(permuted.at_once(model, inputs, positions.tolist()), labels)
        in_order.add(permuted.in_order(model, ids.tolist(), positions.tolist()), labels)
    return hits.top() | in_order.top("one after the other")


def order_surprisal(checkpoint: Checkpoint, texts: Iterable[str]) -> Numbers:
    """Bits per token of whole texts, predicted from left to right, from right to left and in a random order."""
    model, tokenizer = checkpoint.model, checkpoint.tokenizer
    bits = np.zeros(3)
    total = 0
    for seed, text in enumerate(texts):
        ids = token_ids(checkpoint, text, special=True)
        inside = [position for position, token in enumerate(ids) if token not in tokenizer.all_special_ids]
        shuffled = np.random.default_rng(seed).permutation(inside).tolist()
        for number, positions in enumerate((inside, inside[::-1], shuffled)):
            logs = permuted.in_order(model, ids, positions)
            target_logs = logs[torch.arange(len(positions)), torch.tensor(ids)[positions]]
            bits[number] -= float(target_logs.sum()) / math.log(2)
        total += len(inside)
    names = ("left to right, bits per token", "right to left, bits per token", "random order, bits per token")
    return dict(zip(names, (bits / total).tolist(), strict=True))


def orders(checkpoint: Checkpoint, corpus: Path | None) -> Iterator[tuple[str, Orders]]:
    """Held-out documents with a random order for each chunk."""
    k = float(recipes.load(checkpoint.spec.slug).data["k"])
    for on, side in held_out_side(checkpoint, corpus):
        backend = checkpoint.tokenizer.backend_tokenizer  # type: ignore[attr-defined]
        yield f"{on}, the last sixth of random orders", Orders(side.text, backend, k)


def order_ends(checkpoint: Checkpoint, side: Orders) -> Numbers:
    """Accuracy at the ends of random orders."""
    shares = target_accuracy(PermutationModel(checkpoint.model).eval(), side)
    return {name: shares[name] for name in ("top-1", "top-5")}


def sentence_pairs(checkpoint: Checkpoint, corpus: Path | None) -> Iterator[tuple[str, list[parallel.Pair]]]:
    """English sentences with their French translations."""
    rows = [(row[0], row[1]) for row in measures.read_table(measures.TRANSLATIONS)]
    yield f"masked words of {len(rows)} sentences written for this project", rows
    if corpus is not None:
        limit = int(checkpoint.model.config.max_position_embeddings)
        pairs = parallel.Split(partial(parallel.rows, corpus, "en-fr"), hold_out_every(checkpoint)).test()
        fitting = (p for p in pairs if all(len(token_ids(checkpoint, text, special=True)) <= limit for text in p))
        some = list(islice(fitting, PAIRS))
        yield f"masked words of {len(some)} sentence pairs of the corpus held out from training", some


def bilingual_accuracy(checkpoint: Checkpoint, pairs: Sequence[parallel.Pair]) -> Numbers:
    """Top-1 and top-5 in percent over masked tokens (`lab.measures.mask_words`) of each side of the pairs.

    The same words are masked with the other sentence as context and without it.
    """
    tokenizer: Any = checkpoint.tokenizer
    languages, names = numbers(checkpoint), tuple(LANGUAGES.values())
    end = int(tokenizer.eos_token_id)
    shares: Numbers = {}
    for side, name in enumerate(names):
        hits = {f"{name} alone": Hits(), f"{name} with {names[1 - side]}": Hits()}
        for seed, pair in enumerate(pairs):
            texts = [token_ids(checkpoint, text) for text in pair]
            framed = np.array([end, *texts[side], end], dtype=np.int64)
            corrupted, positions = measures.mask_words(framed, tokenizer, seed=seed)
            inputs = [list(text) for text in texts]
            inputs[side] = corrupted[1:-1].tolist()
            both = list(zip(languages, inputs, strict=True))
            before = len(texts[0]) + 2 if side else 0
            for context_hits, parts, start in zip(hits.values(), ([both[side]], both), (0, before), strict=True):
                logits = scores(checkpoint.model, layout(parts, end), (positions + start).tolist())
                context_hits.add(logits, torch.from_numpy(framed[positions]).to(logits.device))
        for context, context_hits in hits.items():
            shares |= context_hits.top(context)
    return shares


TaskBatches = tuple[str, Iterable[dict[str, Any]]]


def task_batches(checkpoint: Checkpoint, corpus: Path | None) -> Iterator[tuple[str, TaskBatches]]:
    """For each task, batches of texts written for this project, then of held-out texts of the corpus."""
    settings: dict[str, dict[str, Any]] = checkpoint.model.config.adapter_tasks
    order = [info.slug for info in tasks(checkpoint)]
    for task in order:
        rows = [row for row in measures.read_table(TEXTS) if row[0] == task]
        batches = written(checkpoint, rows, list(settings[task]["answers"]))
        yield f"{task}: {len(rows)} texts written for this project", (task, batches)
    if corpus is not None:
        recipe = recipes.load(checkpoint.spec.slug)
        tokenizer = models.backbone_tokenizer(models.backbone_folder(str(recipe.model["package"])))
        for task in order:
            with TemporaryDirectory() as folder:
                texts = prepare(recipe, task, tokenizer, corpus, Path(folder), held_out=True)
                count = len(evenly(texts, ADAPTED))
                batches = measured(Rows(tokenizer), texts, str(settings[task]["form"]), ADAPTED)
                yield f"{task}: {count} texts of the corpus held out from training", (task, batches)
                del texts, batches  # the files are mapped while these live


def written(
    checkpoint: Checkpoint, rows: list[list[str]], answers: list[str], *, at_once: int = 16
) -> Iterator[dict[str, Any]]:
    """Batches of rows (task, answer, text) of similar length, in the format of `measured`."""
    order = sorted(rows, key=lambda row: len(row[2]))
    for rows_of_batch in (order[at : at + at_once] for at in range(0, len(order), at_once)):
        texts = [text for _, _, text in rows_of_batch]
        inputs = checkpoint.tokenizer(texts, return_tensors="pt", padding=True, return_token_type_ids=True)
        yield {**inputs, "answers": torch.tensor([answers.index(answer) for _, answer, _ in rows_of_batch])}


@torch.inference_mode()
def task_accuracy(checkpoint: Checkpoint, task_and_batches: TaskBatches) -> Numbers:
    """Accuracy in percent with the adapters, with the head alone, and of the most frequent class."""
    model: Any = checkpoint.model
    task, batches = task_and_batches
    adapted: list[bool] = []
    alone: list[bool] = []
    answers: list[int] = []
    for batch in batches:
        inputs = {name: batch[name] for name in ("input_ids", "token_type_ids", "attention_mask")}
        adapted += (model.answer(inputs, task).logits.argmax(-1) == batch["answers"]).tolist()
        alone += (model.answer_alone(inputs, task).argmax(-1) == batch["answers"]).tolist()
        answers += batch["answers"].tolist()
    return {
        "accuracy": Share(sum(adapted), len(answers)),
        "accuracy, head alone": Share(sum(alone), len(answers)),
        "accuracy, most frequent class always": Share(np.bincount(answers).max(), len(answers)),
    }


def long_texts(checkpoint: Checkpoint, corpus: Path | None) -> Iterator[tuple[str, tuple[list[str], int]]]:
    """The story and held-out books, with the number of tokens to read."""
    for number, (on, texts) in enumerate(stories(checkpoint, corpus)):
        for length in (1024, 2048, 4096) if number else (1024,):
            yield f"{on}, {length} tokens", (texts, length)


def sparse_and_full(checkpoint: Checkpoint, texts_and_length: tuple[list[str], int]) -> Numbers:
    """Masked words with sparse attention, with full, and with full in pieces of `PIECE`: top-1 in percent, and bits.

    Averaged over the texts; of several also how far full attention is above sparse (`bootstrap`).
    """
    model, tokenizer = checkpoint.model, checkpoint.tokenizer
    texts, length = texts_and_length
    config: Any = model.config
    pattern = Sparsity.of(config)
    names = ("sparse", "full", f"full, in pieces of {PIECE}")
    masked = 0
    per_text: list[list[tuple[float, float]]] = []  # of each text, in each way: top-1, bits per token
    for text in texts:
        all_ids = token_ids(checkpoint, text, special=True)
        ids = np.array([*all_ids[: length - 1], tokenizer.sep_token_id], dtype=np.int64)
        corrupted, positions = measures.mask_words(ids, tokenizer)

        def scores(text: Ints, at: Ints, how: Sparsity | None = None) -> Any:
            return bigbird.forward(model, text.tolist(), at.tolist(), how)

        pieces = []
        for start in range(1, len(ids) - 1, PIECE - 2):
            inside = np.arange(start, min(start + PIECE - 2, len(ids) - 1))
            piece = corrupted[[0, *inside, -1]]  # with a special token at both ends
            pieces.append(scores(piece, np.intersect1d(positions, inside) - start + 1))
        per_text.append([])
        masked += len(positions)
        for logits in (scores(corrupted, positions, pattern), scores(corrupted, positions), np.concatenate(pieces)):
            hits = Hits()
            hits.add(torch.from_numpy(logits), torch.from_numpy(ids[positions]))
            per_text[-1].append((hits.top()["top-1"], hits.bits))
    numbers: Numbers = {}
    every = np.array(per_text)
    for at, measure in enumerate((" top-1", ", bits per token")):
        means = every[..., at].mean(0).tolist()
        numbers |= {
            f"{name}{measure}": mean if at else Share(mean * masked / 100, masked)
            for name, mean in zip(names, means, strict=True)
        }
        if len(every) > 1:
            more = every[:, 1, at] - every[:, 0, at]
            numbers[f"full minus sparse{measure}"] = bootstrap(more, np.ones(len(more)))
    return numbers


def spans_of_books(checkpoint: Checkpoint, corpus: Path | None) -> Iterator[tuple[str, list[Ints]]]:
    """The story, and all of the held-out books in spans by their length."""
    story_ids = np.array(token_ids(checkpoint, story()), dtype=np.int64)
    length = min(1024, len(story_ids))
    yield f"{STORY}, {length} tokens", [story_ids[:length]]
    for on, books in long_books(checkpoint, corpus):
        for length in LENGTHS:
            yield on.replace("1024", str(length)), list(_spans(books, length))


def long_books(checkpoint: Checkpoint, corpus: Path | None) -> Iterator[tuple[str, list[Ints]]]:
    """Held-out books, of which spans of 1024 tokens are read."""
    if corpus is not None:
        books = [np.array(token_ids(checkpoint, text), dtype=np.int64) for text in held_out_books(corpus).values()]
        yield f"{BOOKS.format(len(books))}, 1024 tokens", books


def _spans(books: Sequence[Ints], length: int, most: int | None = None) -> Iterator[Ints]:
    """Up to ``most`` consecutive spans of ``length`` tokens from the start of each book, or all."""
    for book in books:
        for start in range(0, len(book) - length + 1, length)[:most]:
            yield book[start : start + length].copy()


def _framed(checkpoint: Checkpoint, ids: Ints) -> Ints:
    """The tokens with special tokens in place of the first and the last, as in training."""
    out = ids.copy()
    out[0], out[-1] = checkpoint.tokenizer.cls_token_id, checkpoint.tokenizer.sep_token_id
    return out


@torch.inference_mode()
def windowed(checkpoint: Checkpoint, spans: Sequence[Ints]) -> Numbers:
    """Top-1 and top-5 in percent on the same masked words.

    Of the whole text, in windows and with full attention; of chunks of `SHORT`, by the model and by its base. In
    windows and with full attention also tokens corrupted as in training, with their bits. Of several spans also how
    far full attention is above windows (`bootstrap`).
    """
    card, model = checkpoint.spec.card, checkpoint.model
    words = Vocabulary(checkpoint.tokenizer.backend_tokenizer)  # type: ignore[attr-defined]
    hits = {"": Hits(), "full": Hits(), "in pieces": Hits()}
    trained = {"as in training": Hits(), "full, as in training": Hits()}
    base = checkpoints.load(str(card.base)) if card and card.base else None
    if base is not None:
        hits["base in pieces"] = Hits()
    ahead = [(0.0,) * 4]
    for seed, ids in enumerate(spans):
        framed = _framed(checkpoint, ids)
        as_trained, chosen = masking.corrupt_ids(framed, words.special, words.mask, np.random.default_rng(seed))
        for way_hits, full in zip(trained.values(), (False, True), strict=True):
            last_states = states(model, torch.from_numpy(as_trained)[None], full=full)[0]
            way_hits.add(model.lm_head(last_states[chosen]), torch.from_numpy(ids[chosen]))
        corrupted, positions = measures.mask_words(framed, checkpoint.tokenizer, seed=seed)
        positions = positions[
            (positions % SHORT != 0) & (positions % SHORT != SHORT - 1)
        ]  # where chunks have their special tokens
        chunks = [corrupted[at : at + SHORT] for at in range(0, len(corrupted), SHORT)]
        windows = [torch.from_numpy(_framed(checkpoint, chunk))[None] for chunk in chunks if len(chunk) > 1]
        positions = positions[positions < sum(chunk.shape[1] for chunk in windows)]
        labels = torch.from_numpy(ids[positions])
        for name, full in (("", False), ("full", True)):
            last_states = states(model, torch.from_numpy(corrupted)[None], full=full)[0]
            hits[name].add(model.lm_head(last_states[positions.tolist()]), labels)
        states_of_pieces = torch.cat([states(model, chunk)[0] for chunk in windows])
        hits["in pieces"].add(model.lm_head(states_of_pieces[positions.tolist()]), labels)
        if base is not None:
            every = torch.cat([call(base.model, input_ids=chunk).logits[0] for chunk in windows])
            hits["base in pieces"].add(every[positions.tolist()], labels)
        (near, wide), window = trained.values(), hits[""]
        bits = (wide.nats - near.nats) / math.log(2)
        ahead.append((100 * (hits["full"].first - window.first), window.total, bits, near.total))
    numbers = {key: share for name, way_hits in (hits | trained).items() for key, share in way_hits.top(name).items()}
    numbers |= {f"{name}, bits per token": way_hits.bits for name, way_hits in trained.items()}
    if len(spans) > 1:
        first, many, fewer, tokens = np.diff(ahead, axis=0).T
        numbers["full minus window top-1"] = bootstrap(first, many)
        numbers["full minus window, as in training, bits per token"] = bootstrap(fewer, tokens)
        numbers["masked words"] = hits[""].total
    return numbers


def pairs_far(ids: Ints, rare: Ints, low: int, high: int) -> list[tuple[int, int]]:
    """(first, second) positions of tokens of ``rare`` that occur exactly twice, ``low`` to ``high`` tokens apart."""
    positions: dict[int, list[int]] = {}
    for at in np.flatnonzero(np.isin(ids, rare)).tolist():
        positions.setdefault(int(ids[at]), []).append(at)
    return [(p[0], p[1]) for p in positions.values() if len(p) == 2 and low <= p[1] - p[0] <= high]


@torch.inference_mode()
def far_words(checkpoint: Checkpoint, books: Sequence[Ints], length: int = 1024) -> Numbers:
    """Top-5 in percent on masked rare words, with their only other, distant occurrence and with that masked too.

    In windows, then with full attention. Only words of one token count.
    """
    tokenizer, model = checkpoint.tokenizer, checkpoint.model
    tokens = tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))
    words = np.array([token.isalpha() for token in tokens])
    goes_on = np.array([token.startswith("##") for token in tokens])
    counts = np.zeros(len(tokens), dtype=np.int64)
    for book in books:
        counts += np.bincount(book, minlength=len(tokens))
    rare = np.flatnonzero(words & (counts <= RARE * counts.sum()))
    out: Numbers = {}
    for low, high in FAR:
        hits: list[list[bool]] = []  # of each word, in windows and with full attention: repeated, alone
        for span in _spans(books, length, 8):
            ids = _framed(checkpoint, span)
            for first, second in pairs_far(ids, rare, low, high):
                if goes_on[ids[[first + 1, second + 1]]].any():
                    continue
                repeated = ids.copy()
                repeated[second] = tokenizer.mask_token_id
                alone = repeated.copy()
                alone[first] = tokenizer.mask_token_id
                both = torch.from_numpy(np.stack([repeated, alone]))
                hidden = torch.cat([states(model, both, full=full)[:, second] for full in (False, True)])
                hits.append((model.lm_head(hidden).topk(5).indices == int(ids[second])).any(1).tolist())
        counts_right = np.array(hits, dtype=int).reshape(-1, 4).sum(0)
        shares = [Share(int(count), max(1, len(hits))) for count in counts_right]
        for at, attention in ((0, ""), (2, "full, ")):
            out[f"{attention}rare word repeated {low} to {high} tokens away, top-5"] = shares[at]
            out[f"{attention}rare word, repetition {low} to {high} tokens away masked, top-5"] = shares[at + 1]
    return out
