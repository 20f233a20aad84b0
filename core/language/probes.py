"""Ten short sentences that ask a masked language model for ten different kinds of knowledge.

Eight ask what can be learned from pre-training (trivia, syntax, coreference, topic, sentiment, reasoning, arithmetic,
bias); two are the sentence with which masking itself is explained, hidden at two places, as dynamic masking does from
one epoch to the next. They are those of a lecture: Naveh Porat, "Lecture 11 – Pretraining & Transformer Variants",
July 2022. Which words count as right is our choice. Whether a model manages one is measured when it is asked, never
stored.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.checkpoints.spec import Checkpoint
from core.language.fill_mask import prepare
from core.language.fill_mask import probabilities as at_masks
from core.language.tokens import label
from core.settings import ASSETS

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, slots=True)
class Probe:
    """A sentence with one mask, what it asks for, and the words that answer it."""

    name: str
    text: str
    asks: str
    answers: tuple[str, ...]
    """Words that count as right, most expected first; empty where there is no right word."""


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """How a model did on one probe."""

    probe: Probe
    guesses: tuple[tuple[str, float], ...]
    """The model's five best, with probabilities."""
    answer: str | None
    """The right word that the model ranks highest; None where no right word is a single token of its vocabulary."""
    rank: int | None
    """That word's place among all words of the vocabulary, 1 for the first."""
    probability: float | None


PROBES: tuple[Probe, ...] = tuple(
    Probe(row["name"], row["text"], row["asks"], tuple(row["answers"]))
    for row in tomllib.loads((ASSETS / "probes.toml").read_text(encoding="utf-8"))["probes"]
)


def run_probe(checkpoint: Checkpoint, probe: Probe) -> ProbeResult:
    """Ask the model and see where the best of the right words stands among all words of its vocabulary."""
    scores = _chances(checkpoint, probe.text)
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
    """The probability of each of ``choices`` at the first mask of ``text``; words of several tokens are left out."""
    chances = _chances(checkpoint, text)
    return {word: max(float(chances[i]) for i in found) for word in choices if (found := _single(checkpoint, word))}


def _chances(checkpoint: Checkpoint, text: str) -> Tensor:
    """(V,) probabilities at the first mask of ``text``."""
    return at_masks(checkpoint, prepare(checkpoint, text))[0]


def _single(checkpoint: Checkpoint, word: str) -> set[int]:
    """Ids of the single tokens that write ``word``, with and without a space before it."""
    tokenizer = checkpoint.tokenizer
    ids_found = set()
    for form in (word, f" {word}"):
        ids = tokenizer(form, add_special_tokens=False)["input_ids"]
        if len(ids) == 1 and ids[0] != tokenizer.unk_token_id:
            ids_found.add(int(ids[0]))
    return ids_found
