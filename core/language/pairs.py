"""Sentence-pair classification by an encoder: next sentence, or sentence order.

From the pooled state of ``[CLS]``, :math:`u = \\tanh(W h_0 + b)`, a head with two outputs computes

    p(own order | A, B) = softmax(V u + c)_0

For BERT (Devlin et al., 2019) the other class means that B is from another text, for ALBERT (Lan et al., 2020) that
the two are swapped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from core.checkpoints.families.architectures import has
from core.checkpoints.spec import Checkpoint
from core.errors import InputEmpty, OutOfRange
from core.language.text import clean
from core.language.tokens import check_length
from core.lazy import Tensor, torch
from core.run.model import call

MAX_CHARS = 1_000
MAX_CANDIDATES = 8

Question = Literal["next", "order"]


@dataclass(frozen=True, slots=True)
class PairProbability:
    """The prediction for A followed by B."""

    a: str
    b: str
    probability: float
    """That B follows A."""


def question(checkpoint: Checkpoint) -> Question:
    """The task of the head of this ``pairs`` part."""
    return "order" if has(checkpoint.model.config, "sentence order") else "next"


def pair_scores(pairs: Checkpoint, ids: Tensor, segments: Tensor, real: Tensor | None = None) -> Tensor:
    """The logits (rows, 2) of pairs, or (rows, 3) of an ``orders`` part.

    Args:
        ids, segments, real: (rows, n), real 0 at padding.
    """
    with torch.inference_mode():
        out = call(pairs.model, input_ids=ids, token_type_ids=segments, attention_mask=real)
    named = ("sop_logits", "seq_relationship_logits", "logits")
    scores: Tensor = next(out[name] for name in named if name in out).float()
    return scores


def score_pair(checkpoint: Checkpoint, a: str, b: str) -> PairProbability:
    """The probability that ``b`` follows ``a``.

    :param checkpoint: the ``pairs`` part of a checkpoint.
    :raises InputEmpty: one of the two has no readable character.
    :raises InputTooLong: together they have more tokens than the model has positions.
    """
    first, second = clean(a, MAX_CHARS), clean(b, MAX_CHARS)
    inputs = checkpoint.tokenizer(first, second, return_tensors="pt", return_token_type_ids=True, verbose=False)
    check_length(checkpoint, int(inputs["input_ids"].shape[1]))
    scores = pair_scores(checkpoint, inputs["input_ids"], inputs["token_type_ids"])[0]
    return PairProbability(first, second, float(scores.softmax(-1)[0]))


def candidates(text: str) -> tuple[str, ...]:
    """The lines of ``text`` that hold something, in order and each once.

    :raises InputEmpty: there is none.
    :raises OutOfRange: there are more than `MAX_CANDIDATES`.
    """
    lines = tuple(dict.fromkeys(line.strip() for line in text.splitlines() if line.strip()))
    if not lines:
        raise InputEmpty("There is no second sentence. Type one, or several on lines of their own.")
    if len(lines) > MAX_CANDIDATES:
        raise OutOfRange(f"{len(lines)} second sentences are more than fit the picture. Up to {MAX_CANDIDATES} work.")
    return lines
