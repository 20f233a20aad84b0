r"""Rounds of ten questions that a visitor answers before a model does.

Four kinds: a masked word, the next word, a replaced word, the order of two sentences. A round is the first `LENGTH` of
a permutation of its kind's bank, sampled with ``default_rng([seed, number of the kind])``, so that a link has a round
in two numbers. The displayed order of two sentences is sampled as well.

A masked language model and a causal model answer with their most probable token, a discriminator with the word of the
token with the highest :math:`D_t`. No model here was trained on sentence order; a causal model scores both orders:

.. math:: p(A \text{ first}) = \frac{p(A\,B)}{p(A\,B) + p(B\,A)}

with :math:`p` the probability of the whole text (Bayes' rule with equal priors).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, get_args

import numpy as np

from core.checkpoints.registry import first
from core.checkpoints.spec import Checkpoint
from core.language.codes import log_probabilities, posterior
from core.language.fill_mask import fill_mask
from core.language.generate import generate
from core.language.guesses import among
from core.language.replaced import detect
from core.language.types import Decoding
from core.settings import ASSETS

Kind = Literal["masked", "next", "replaced", "order"]
Response = str | int | None
"""A visitor's answer: a text, or the number of a choice; None where the visitor gave up."""
KINDS: tuple[Kind, ...] = get_args(Kind)
LENGTH = 10
GAP = "___"
"""A masked word in a question."""
FOLDER = ASSETS / "rounds"
_WORD = re.compile(r"[^\W_]+(?:[’'-][^\W_]+)*")


@dataclass(frozen=True, slots=True)
class Question:
    """One question. ``answers`` and ``correct`` are not shown before the visitor has answered."""

    kind: Kind
    text: str
    """A sentence with `GAP`, a prompt, a sentence with a replaced word, or two sentences."""
    answers: tuple[str, ...]
    """Accepted answers, the original first; of two sentences the first one."""
    choices: tuple[str, ...] = ()
    """The words of a sentence, or the two sentences as displayed; empty where the answer is typed."""
    correct: int | None = None
    """Index of the right choice."""

    def right(self, response: Response) -> bool:
        if response is None:
            return False
        if self.choices:
            return response == self.correct
        return among(str(response), self.answers) is not None

    def in_words(self, response: Response) -> str:
        """A visitor's answer in words."""
        if response is None:
            return "no answer"
        choice = self.choices[int(response)] if self.choices else str(response).strip()
        return opening(choice) if self.kind == "order" else choice

    @property
    def solution(self) -> str:
        """The original and the other accepted answers, in words."""
        if self.kind == "order":
            return opening(self.answers[0])
        original, *others = self.answers
        if self.kind == "replaced":
            return f"{original}, replaced by {self.choices[self.correct or 0]}"
        return original + (f"; also right: {', '.join(others)}" if others else "")


def opening(sentence: str) -> str:
    """The first words of a sentence, as its name."""
    return f"“{' '.join(sentence.split()[:3])} …”"


@cache
def bank(kind: Kind) -> tuple[Mapping[str, Any], ...]:
    """All questions of a kind, as in the file."""
    return tuple(tomllib.loads((FOLDER / f"{kind}.toml").read_text(encoding="utf-8"))["questions"])


def draw(kind: Kind, seed: int) -> tuple[Question, ...]:
    """The round of ``seed``: `LENGTH` different questions."""
    rows = bank(kind)
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    order = rng.permutation(len(rows))[:LENGTH]
    swapped = rng.random(LENGTH) < 0.5
    return tuple(_question(kind, rows[at], bool(swap)) for at, swap in zip(order, swapped, strict=True))


def spans(text: str) -> tuple[tuple[int, int], ...]:
    """The character spans of the words of ``text``, without punctuation."""
    return tuple(match.span() for match in _WORD.finditer(text))


def _question(kind: Kind, row: Mapping[str, Any], swap: bool) -> Question:
    if kind == "order":
        pair = (str(row["first"]), str(row["second"]))
        displayed = pair[::-1] if swap else pair
        return Question(kind, " ".join(displayed), (pair[0],), displayed, int(swap))
    text = str(row["text"])
    answers = (str(row["word"]), *map(str, row.get("also", ())))
    if kind != "replaced":
        return Question(kind, text, answers)
    words = tuple(text[start:end] for start, end in spans(text))
    return Question(kind, text, answers, words, words.index(str(row["written"])))


MODELS: dict[Kind, tuple[str, ...]] = {kind: first(f"rounds-{kind}") for kind in KINDS}
"""The models of each kind, the default first."""
TOP = 5


@dataclass(frozen=True, slots=True)
class Answer:
    """A model's answer, with its probabilities."""

    labels: tuple[str, ...]
    """Its most probable words; for a question with choices all of them, in their order."""
    probabilities: tuple[float, ...]
    """One per label. Those of replaced words are independent and do not sum to one."""
    choice: int
    """Index of its answer."""
    right: bool

    @property
    def text(self) -> str:
        """Its answer."""
        return self.labels[self.choice]


@dataclass(frozen=True, slots=True)
class Turn:
    """A question with both answers; ``answer`` is None until the visitor has answered."""

    question: Question
    response: Response = None
    answer: Answer | None = None

    @property
    def right(self) -> bool:
        return self.answer is not None and self.question.right(self.response)


def scores(turns: Sequence[Turn]) -> tuple[int, int, int]:
    """The numbers of answered questions, of right answers of the visitor, and of the model."""
    done = [turn for turn in turns if turn.answer is not None]
    return len(done), sum(turn.right for turn in done), sum(turn.answer.right for turn in done if turn.answer)


def answer(checkpoint: Checkpoint, question: Question) -> Answer:
    if question.kind == "masked":
        return _masked(checkpoint, question)
    if question.kind == "next":
        return _next(checkpoint, question)
    return _replaced(checkpoint, question) if question.kind == "replaced" else _order(checkpoint, question)


def _masked(checkpoint: Checkpoint, question: Question) -> Answer:
    (prediction,) = fill_mask(checkpoint, question.text.replace(GAP, "[MASK]"), TOP)
    return Answer(
        prediction.tokens, prediction.probabilities, 0, among(prediction.tokens[0], question.answers) is not None
    )


def _next(checkpoint: Checkpoint, question: Question) -> Answer:
    step = next(iter(generate(checkpoint, question.text, Decoding(max_new_tokens=1))))
    best = step.alternatives[:TOP]
    # A token without a space before it continues the last word.
    is_right = best[0].text.startswith(" ") and among(best[0].text, question.answers) is not None
    return Answer(tuple(a.text for a in best), tuple(a.probability for a in best), 0, is_right)


def _replaced(checkpoint: Checkpoint, question: Question) -> Answer:
    detection = detect(checkpoint, question.text)
    probabilities = tuple(
        max(
            (v for v, t in zip(detection.probabilities, detection.after, strict=True) if start <= t.start < end),
            default=0.0,
        )
        for start, end in spans(question.text)
    )
    choice = int(np.argmax(probabilities))
    return Answer(question.choices, probabilities, choice, choice == question.correct)


def _order(checkpoint: Checkpoint, question: Question) -> Answer:
    tokenizer = checkpoint.tokenizer
    begin = tokenizer.bos_token_id if tokenizer.bos_token_id is not None else tokenizer.eos_token_id
    texts = (" ".join(question.choices), " ".join(question.choices[::-1]))
    encoded = [
        [int(i) for i in tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]] for text in texts
    ]
    logs = np.array([log_probabilities(checkpoint.model, [ids], [int(begin)])[0, 0] for ids in encoded])
    probabilities = tuple(float(p) for p in posterior(logs))
    choice = int(np.argmax(probabilities))
    return Answer(question.choices, probabilities, choice, choice == question.correct)
