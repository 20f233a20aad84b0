r"""Rounds of ten questions that a person answers before a model does: a bank written here, drawn by a seed.

Four kinds: a hidden word, the next word, a replaced word, two sentences in an order to be told. A round is the first
`LENGTH` of a permutation of its kind's bank, drawn from ``default_rng([seed, number of the kind])``, so that a link
holds a round in two numbers. For two sentences the order in which they are shown is drawn as well.

What a live model answers to the questions of a round: a word, the next word, a replaced word, an order.

A masked-word head and a causal model answer with their likeliest token. A detector of replaced tokens answers with the
word that has the piece of the highest :math:`D_t`. The order of two sentences A and B no model here was trained to
tell; a causal model reads both orders, and

.. math:: p(A \text{ first}) = \frac{p(A\,B)}{p(A\,B) + p(B\,A)}

with :math:`p` the probability of the whole text after the token that begins one (Bayes' rule, the two orders equally
likely before).
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
Given = str | int | None
"""A visitor's answer: typed, or the number of a choice; None where the visitor gave up."""
KINDS: tuple[Kind, ...] = get_args(Kind)
LENGTH = 10
GAP = "___"
"""Where a word is hidden."""
FOLDER = ASSETS / "rounds"
_WORD = re.compile(r"[^\W_]+(?:[’'-][^\W_]+)*")


@dataclass(frozen=True, slots=True)
class Question:
    """One question. ``answers`` and ``place`` are the secret of it."""

    kind: Kind
    text: str
    """What is shown: a sentence with `GAP`, a beginning, or a sentence with a wrong word; two sentences as one text."""
    answers: tuple[str, ...]
    """What counts as right, the original first. For two sentences the one that came first."""
    choices: tuple[str, ...] = ()
    """The words of a sentence, or the two sentences as shown; empty where the answer is typed."""
    place: int | None = None
    """The right one of ``choices``."""

    def right(self, given: Given) -> bool:
        """Whether ``given`` is right."""
        if given is None:
            return False
        if self.choices:
            return given == self.place
        return among(str(given), self.answers) is not None

    def said(self, given: Given) -> str:
        """A visitor's answer in words."""
        if given is None:
            return "no answer"
        choice = self.choices[int(given)] if self.choices else str(given).strip()
        return opening(choice) if self.kind == "order" else choice

    @property
    def solution(self) -> str:
        """The original in words, and what counts as right as well."""
        if self.kind == "order":
            return opening(self.answers[0])
        original, *others = self.answers
        if self.kind == "replaced":
            return f"{original}, replaced by {self.choices[self.place or 0]}"
        return original + (f"; also right: {', '.join(others)}" if others else "")


def opening(sentence: str) -> str:
    """The first words of a sentence, to name it by."""
    return f"“{' '.join(sentence.split()[:3])} …”"


@cache
def bank(kind: Kind) -> tuple[Mapping[str, Any], ...]:
    """All questions of a kind as the file has them."""
    return tuple(tomllib.loads((FOLDER / f"{kind}.toml").read_text(encoding="utf-8"))["questions"])


def draw(kind: Kind, seed: int) -> tuple[Question, ...]:
    """The round of ``seed``: `LENGTH` questions, none twice."""
    rows = bank(kind)
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    order = rng.permutation(len(rows))[:LENGTH]
    turned = rng.random(LENGTH) < 0.5
    return tuple(_question(kind, rows[at], bool(turn)) for at, turn in zip(order, turned, strict=True))


def spans(text: str) -> tuple[tuple[int, int], ...]:
    """Where each word of ``text`` begins and ends, marks left out."""
    return tuple(match.span() for match in _WORD.finditer(text))


def _question(kind: Kind, row: Mapping[str, Any], turned: bool) -> Question:
    if kind == "order":
        pair = (str(row["first"]), str(row["second"]))
        shown = pair[::-1] if turned else pair
        return Question(kind, " ".join(shown), (pair[0],), shown, int(turned))
    text = str(row["text"])
    answers = (str(row["word"]), *map(str, row.get("also", ())))
    if kind != "replaced":
        return Question(kind, text, answers)
    words = tuple(text[start:end] for start, end in spans(text))
    return Question(kind, text, answers, words, words.index(str(row["written"])))


MODELS: dict[Kind, tuple[str, ...]] = {kind: first(f"rounds-{kind}") for kind in KINDS}
"""Checkpoints that can be asked, the first by default."""
GUESSES = 5


@dataclass(frozen=True, slots=True)
class Answer:
    """A model's answer: what it weighed, how much it gave to each, and whether its choice is right."""

    labels: tuple[str, ...]
    """Its likeliest words, best first; for a question with choices all of them, in their order."""
    chances: tuple[float, ...]
    """One a label. Verdicts on words are a probability each and do not sum to one."""
    choice: int
    """The label that it takes."""
    right: bool

    @property
    def said(self) -> str:
        """Its choice as a word."""
        return self.labels[self.choice]


@dataclass(frozen=True, slots=True)
class Turn:
    """A question with both answers; ``answer`` is None until the visitor has answered."""

    question: Question
    given: Given = None
    answer: Answer | None = None

    @property
    def right(self) -> bool:
        """Whether the visitor is right."""
        return self.answer is not None and self.question.right(self.given)


def scores(turns: Sequence[Turn]) -> tuple[int, int, int]:
    """How many questions are answered, how many of them the visitor has right, and how many the model."""
    done = [turn for turn in turns if turn.answer is not None]
    return len(done), sum(turn.right for turn in done), sum(turn.answer.right for turn in done if turn.answer)


def answer(checkpoint: Checkpoint, question: Question) -> Answer:
    """What ``checkpoint`` answers to ``question``."""
    if question.kind == "masked":
        return _masked(checkpoint, question)
    if question.kind == "next":
        return _next(checkpoint, question)
    return _replaced(checkpoint, question) if question.kind == "replaced" else _order(checkpoint, question)


def _masked(checkpoint: Checkpoint, question: Question) -> Answer:
    (prediction,) = fill_mask(checkpoint, question.text.replace(GAP, "[MASK]"), GUESSES)
    return Answer(
        prediction.tokens, prediction.probabilities, 0, among(prediction.tokens[0], question.answers) is not None
    )


def _next(checkpoint: Checkpoint, question: Question) -> Answer:
    step = next(iter(generate(checkpoint, question.text, Decoding(max_new_tokens=1))))
    best = step.alternatives[:GUESSES]
    # A piece without a space before it goes on with the last word; it is no next word, whatever its letters.
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
    return Answer(question.choices, probabilities, choice, choice == question.place)


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
    return Answer(question.choices, probabilities, choice, choice == question.place)
