"""Ten cloze sentences that test a masked language model for different kinds of knowledge.

Eight test what pretraining can teach (trivia, syntax, coreference, topic, sentiment, reasoning, arithmetic, bias); two
are one sentence with two masks, as dynamic masking makes them in different epochs. They come from a lecture: Naveh
Porat, "Lecture 11 – Pretraining & Transformer Variants", July 2022; the accepted answers are our choice. Results are
computed live, never stored.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass

from core.checkpoints.spec import Checkpoint
from core.language.fill_mask import prepare
from core.language.fill_mask import probabilities as at_masks
from core.language.tokens import label
from core.lazy import Tensor
from core.settings import ASSETS


@dataclass(frozen=True, slots=True)
class Probe:
    """A sentence with one mask, what it tests, and the accepted answers."""

    name: str
    text: str
    asks: str
    answers: tuple[str, ...]
    """Accepted words, the most expected first; may be empty."""


@dataclass(frozen=True, slots=True)
class ProbeResult:
    probe: Probe
    predictions: tuple[tuple[str, float], ...]
    """The five most probable tokens, with probabilities."""
    answer: str | None
    """The most probable accepted word; None where none is a single token of the vocabulary."""
    rank: int | None
    """The rank of that word in the vocabulary, from 1."""
    probability: float | None


PROBES: tuple[Probe, ...] = tuple(
    Probe(row["name"], row["text"], row["asks"], tuple(row["answers"]))
    for row in tomllib.loads((ASSETS / "probes.toml").read_text(encoding="utf-8"))["probes"]
)


def run_probe(checkpoint: Checkpoint, probe: Probe) -> ProbeResult:
    """Predict the mask of a probe, and rank the best of the accepted words in the vocabulary."""
    scores = _probabilities(checkpoint, probe.text)
    best = scores.topk(5)
    predictions = tuple(
        (label(checkpoint.tokenizer, i), p) for i, p in zip(best.indices.tolist(), best.values.tolist(), strict=True)
    )
    scored = [
        (float(scores[i]), word) for word in probe.answers for i in _single(checkpoint, word) if i < scores.shape[-1]
    ]
    if not scored:
        return ProbeResult(probe, predictions, None, None, None)
    probability, word = max(scored)
    return ProbeResult(probe, predictions, word, int((scores > probability).sum()) + 1, probability)


def probabilities(checkpoint: Checkpoint, text: str, choices: tuple[str, ...]) -> dict[str, float]:
    """The probability of each of ``choices`` at the first mask of ``text``, without words of several tokens."""
    scores = _probabilities(checkpoint, text)
    return {word: max(float(scores[i]) for i in ids) for word in choices if (ids := _single(checkpoint, word))}


def _probabilities(checkpoint: Checkpoint, text: str) -> Tensor:
    """(V,) probabilities at the first mask of ``text``."""
    return at_masks(checkpoint, prepare(checkpoint, text))[0]


def _single(checkpoint: Checkpoint, word: str) -> set[int]:
    """The ids of single tokens for ``word``, with and without a space before it."""
    tokenizer = checkpoint.tokenizer
    single: set[int] = set()
    for form in (word, f" {word}"):
        ids = tokenizer(form, add_special_tokens=False)["input_ids"]
        if len(ids) == 1 and ids[0] != tokenizer.unk_token_id:
            single.add(int(ids[0]))
    return single
