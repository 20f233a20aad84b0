r"""Span extraction: the answer to a question is the best span of a passage, by a start and an end score of each token.

.. math::

    p_{start}(i) = \frac{e^{S \cdot T_i}}{\sum_j e^{S \cdot T_j}}, \qquad
    (\hat a, \hat b) = \arg\max_{a \le b < a + m} p_{start}(a)\, p_{end}(b), \qquad
    L = -\tfrac12 \big(\ln p_{start}(a) + \ln p_{end}(b)\big),

over the tokens of the passage alone (BERT, arXiv 1810.04805, section 4.2). Spans that end before they start, or have
more than m tokens, are invalid. The passages are composed from the facts of ``assets/spans.toml``; no country of a
held-out passage is in a training passage. Exact match and F1 are SQuAD's (arXiv 1606.05250, section 6.1).
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
import regex
from numpy.typing import NDArray

from core.finetuning.examples import Example, LabeledSet
from core.finetuning.setup import SIZES, Setup, Trained, usual_rate
from core.language.types import Token
from core.settings import ASSETS
from core.words import WORD

if TYPE_CHECKING:
    from core.checkpoints.spec import Checkpoint, CheckpointSpec

NAME, EPOCHS, RATE = "spans", 10, 3e-4
"""Of the set, and of a run."""
TRAIN, HELD_OUT, EVERY = 40, 20, 3
"""Passages of both halves; one of so many countries is held out."""
LONGEST = 8
"""Tokens of an answer."""
_WORDS = regex.compile(WORD)


@lru_cache(maxsize=1)
def facts() -> LabeledSet:
    """Questions about passages of a sentence for each relation of a country, in any order."""
    with (ASSETS / "spans.toml").open("rb") as file:
        data = tomllib.load(file)
    rows = data["facts"]["rows"]
    held_out = rows[EVERY - 1 :: EVERY]
    train = [row for row in rows if row not in held_out]
    return LabeledSet(
        *(
            tuple(_compose(data["relations"], rows_of_side, n))
            for rows_of_side, n in ((train, TRAIN), (held_out, HELD_OUT))
        )
    )


def _compose(relations: Sequence[dict[str, Any]], rows: Sequence[Sequence[str]], number: int) -> Iterator[Example]:
    """All questions of a passage, so that the passage alone does not tell the answer."""
    random = Random(0)
    for place, *answers in rows[:number]:
        passage, answer_spans = "", {}
        for column in random.sample(range(len(relations)), len(relations)):
            statement = random.choice(relations[column]["statements"]).replace("{place}", place)
            before, after = statement.split("{answer}")
            start = len(passage) + len(before)
            answer_spans[column] = start, start + len(answers[column])
            passage += f"{before}{answers[column]}{after} "
        for column, relation in enumerate(relations):
            question = random.choice(relation["questions"]).format(place=place)
            yield Example("", question, passage.rstrip(), answer=answer_spans[column])


def setup(trained: Trained, spec: CheckpointSpec) -> Setup:
    """The settings of a run; few weights need the rates of classes: LoRA's answers are 58% exact with its own, 22% with
    :data:`RATE`."""
    rate = usual_rate(trained) if trained in SIZES else RATE
    return Setup(trained, spec.family.pooling, EPOCHS, rate)


def floor(data: LabeledSet) -> float:
    """The exact match of the best baseline."""
    return max(exact for exact, _ in baselines(data.held_out).values())


def truth(example: Example) -> str:
    """The answer."""
    assert example.answer
    return example.second[slice(*example.answer)]


def f1(predicted: str, answer: str) -> float:
    """The harmonic mean of precision and recall of the answer's words."""
    words = [Counter(_WORDS.findall(text.lower())) for text in (predicted, answer)]
    shared = (words[0] & words[1]).total()
    return 2 * shared / (words[0].total() + words[1].total()) if shared else 0.0


def exact_and_f1(predicted: Sequence[str], data: Sequence[Example]) -> tuple[float, float]:
    """The shares of exact matches, and the mean F1."""
    pairs = [(text, truth(example)) for text, example in zip(predicted, data, strict=True)]
    return fmean(f1(*pair) == 1 for pair in pairs), fmean(f1(*pair) for pair in pairs)


def _sentences(passage: str) -> list[str]:
    return re.split(r"(?<=[.]) ", passage)


def _longest(words: Sequence[str], fits: Callable[[str], bool]) -> str:
    """The longest run of words that fit, the first of equal ones."""
    runs, run = [""], list[str]()
    for word in (*words, ""):
        if word and fits(word):
            run.append(word)
        else:
            runs.append(" ".join(run))
            run = []
    return max(runs, key=lambda text: len(text.split()))


def capitalized(example: Example) -> str:
    """Baseline: the longest capitalized run of the first sentence."""
    return _longest(_WORDS.findall(_sentences(example.second)[0]), lambda word: word[0].isupper())


def overlap(example: Example) -> str:
    """Baseline: of the sentence that shares most words with the question, the longest run of words that it does not
    share; capitalized ones, if it has any beyond its first word."""
    asked = {word.lower() for word in _WORDS.findall(example.text)}
    best = max(_sentences(example.second), key=lambda text: len(asked & {w.lower() for w in _WORDS.findall(text)}))
    words = _WORDS.findall(best)
    names = _longest(words, lambda word: word[0].isupper() and word.lower() not in asked)
    return names or _longest(words, lambda word: word.lower() not in asked)


def random_span(example: Example, most: int = 3) -> tuple[float, float]:
    """Baseline: the expected exact match and F1 of a span of 1 to ``most`` words drawn at random."""
    words = _WORDS.findall(example.second)
    spans = [" ".join(words[a:b]) for a in range(len(words)) for b in range(a + 1, min(a + most, len(words)) + 1)]
    return exact_and_f1(spans, [example] * len(spans))


def baselines(data: Sequence[Example]) -> dict[str, tuple[float, float]]:
    """Exact match and F1 of each baseline."""
    drawn = [random_span(example) for example in data]
    return {
        "random": (fmean(em for em, _ in drawn), fmean(f1 for _, f1 in drawn)),
        "capitalized": exact_and_f1([capitalized(example) for example in data], data),
        "overlap": exact_and_f1([overlap(example) for example in data], data),
    }


def best_span(probabilities: NDArray[Any]) -> tuple[int, int]:
    """The first and the last token of the most probable valid span; ``probabilities`` (q, 2) are of start and end."""
    both = np.triu(np.tril(np.outer(*probabilities.T), LONGEST - 1))  # row: start, column: end
    first, last = np.unravel_index(both.argmax(), both.shape)
    return int(first), int(last)


@dataclass(frozen=True, slots=True)
class Passage:
    """A question and its passage as tokens."""

    tokens: tuple[Token, ...]
    """All of them."""
    at: tuple[int, ...]
    """Which of them are of the passage."""
    offsets: tuple[tuple[int, int], ...]
    """Of these, the characters of the passage."""

    def span(self, answer: tuple[int, int]) -> tuple[int, int]:
        """The first and the last token of an answer, counted in the passage."""
        inside = [n for n, (start, end) in enumerate(self.offsets) if start < answer[1] and end > answer[0]]
        return inside[0], inside[-1]

    def text(self, passage: str, span: tuple[int, int]) -> str:
        """The characters of a span."""
        return passage[self.offsets[span[0]][0] : self.offsets[span[1]][1]].strip()


def tokenized(checkpoint: Checkpoint, examples: Sequence[Example]) -> tuple[Passage, ...]:
    """The tokens of questions and passages."""
    from core.language.tokens import describe

    tokenizer, passages = checkpoint.tokenizer, []
    for example in examples:
        encoded = tokenizer(example.text, example.second, return_offsets_mapping=True, verbose=False)
        at = tuple(n for n, segment in enumerate(encoded.sequence_ids()) if segment == 1)
        offsets = tuple(tuple(encoded["offset_mapping"][n]) for n in at)
        passages.append(Passage(describe(tokenizer, encoded["input_ids"]), at, offsets))
    return tuple(passages)
