r"""What a live model answers to the questions of a round: a word, the next word, a replaced word, an order.

A masked-word head and a causal model answer with their likeliest token. A detector of replaced tokens answers with the
word that has the piece of the highest :math:`D_t`. The order of two sentences A and B no model here was trained to
tell; a causal model reads both orders, and

.. math:: p(A \text{ first}) = \frac{p(A\,B)}{p(A\,B) + p(B\,A)}

with :math:`p` the probability of the whole text after the token that begins one (Bayes' rule, the two orders equally
likely before).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.checkpoints.spec import Checkpoint
from core.language.guesses import among
from core.language.rounds import GAP, Kind, Question, spans

MODELS: dict[Kind, tuple[str, ...]] = {
    "masked": ("atlas-bert", "atlas-roberta", "minilm"),
    "next": ("atlas-gpt-2",),
    "replaced": ("atlas-electra",),
    "order": ("atlas-gpt-2",),
}
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


def answer(checkpoint: Checkpoint, question: Question) -> Answer:
    """What ``checkpoint`` answers to ``question``."""
    if question.kind == "masked":
        return _masked(checkpoint, question)
    if question.kind == "next":
        return _next(checkpoint, question)
    return _replaced(checkpoint, question) if question.kind == "replaced" else _order(checkpoint, question)


def _masked(checkpoint: Checkpoint, question: Question) -> Answer:
    from core.language.fill_mask import fill_mask

    (found,) = fill_mask(checkpoint, question.text.replace(GAP, "[MASK]"), GUESSES)
    return Answer(found.tokens, found.probabilities, 0, among(found.tokens[0], question.answers) is not None)


def _next(checkpoint: Checkpoint, question: Question) -> Answer:
    from core.language.generate import generate
    from core.language.types import Decoding

    step = next(iter(generate(checkpoint, question.text, Decoding(max_new_tokens=1), with_attention=False)))
    best = step.alternatives[:GUESSES]
    # A piece without a space before it goes on with the last word; it is no next word, whatever its letters.
    right = best[0].text.startswith(" ") and among(best[0].text, question.answers) is not None
    return Answer(tuple(a.text for a in best), tuple(a.probability for a in best), 0, right)


def _replaced(checkpoint: Checkpoint, question: Question) -> Answer:
    from core.language.replaced import judge_own

    found = judge_own(checkpoint, question.text)
    chances = tuple(
        max((v for v, t in zip(found.verdicts, found.after, strict=True) if start <= t.start < end), default=0.0)
        for start, end in spans(question.text)
    )
    choice = int(np.argmax(chances))
    return Answer(question.choices, chances, choice, choice == question.place)


def _order(checkpoint: Checkpoint, question: Question) -> Answer:
    from core.language.codes import log_probabilities, posterior

    tokenizer = checkpoint.tokenizer
    begin = tokenizer.bos_token_id if tokenizer.bos_token_id is not None else tokenizer.eos_token_id
    texts = (" ".join(question.choices), " ".join(question.choices[::-1]))
    cut = [[int(i) for i in tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]] for text in texts]
    logs = np.array([log_probabilities(checkpoint.model, [ids], [int(begin)])[0, 0] for ids in cut])
    chances = tuple(float(p) for p in posterior(logs))
    choice = int(np.argmax(chances))
    return Answer(question.choices, chances, choice, choice == question.place)
