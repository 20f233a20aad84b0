r"""The measures of the cards, and their texts.

=================  ===================================================================================================
top-1, top-5       share of masked positions with an accepted answer as the first prediction, or among the first five
bits per byte      :math:`-\sum \log_2 p / \text{bytes}`, comparable across tokenizers
BLEU, chrF         by sacrebleu, with all known translations of a sentence as references
exact              share of outputs that equal the uncorrupted text
=================  ===================================================================================================

Everything takes transformers models in evaluation mode and runs on the model's device.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from core.checkpoints.spec import Checkpoint
from core.interventions.heldout import story
from core.run.model import call
from lab import masking
from lab import recipe as recipes
from lab.corpus import held_out_books, sentences
from lab.objective import Hits, Sampled, Share
from lab.tokens import Ints

ROOT = Path(__file__).resolve().parents[1]
CLOZE = {
    "cloze, 100 everyday sentences": ROOT / "assets" / "cloze" / "everyday.tsv",
    "second cloze, 100 everyday sentences": ROOT / "assets" / "cloze" / "everyday-2.tsv",
}
"""Cloze tests by their name on cards; the second was written after the first had been used for evaluation."""
TRANSLATIONS = ROOT / "assets" / "heldout" / "translations.tsv"

Numbers = dict[str, float]
Results = dict[str, Numbers]
"""Measures by the name of the texts."""
STORY = "a story written for this project"
BOOKS = "{} books of the corpus held out from training"
WRITTEN = "{} sentences written for this project"
OUT = "{} sentences of the corpus held out from training"


def hold_out_every(checkpoint: Checkpoint) -> int:
    """N: one text in N was held out from the training of a bundled checkpoint."""
    return int(recipes.load(checkpoint.spec.slug.replace(":", "-")).data["hold_out_every"])


def token_ids(checkpoint: Checkpoint, text: str, *, special: bool = False) -> list[int]:
    ids: list[int] = checkpoint.tokenizer(text, add_special_tokens=special, verbose=False)["input_ids"]  # type: ignore[assignment]
    return ids


def read_table(path: Path) -> list[list[str]]:
    """Rows of a tab-separated file without its header."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines[1:] if line]


def stories(checkpoint: Checkpoint, corpus: Path | None) -> Iterator[tuple[str, list[str]]]:
    """The committed story; held-out books."""
    yield STORY, [story()]
    if corpus is not None:
        books = list(held_out_books(corpus).values())
        yield BOOKS.format(len(books)), books


def story_chunks(checkpoint: Checkpoint, room: int = 126) -> list[str]:
    """The story in chunks of whole sentences of up to ``room`` tokens."""
    out: list[str] = []
    for sentence in sentences(story().replace("\n", " ")):
        longer = f"{out[-1]} {sentence}" if out else sentence
        if out and len(token_ids(checkpoint, longer)) <= room:
            out[-1] = longer
        else:
            out.append(sentence)
    return out


@torch.inference_mode()
def cloze(checkpoint: Checkpoint, rows: Sequence[tuple[str, Sequence[str]]], *, at_once: int = 25) -> Numbers:
    """Top-1 and top-5 accuracy, and top predictions that repeat a word of the sentence, in percent.

    Args:
        rows: sentences with one ``[MASK]`` and their accepted answers.
    """
    model, tokenizer = checkpoint.model, checkpoint.tokenizer
    first = in_top_five = repeats = 0
    order = sorted(rows, key=lambda row: len(row[0]))
    for batch in (order[at : at + at_once] for at in range(0, len(order), at_once)):
        inputs = tokenizer([sentence for sentence, _ in batch], return_tensors="pt", padding=True).to(model.device)
        positions = (inputs["input_ids"] == tokenizer.mask_token_id).int().argmax(1)
        predictions = call(model, **inputs).logits[torch.arange(len(batch)), positions].topk(5).indices.tolist()
        for (_, answers), ids, best in zip(batch, inputs["input_ids"].tolist(), predictions, strict=True):
            words = tokenizer.convert_ids_to_tokens(best)
            first += words[0] in answers
            in_top_five += any(word in answers for word in words)
            repeats += best[0] in ids
    shares = {"top-1": first, "top-5": in_top_five, "top prediction repeats a word": repeats}
    return {name: Share(count, len(rows)) for name, count in shares.items()}


def half_windows(count: int, width: int) -> Iterator[tuple[slice, int]]:
    """Windows over ``count`` tokens with a stride of half their width, and the number of new tokens of each.

    The very first token is context only.
    """
    done = 1
    while done < count:
        start = 0 if done == 1 else max(0, done - width // 2)
        stop = min(count, start + width)
        yield slice(start, stop), stop - done
        done = stop


@torch.inference_mode()
def bits_per_byte(checkpoint: Checkpoint, text: str) -> float:
    """Bits per byte of a document, each token predicted with at least half a window of context.

    Windows are as long as the model's positions; the stride is half of that, and only the new tokens count.
    """
    model: Any = checkpoint.model
    width = int(getattr(model.config, "n_positions", 0) or model.config.max_position_embeddings)
    ids = [checkpoint.tokenizer.bos_token_id, *token_ids(checkpoint, text)]
    nats = 0.0
    for span, fresh in half_windows(len(ids), width):
        window = torch.tensor([ids[span]], device=model.device)
        logs = model(window).logits[0, :-1].float().log_softmax(-1)
        nats -= float(logs.gather(1, window[0, 1:, None])[-fresh:].sum())
    return nats / math.log(2) / len(text.encode())


@torch.inference_mode()
def rewrite(
    checkpoint: Checkpoint,
    texts: Sequence[str],
    *,
    beams: int = 4,
    rows: int = 32,
    first: int | None = None,
    longest: int = 96,
) -> list[str]:
    """Outputs of beam search for inputs with their prefixes, in the same order; at most ``longest`` tokens.

    ``first`` is a forced first token.
    """
    model: Any = checkpoint.model
    tokenizer: Any = checkpoint.tokenizer
    order = sorted(range(len(texts)), key=lambda index: len(texts[index]))
    out = [""] * len(texts)
    for at in range(0, len(order), rows):
        batch = order[at : at + rows]
        inputs = tokenizer([texts[i] for i in batch], return_tensors="pt", padding=True).to(model.device)
        outputs = model.generate(
            input_ids=inputs["input_ids"],
            attention_mask=inputs["attention_mask"],
            num_beams=beams,
            do_sample=False,
            max_new_tokens=longest,
            **({} if first is None else {"forced_bos_token_id": first}),
        )
        for i, text in zip(batch, tokenizer.batch_decode(outputs, skip_special_tokens=True), strict=True):
            out[i] = text.strip()
    return out


def translation(outputs: Sequence[str], references: Sequence[Sequence[str]]) -> Numbers:
    """BLEU and chrF; sentences may have different numbers of references."""
    from sacrebleu.metrics import BLEU, CHRF  # installed for development alone

    most = max(map(len, references))
    streams = [[row[i] if i < len(row) else None for row in references] for i in range(most)]
    return {name: corpus_score(metric, outputs, streams) for name, metric in (("BLEU", BLEU()), ("chrF", CHRF()))}


def equal(outputs: Iterable[str], expected: Sequence[str]) -> float:
    """Exact matches, in percent."""
    return Share(sum(a == b for a, b in zip(outputs, expected, strict=True)), len(expected))


def repair(outputs: Sequence[str], corrupted: Sequence[str], clean: Sequence[str]) -> Numbers:
    """chrF and exact matches (percent) of the corrupted texts and of the outputs."""
    from sacrebleu.metrics import CHRF  # installed for development alone

    return {
        "chrF before": corpus_score(CHRF(), corrupted, [clean]),
        "chrF after": corpus_score(CHRF(), outputs, [clean]),
        "exact before": equal(corrupted, clean),
        "exact after": equal(outputs, clean),
    }


def bootstrap(of: Any, total: Any) -> Sampled:
    """Σ of / Σ total with its 95% interval, by 2,000 bootstrap samples of the texts that both arrays (T,) are of."""
    drawn = np.random.default_rng(0).integers(len(total), size=(2000, len(total)))
    low, high = np.percentile(of[drawn].sum(1) / total[drawn].sum(1), (2.5, 97.5)).tolist()
    return Sampled(float(of.sum() / total.sum()), len(total), low, high)


def corpus_score(metric: Any, outputs: Sequence[str], references: Sequence[Sequence[str | None]]) -> Sampled:
    """A score of sacrebleu, with the interval of its 1,000 bootstrap samples of the sentences.

    Args:
        metric: a ``BLEU`` or ``CHRF``.
        references: (references of a sentence, sentences).
    """
    score = metric.corpus_score(list(outputs), references, n_bootstrap=1000)
    return Sampled(score.score, len(outputs), score._mean - score._ci, score._mean + score._ci)


def mask_words(ids: Ints, tokenizer: Any, *, rate: float = 0.15, seed: int = 7) -> tuple[Ints, Ints]:
    """(masked ids, masked positions) of one text: whole words, sampled uniformly with the seed."""
    tokens = tokenizer.convert_ids_to_tokens(ids.tolist())
    size = int(ids.max()) + 1
    continues = np.zeros(size, dtype=bool)
    special = np.zeros(size, dtype=bool)
    for token, index in zip(tokens, ids.tolist(), strict=True):
        continues[index] = token.startswith("##")
        special[index] = index in tokenizer.all_special_ids
    rng = np.random.default_rng(seed)
    mask = masking.choose(ids[None, :], np.ones(size), continues, special, rate, rng)[0]
    return np.where(mask, tokenizer.mask_token_id, ids), np.flatnonzero(mask).astype(np.int64)


@torch.inference_mode()
def masked_words(checkpoint: Checkpoint, texts: Sequence[str]) -> Numbers:
    """Top-1 and top-5 in percent over the masked words (see `mask_words`) of short texts."""
    model, hits = checkpoint.model, Hits()
    for seed, text in enumerate(texts):
        ids = np.array(token_ids(checkpoint, text, special=True), dtype=np.int64)
        corrupted, positions = mask_words(ids, checkpoint.tokenizer, seed=seed)
        scores = call(model, input_ids=torch.from_numpy(corrupted)[None].to(model.device)).logits[0, positions.tolist()]
        hits.add(scores, torch.from_numpy(ids[positions]).to(model.device))
    return hits.top()
