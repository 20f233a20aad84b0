r"""The answers of two models to one prompt: how surprising each finds what the text says there.

.. math:: s(w) = -\log_2 p(w_1 \ldots w_n \mid \text{prompt})

is the surprisal of a word w of n tokens, in bits: one bit more means half the probability. Two seeds of one text
differ, too; a difference counts beyond that noise.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from core.checkpoints.spec import Checkpoint
from core.language import starts
from core.language.decoding.reader import Reader
from core.language.generate import generate
from core.language.types import Decoding
from core.lazy import torch
from core.settings import ASSETS
from core.training.changed import whole_word
from core.training.text import Corpus

FILE = ASSETS / "measured" / "changed.json"
WORDS = 6
"""Next tokens that are shown, and words of a prompt that is taken from a text."""
PROMPTS = 4
"""Of each kind that are taken from a text."""
_TOKENS = 32
_CHARACTERS = 28
"""Of a prompt that is taken from a text: there are models with a context of 32."""
_WORD = re.compile(r"[\w’'-]+")


@dataclass(frozen=True, slots=True)
class Question:
    """A prompt that stands in a text, and what the text has after it."""

    prompt: str
    answer: str
    """A space and a word, or a mark."""
    about: bool
    """Whether it is about what differs between the texts."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A question; all pairs are of the first and of the second model."""

    question: Question
    tokens: tuple[str, ...]
    """The most probable next tokens."""
    chances: tuple[tuple[float, ...], tuple[float, ...]]
    """Theirs: the mean of the seeds."""
    surprisals: tuple[float, float]
    """Of the answer, in bits: the mean of the seeds."""
    noise: float | None
    """The largest difference of the surprisals of two seeds of one text; None where there is only one."""
    texts: tuple[str, str]
    """What the models of the first seed generate by greedy decoding."""


def compare(firsts: Sequence[Checkpoint], seconds: Sequence[Checkpoint], question: Question) -> Compared:
    """Two models, each with one or several seeds, and one vocabulary."""
    prompt = question.prompt
    first, second = (np.mean([next_token(model, prompt) for model in models], axis=0) for models in (firsts, seconds))
    top = np.argsort(-np.maximum(first, second), kind="stable")[:WORDS]
    top = top[np.argsort(-first[top], kind="stable")]
    bits = [[surprisal(model, prompt, question.answer) for model in models] for models in (firsts, seconds)]
    return Compared(
        question,
        tuple(firsts[0].tokenizer.decode([token]) for token in top),
        (tuple(map(float, first[top])), tuple(map(float, second[top]))),
        (fmean(bits[0]), fmean(bits[1])),
        max((max(side) - min(side) for side in bits if len(side) > 1), default=None),
        (continued(firsts[0], prompt), continued(seconds[0], prompt)),
    )


def next_token(checkpoint: Checkpoint, prompt: str) -> NDArray[np.float64]:
    """The probability of each token of the vocabulary after a prompt."""
    ids = torch.tensor([starts.prompt(checkpoint, prompt).ids])
    return np.asarray(Reader(checkpoint.model).next_logits(ids)[0].double().softmax(-1))


def surprisal(checkpoint: Checkpoint, prompt: str, answer: str) -> float:
    """Of the word after the prompt, in bits."""
    count, ids = len(starts.prompt(checkpoint, prompt).ids), starts.prompt(checkpoint, prompt + answer).ids
    logits = Reader(checkpoint.model).read_each(torch.tensor([ids[:-1]]), len(ids) - count)
    chosen = [each[0].double().log_softmax(-1)[token] for each, token in zip(logits, ids[count:], strict=True)]
    return -float(sum(chosen)) / math.log(2)


def continued(checkpoint: Checkpoint, prompt: str) -> str:
    """What follows the prompt, the most probable token each time."""
    *_, last = generate(checkpoint, prompt, Decoding(max_new_tokens=_TOKENS))
    return last.text


def questions_about(corpus: Corpus, word: str) -> tuple[Question, ...]:
    """A few prompts that the text continues with the word, from lines all over the text."""
    pattern = whole_word(word)
    found = (_question(line, match.start(), True) for line in corpus.train for match in pattern.finditer(line))
    return _few(found)


def questions_elsewhere(corpus: Corpus, word: str) -> tuple[Question, ...]:
    """As many that have nothing to do with it: from the middle of other lines."""
    pattern = whole_word(word)
    lines = [line for line in corpus.train if not pattern.search(line)]
    return _few(_question(line, line.find(" ", len(line) // 2) + 1, False) for line in lines)


def _question(line: str, at: int, about: bool) -> Question | None:
    """The words before a place of a line, and the one there; None where it has too few."""
    words, answer = line[:at].split()[-WORDS:], _WORD.match(line, at)
    while len(" ".join(words)) > _CHARACTERS:
        words = words[1:]
    return Question(" ".join(words), f" {answer[0]}", about) if len(words) > 1 and answer else None


def _few(found: Iterable[Question | None]) -> tuple[Question, ...]:
    listed = list({question.prompt: question for question in found if question is not None}.values())
    count = min(PROMPTS, len(listed))
    return tuple(listed[number * len(listed) // count] for number in range(count))


@dataclass(frozen=True, slots=True)
class Measured:
    """A pair of models, measured by ``python -m lab changed``."""

    steps: int
    seeds: tuple[int, int]
    """How many of each model."""
    answers: tuple[Compared, ...]


_ALL = TypeAdapter(dict[str, Measured])


@lru_cache(maxsize=1)
def measured() -> dict[str, Measured]:
    """All measured pairs, by their names in `changed.PAIRS`."""
    return _ALL.validate_json(FILE.read_bytes())


def store(pairs: dict[str, Measured]) -> None:
    FILE.write_bytes(_ALL.dump_json(pairs, indent=1) + b"\n")
    measured.cache_clear()
