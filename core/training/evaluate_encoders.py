"""Measures of encoders: masked words, pairs, replaced tokens, tasks through adapters; short texts and long ones."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from core.attention.architectures.disentangled import PARTS, read, supported
from core.checkpoints.spec import Checkpoint
from core.language import permuted
from core.language.adapters import tasks
from core.language.bilingual import LANGUAGES, layout, numbers, scores
from core.objectives import masked as masks
from core.sparse.longformer import forward, states
from core.training import corpus as corpora
from core.training import documents, measures, models, parallel
from core.training import recipe as recipes
from core.training.corpus import held_out_books
from core.training.documents import Documents, Examples
from core.training.measures import BOOKS, STORY, Found, story, story_chunks
from core.training.objectives.adapters import Rows, evenly, measured, prepare
from core.training.objectives.electra import ElectraModel, replaced_tokens
from core.training.objectives.encoder import EncoderModel, masked_tokens
from core.training.objectives.permutation import Orders, PermutationModel, found_tokens
from core.training.tokens import Ints, Ragged

PAIRS = 400
"""Held-out sentences, or pairs of them, that are measured."""
ADAPTED = 1000
"""Held-out texts that are measured at most, for each task."""
TEXTS = measures.ROOT / "assets" / "heldout" / "adapters.tsv"
HELD_OUT = "books, articles and sentences of the corpus held out from training"
LENGTHS = (512, 1024, 2048)
SHORT = 128
"""Tokens of a piece that the base of a model for long texts reads."""
RARE = 2e-4
"""A word that makes up no larger share of the held-out books is rare."""
FAR = ((65, 256), (257, 900))
"""Ranges of tokens between a rare word and its only other occurrence: within the reach of four windows, and beyond."""
_PAIRS = {"next": "next sentence", "order": "sentence order"}


def masked(checkpoint: Checkpoint, corpus: Path | None) -> Found:
    """Cloze sentences; masked words of everyday sentences of the corpus."""
    found: Found = {}
    for on, file in measures.CLOZE.items():
        rows = [(sentence, answers.split()) for _, sentence, answers in measures.read_table(file)]
        found[on] = measures.cloze(checkpoint.model, checkpoint.tokenizer, rows)
    if corpus is not None:
        every = int(recipes.load(checkpoint.spec.slug).data["hold_out_every"])
        items = corpora.read(corpus, recipes.SourceFile("dialogue.txt"), every=every)
        texts = [item.text for item in items if item.held_out][:PAIRS]
        on = f"masked words of {PAIRS} everyday sentences held out from training"
        found[on] = measures.masked_sentences(checkpoint.model, checkpoint.tokenizer, texts)
    return found


def encoder(checkpoint: Checkpoint, corpus: Path | None) -> Found:
    """Masked words of the story, and without each part of disentangled scores; of held-out documents masked tokens and,
    where there is a head, the pairs.
    """
    model, tokenizer = checkpoint.model, checkpoint.tokenizer
    chunks = story_chunks(tokenizer)
    found = {STORY: measures.masked_sentences(model, tokenizer, chunks)}
    for part in PARTS if supported(model) else ():
        lacking = measures.masked_sentences(_Without(model, part), tokenizer, chunks)
        found[STORY][f"without {part} top-1"] = lacking["top-1"]
    if corpus is not None:
        from transformers import AutoModelForPreTraining

        full = AutoModelForPreTraining.from_pretrained(
            checkpoint.spec.location, attn_implementation="eager", dtype=model.dtype, local_files_only=True
        )
        held = held_out(checkpoint, corpus)
        shares = masked_tokens(EncoderModel(full).eval(), held)
        found[HELD_OUT] = {name: shares[name] for name in ("top-1", "top-5")}
        if "pairs" in shares:
            found[HELD_OUT][_PAIRS[held.pairs.question]] = shares["pairs"]
    return found


def electra(checkpoint: Checkpoint, corpus: Path | None) -> Found:
    """Replaced tokens of the story, and of held-out documents."""
    from core import checkpoints

    generator = checkpoints.load(checkpoint.spec.slug, "generator")
    model = ElectraModel(checkpoint.model, generator.model).eval()
    sides = {STORY: story_examples(checkpoint)}
    if corpus is not None:
        sides[HELD_OUT] = held_out(checkpoint, corpus)
    threshold = float(checkpoint.spec.card.extra.get("threshold", 0.5)) if checkpoint.spec.card else 0.5
    return {on: replaced_tokens(model, side, threshold) for on, side in sides.items()}


def story_examples(checkpoint: Checkpoint) -> Examples:
    """The story as damaged rows, one a chunk."""
    ids = [
        checkpoint.tokenizer(text, add_special_tokens=False)["input_ids"] for text in story_chunks(checkpoint.tokenizer)
    ]
    count = np.arange(len(ids), dtype=np.int64)
    chunks = np.stack([count, count + 1, count + 1, [len(row) for row in ids], 0 * count, 0 * count - 1], axis=1)
    return Examples(Documents(Ragged.of(ids), chunks), checkpoint.tokenizer, fates=_fates(checkpoint))


def held_out(checkpoint: Checkpoint, corpus: Path) -> Examples:
    """The held-out side of the checkpoint's recipe, tokenised with its own tokeniser."""
    recipe = recipes.load(checkpoint.spec.slug)
    data = recipe.data
    backend = checkpoint.tokenizer.backend_tokenizer  # type: ignore[attr-defined]
    every, width = int(data["hold_out_every"]), int(data["width"])
    text = documents.tokenized(corpus, recipe.sources, backend, every=every, width=width, held_out=True)
    return Examples(text, backend, str(data.get("pairs", "")), _fates(checkpoint))


def _fates(checkpoint: Checkpoint) -> tuple[float, float]:
    hidden, drawn = recipes.load(checkpoint.spec.slug).data.get("fates", masks.FATES)
    return float(hidden), float(drawn)


class _Without:
    """A model whose attention scores lack a part, called as the model itself is."""

    def __init__(self, model: Any, part: str) -> None:
        self.model, self.device = model, model.device
        self._keep = [other for other in PARTS if other != part]

    def __call__(self, ids: Tensor) -> Any:
        return SimpleNamespace(logits=self.model.cls(read(self.model, ids, self._keep).states))


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
        for before, logs in (("", at_once), ("one after the other ", in_order)):
            right = logs.topk(5).indices.cpu().numpy() == ids[places][:, None]
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
        k = float(recipes.load(checkpoint.spec.slug).data["k"])
        side = Orders(held_out(checkpoint, corpus).text, tokenizer.backend_tokenizer, k)  # type: ignore[attr-defined]
        shares = found_tokens(PermutationModel(model).eval(), side)
        found[f"{HELD_OUT}, the last sixth of random orders"] = {name: shares[name] for name in ("top-1", "top-5")}
    return found


def bilingual(checkpoint: Checkpoint, corpus: Path | None) -> Found:
    """Masked words of English and French sentences that come back, with the translation beside them and without."""
    rows = [(row[0], row[1]) for row in measures.read_table(measures.TRANSLATIONS)]
    found = {f"masked words of {len(rows)} sentences written for this project": recovered(checkpoint, rows)}
    if corpus is not None:
        every = int(recipes.load(checkpoint.spec.slug).data["hold_out_every"])
        pairs = parallel.Split(partial(parallel.rows, corpus, "en-fr"), every).test()
        some = list(islice((pair for pair in pairs if _fits(checkpoint, pair)), PAIRS))
        on = f"masked words of {len(some)} sentence pairs of the corpus held out from training"
        found[on] = recovered(checkpoint, some)
    return found


def _fits(checkpoint: Checkpoint, pair: parallel.Pair) -> bool:
    limit = int(checkpoint.model.config.max_position_embeddings)
    return all(len(checkpoint.tokenizer(text)["input_ids"]) <= limit for text in pair)


def recovered(checkpoint: Checkpoint, pairs: Sequence[parallel.Pair]) -> dict[str, float]:
    """Top-1 and top-5 in percent over the masked tokens (`core.training.measures.hide`) of each side of the pairs.

    The same words are hidden with the whole other sentence beside them and without it.
    """
    tokenizer: Any = checkpoint.tokenizer
    languages, names = numbers(checkpoint), tuple(LANGUAGES.values())
    end = int(tokenizer.eos_token_id)
    found: dict[str, float] = {}
    for side, name in enumerate(names):
        hits = {f"{name} alone": [0, 0], f"{name} with {names[1 - side]}": [0, 0]}
        total = 0
        for seed, pair in enumerate(pairs):
            texts = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in pair]
            whole = np.array([end, *texts[side], end], dtype=np.int64)
            hidden, places = measures.hide(whole, tokenizer, seed=seed)
            given = [list(text) for text in texts]
            given[side] = hidden[1:-1].tolist()
            both = list(zip(languages, given, strict=True))
            before = len(texts[0]) + 2 if side else 0
            total += len(places)
            for way, parts, start in zip(hits, ([both[side]], both), (0, before), strict=True):
                found_there = scores(checkpoint.model, layout(parts, end), (places + start).tolist())
                right = found_there.topk(5).indices.cpu().numpy() == whole[places][:, None]
                hits[way][0] += int(right[:, 0].sum())
                hits[way][1] += int(right.any(axis=1).sum())
        for way, (first, near) in hits.items():
            found |= {f"{way} top-1": 100 * first / total, f"{way} top-5": 100 * near / total}
    return found


def adapters(checkpoint: Checkpoint, corpus: Path | None) -> Found:
    """Texts written for this project, and held-out ones of the corpus, under every task."""
    told: dict[str, dict[str, Any]] = checkpoint.model.config.adapter_tasks
    order = [info.slug for info in tasks(checkpoint)]
    found: Found = {}
    for task in order:
        about = told[task]
        rows = [row for row in measures.read_table(TEXTS) if row[0] == task]
        batches = written(checkpoint, rows, list(about["answers"]))
        found[f"{task}: {len(rows)} texts written for this project"] = right(checkpoint, task, batches)
    if corpus is not None:
        recipe = recipes.load(checkpoint.spec.slug)
        tokenizer = models.trunk_tokenizer(models.trunk_folder(str(recipe.model["package"])))
        for task in order:
            about = told[task]
            with TemporaryDirectory() as folder:
                texts = prepare(recipe, task, tokenizer, corpus, Path(folder), held_out=True)
                count = len(evenly(texts, ADAPTED))
                batches = measured(Rows(tokenizer), texts, str(about["form"]), ADAPTED)
                on = f"{task}: {count} texts of the corpus held out from training"
                found[on] = right(checkpoint, task, batches)
                del texts, batches  # the files are mapped while these live
    return found


def written(
    checkpoint: Checkpoint, rows: list[list[str]], answers: list[str], *, at_once: int = 16
) -> Iterable[dict[str, Any]]:
    """Batches of rows (task, answer, text) of like length, as `measured` gives them."""
    order = sorted(rows, key=lambda row: len(row[2]))
    for part in (order[at : at + at_once] for at in range(0, len(order), at_once)):
        texts = [text for _, _, text in part]
        given = checkpoint.tokenizer(texts, return_tensors="pt", padding=True, return_token_type_ids=True)
        yield {**given, "answers": torch.tensor([answers.index(answer) for _, answer, _ in part])}


@torch.inference_mode()
def right(checkpoint: Checkpoint, task: str, batches: Iterable[dict[str, Any]]) -> dict[str, float]:
    """Percent of right answers, through the adapters and by the head alone; and of always giving the commonest one."""
    model: Any = checkpoint.model
    adapted: list[bool] = []
    alone: list[bool] = []
    answers: list[int] = []
    for batch in batches:
        inputs = {name: batch[name] for name in ("input_ids", "token_type_ids", "attention_mask")}
        adapted += (model.answer(inputs, task).logits.argmax(-1) == batch["answers"]).tolist()
        alone += (model.answer_alone(inputs, task).argmax(-1) == batch["answers"]).tolist()
        answers += batch["answers"].tolist()
    return {
        "accuracy": 100 * float(np.mean(adapted)),
        "accuracy, head alone": 100 * float(np.mean(alone)),
        "accuracy, commonest answer always": 100 * float(np.bincount(answers).max() / len(answers)),
    }


def sparse(checkpoint: Checkpoint, corpus: Path | None) -> Found:
    """Masked words of a long text, sparse and full, at several lengths; of held-out books, the mean over the books."""
    model, tokenizer = checkpoint.model, checkpoint.tokenizer
    groups: dict[str, tuple[list[str], tuple[int, ...]]] = {f"{STORY}, {{}} tokens": ([story()], (1024,))}
    if corpus is not None:
        books = list(held_out_books(corpus).values())
        groups[f"{BOOKS.format(len(books))}, {{}} tokens"] = (books, (1024, 2048, 4096))
    out: Found = {}
    for on, (texts, lengths) in groups.items():
        for length in lengths:
            for kind, how in (("sparse", True), ("full", False)):
                each = [measures.masked_words(model, tokenizer, text, length=length, sparse=how) for text in texts]
                mean = sum(one["top-1"] for one in each) / len(each)
                out.setdefault(on.format(length), {})[f"{kind} top-1"] = mean
    return out


def windowed(checkpoint: Checkpoint, corpus: Path | None) -> Found:
    """Masked words of the story; of held-out books by length, beside the base in pieces; rare words told far away."""
    from core import checkpoints

    card = checkpoint.spec.card
    base = checkpoints.load(str(card.base)) if card and card.base else None
    whole = _ids(checkpoint, story())
    length = min(1024, len(whole))
    found = {f"{STORY}, {length} tokens": _masked(checkpoint, base, [whole[:length]])}
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
        for name, logits in best.items():
            right = logits.topk(5).indices.numpy() == ids[places][:, None]
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
