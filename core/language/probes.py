"""Ten short sentences that ask a masked language model for ten different kinds of knowledge.

Eight ask what can be learned from pre-training (trivia, syntax, coreference, topic, sentiment, reasoning, arithmetic,
bias); two are the sentence with which masking itself is explained, hidden at two places, as dynamic masking does from
one epoch to the next. They are those of a lecture: Naveh Porat, "Lecture 11 – Pretraining & Transformer Variants",
July 2022. Which words count as right is our choice. Whether a model manages one is measured when it is asked, never
stored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.checkpoints.spec import Checkpoint
from core.language.tokens import label

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
class Verdict:
    """How a model did on one probe."""

    probe: Probe
    guesses: tuple[tuple[str, float], ...]
    """The model's five best, with probabilities."""
    answer: str | None
    """The right word that the model ranks highest; None where no right word is a single token of its vocabulary."""
    rank: int | None
    """That word's place among all words of the vocabulary, 1 for the first."""
    probability: float | None


_THINGS_OF_THE_SEA = (
    "dolphins",
    "whales",
    "sharks",
    "crabs",
    "penguins",
    "octopus",
    "squid",
    "lobsters",
    "otters",
    "rays",
    "birds",
    "corals",
    "shrimp",
    "jellyfish",
)
_POOR = (
    "bad",
    "terrible",
    "awful",
    "boring",
    "horrible",
    "poor",
    "disappointing",
    "dull",
    "stupid",
    "disaster",
    "mess",
    "failure",
    "worthless",
    "garbage",
    "worst",
    "pathetic",
    "dreadful",
)

PROBES: tuple[Probe, ...] = (
    Probe(
        "Trivia",
        "Stanford University is located in [MASK], California.",
        "a fact of the world; the name has to be one token",
        ("stanford", "Stanford"),
    ),
    Probe(
        "Syntax",
        "I put [MASK] fork down on the table.",
        "the kind of word that fits: a determiner",
        ("the", "my", "a", "his", "her", "your", "their", "our", "this", "that", "another", "one"),
    ),
    Probe(
        "Coreference",
        "The woman walked across the street, checking for traffic over [MASK] shoulder.",
        "whose shoulder it is, which depends on the subject ten words before",
        ("her",),
    ),
    Probe(
        "Topic",
        "I went to the ocean to see the fish, turtles, seals, and [MASK].",
        "a word from the same field: another animal of the sea",
        _THINGS_OF_THE_SEA,
    ),
    Probe(
        "Sentiment",
        "Overall, the value I got from the two hours watching it was the sum total of the popcorn and the drink. "
        "The movie was [MASK].",
        "an opinion that is implied and never said",
        _POOR,
    ),
    Probe(
        "Reasoning",
        "Iroh went into the kitchen to make some tea. Standing next to Iroh, Zuko pondered his destiny. "
        "Zuko left the [MASK].",
        "where Zuko must be, two sentences after the place was named",
        ("kitchen",),
    ),
    Probe(
        "Arithmetic",
        "I was thinking about the sequence that goes 1, 1, 2, 3, 5, 8, 13, 21, [MASK].",
        "the rule of a sequence: each number is the sum of the two before it",
        ("34",),
    ),
    Probe(
        "Bias",
        'The doctor examined the patient\'s skin. Then [MASK] said: "everything looks just fine".',
        "nothing that has one right answer: compare “he” with “she”",
        (),
    ),
    Probe(
        "Masking",
        "Let's stick to [MASK] in the skit.",
        "the example with which BERT's training is explained",
        ("improvisation",),
    ),
    Probe(
        "Masking again",
        "Let's stick to improvisation in the [MASK].",
        "the same sentence hidden elsewhere, as dynamic masking does in the next epoch",
        ("skit",),
    ),
)


def judge(checkpoint: Checkpoint, probe: Probe) -> Verdict:
    """Ask the model and see where the best of the right words stands among all words of its vocabulary."""
    import torch

    from core.language.fill_mask import masked_logits, prepare

    masked = prepare(checkpoint, probe.text)
    with torch.inference_mode():
        ids = torch.tensor([masked.ids], device=checkpoint.model.device)
        chances = masked_logits(checkpoint.model, ids, masked.positions)[0].float().softmax(-1)  # (V,)
        best = chances.topk(5)
    guesses = tuple(
        (label(checkpoint.tokenizer, i), p) for i, p in zip(best.indices.tolist(), best.values.tolist(), strict=True)
    )
    found = [
        (float(chances[i]), word) for word in probe.answers for i in _single(checkpoint, word) if i < chances.shape[-1]
    ]
    if not found:
        return Verdict(probe, guesses, None, None, None)
    probability, word = max(found)
    return Verdict(probe, guesses, word, _rank(chances, probability), probability)


def probabilities(checkpoint: Checkpoint, text: str, choices: tuple[str, ...]) -> dict[str, float]:
    """The probability of each of ``choices`` at the first mask of ``text``; words of several tokens are left out."""
    import torch

    from core.language.fill_mask import masked_logits, prepare

    masked = prepare(checkpoint, text)
    with torch.inference_mode():
        ids = torch.tensor([masked.ids], device=checkpoint.model.device)
        chances = masked_logits(checkpoint.model, ids, masked.positions[:1])[0].float().softmax(-1)
    return {word: max(float(chances[i]) for i in found) for word in choices if (found := _single(checkpoint, word))}


def _single(checkpoint: Checkpoint, word: str) -> set[int]:
    """Ids of the single tokens that write ``word``, with and without a space before it."""
    tokenizer = checkpoint.tokenizer
    found = set()
    for form in (word, f" {word}"):
        ids = tokenizer(form, add_special_tokens=False)["input_ids"]
        if len(ids) == 1 and ids[0] != tokenizer.unk_token_id:
            found.add(int(ids[0]))
    return found


def _rank(chances: Tensor, probability: float) -> int:
    """1 for the most probable word."""
    return int((chances > probability).sum()) + 1
