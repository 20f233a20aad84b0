r"""Tokens predicted one after the other, in any order (XLNet: Yang et al., 2019, arXiv 1906.08237).

The targets of a text are predicted in a factorization order z. Each step attends to the known tokens and to the targets
predicted before it, at any position:

.. math:: \log p(x_{z_1}, \dots, x_{z_m} \mid x_{\mathrm{known}}) =
          \sum_{t=1}^{m} \log p(x_{z_t} \mid x_{\mathrm{known}}, x_{z_{<t}})

By the chain rule the left side does not depend on z. A model's sums differ a little between orders, which measures how
consistent it is. With the original tokens fed back (teacher forcing), one pass computes all steps, by means of the two
streams and their masks; with the model's own predictions fed back, each step needs a pass.

A position's *rank* is 0 where its token is known and t where it is predicted t-th. The query stream at i, from which
the token is predicted, attends to j where rank j < rank i; the content stream, which contains the token, attends to
itself, too. Known positions attend to all known positions and to no others, as in the authors' released code (where
``[CLS]`` and ``[SEP]`` take part in the order; here they are known). Positions of equal rank do not attend to each
other: with rank 1 for all of them they are predicted at once.

Shapes: n tokens of the text, m targets, V vocabulary entries; L positions, where leading axes (rows of a batch) are
allowed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from core.checkpoints.spec import Checkpoint
from core.errors import InputUnusable, OutOfRange
from core.language.inputs import Inputs, one_text
from core.language.text import clean
from core.language.tokens import check_length, label, likeliest, tokenize, words
from core.language.types import MaskPrediction, Token
from core.lazy import Tensor, torch
from core.patterns import Mask, Positions, perm_mask, ranks
from core.run.model import Model, call

MAX_CHARS = 600
MAX_TARGETS = 64
"""Tokens that may be targets at once."""


@dataclass(frozen=True, slots=True)
class PredictionStep:
    """One step: the model's prediction at a position, and the original token."""

    prediction: MaskPrediction
    truth: str
    probability: float
    """Of the original token."""
    rank: int
    """Of the original token among all V, from 1."""

    @property
    def bits(self) -> float:
        """The surprisal of the original token."""
        return -math.log2(max(self.probability, 1e-30))


def prepare(checkpoint: Checkpoint, text: str, chosen: Sequence[int]) -> Inputs:
    """``text`` with the m tokens of the ``chosen`` words as targets, those of a word from left to right.

    Args:
        chosen: numbers of words (`choices`), in the order of prediction.

    Raises:
        InputUnusable: the model cannot predict in any order, no word is chosen, or too many are.
        InputEmpty, InputTooLong: nothing readable in the text, or more tokens than the model reads.
        OutOfRange: a number is no word of this text.
    """
    tokens = tokens_of(checkpoint, text)
    by_word = choices(tokens)
    positions: list[int] = []
    for number in dict.fromkeys(chosen):
        if number not in by_word:
            raise OutOfRange(f"There is no word {number} to predict in this text.")
        positions += by_word[number]
    if not positions:
        raise InputUnusable("No word is chosen for prediction. Choose one or more words of the sentence.")
    if len(positions) > MAX_TARGETS:
        raise InputUnusable(f"{len(positions)} tokens to predict are too many. Up to {MAX_TARGETS} work here.")
    return of_query_stream(one_text(checkpoint, tokens), ranks(positions, len(tokens)), positions)


def tokens_of(checkpoint: Checkpoint, text: str) -> tuple[Token, ...]:
    """The tokens of ``text``, special ones included; refuses what `prepare` refuses."""
    if not checkpoint.spec.offers("two streams"):
        raise InputUnusable(f"{checkpoint.spec.name} does not predict words in any order. Choose an XLNet.")
    tokens = tokenize(checkpoint, clean(text, MAX_CHARS))
    check_length(checkpoint, len(tokens))
    if all(token.special for token in tokens):
        raise InputUnusable("The tokenizer gives no token for this text. Type a few words, or choose a sample.")
    return tokens


def choices(tokens: Sequence[Token]) -> dict[int, list[int]]:
    """The positions of each word that can be chosen, by its number."""
    positions: dict[int, list[int]] = {}
    for position, (token, number) in enumerate(zip(tokens, words(tokens), strict=True)):
        if not token.special:
            positions.setdefault(number, []).append(position)
    return positions


def follow(
    checkpoint: Checkpoint, text: str, chosen: tuple[int, ...], k: int = 5, *, feed_predictions: bool = False
) -> tuple[PredictionStep, ...]:
    """Every step along the order, with the ``k`` top predictions of each; refuses what `prepare` refuses.

    Args:
        feed_predictions: feed the model's top predictions back instead of the original tokens.
    """
    targets = prepare(checkpoint, text, chosen)
    ids = list(targets.ids)
    if not feed_predictions:
        logs = in_order(checkpoint.model, ids, targets.positions)
        return tuple(_step(targets, step, logs[step], k) for step in range(len(targets.positions)))
    steps: list[PredictionStep] = []
    for step, position in enumerate(targets.positions):
        # no position attends to the tokens of this and the later steps, so that those do not matter
        steps.append(_step(targets, step, in_order(checkpoint.model, ids, targets.positions)[step], k))
        ids[position] = steps[-1].prediction.ids[0]
    return tuple(steps)


def costs(checkpoint: Checkpoint, text: str, chosen: tuple[int, ...]) -> dict[int, float]:
    """The surprisal in bits of each target, by position; their sum is that of all targets."""
    return dict(sorted((step.prediction.position, step.bits) for step in follow(checkpoint, text, chosen)))


def stream_masks(targets: Inputs) -> tuple[Mask, Mask]:
    """(n, n) masks of the content and the query stream; rows are queries, columns keys, in the text's order."""
    size = len(targets.tokens)
    query = ~perm_mask(ranks(targets.positions, size))
    return query | np.eye(size, dtype=np.bool_), query


def at_once(model: Model, ids: Tensor, positions: Sequence[int]) -> Tensor:
    """(m, V) scores at ``positions`` of one text ``ids`` (1, n), all of which are masked from each other."""
    return _scores(model, ids, equal_ranks(positions, ids.shape[1]), positions)


def equal_ranks(positions: Sequence[int], size: int) -> Positions:
    """(n,) ranks of which those at ``positions`` are 1, so that no position attends to one of them."""
    rank = np.zeros(size, dtype=np.int64)
    rank[list(positions)] = 1
    return rank


def streams(ids: Tensor, rank: Positions, positions: Sequence[int]) -> dict[str, Tensor]:
    """The model's inputs beside ``ids`` (1, n): ``perm_mask`` (1, n, n) and ``target_mapping`` (1, m, n)."""
    blocked = torch.from_numpy(perm_mask(rank)).to(ids.device, torch.float32)
    where = torch.from_numpy(target_mapping(np.asarray(positions), len(rank))).to(ids.device)
    return {"perm_mask": blocked[None], "target_mapping": where[None]}


def of_query_stream(made: Inputs, rank: Positions, targets: Sequence[int]) -> Inputs:
    """The inputs with both streams, where ``targets`` are predicted; ``rank`` (n,) has the rank of each position."""
    ids = made.tensors["input_ids"]
    tensors = {"input_ids": ids, **streams(ids, rank, targets)}
    return replace(made, tensors=tensors, positions=tuple(targets), second=None)


def _scores(model: Model, ids: Tensor, rank: Positions, positions: Sequence[int]) -> Tensor:
    with torch.inference_mode():
        out = call(model, input_ids=ids, **streams(ids, rank, positions), use_mems=False)
        scores: Tensor = out.logits[0].float()
        return scores


def in_order(model: Model, ids: Sequence[int], positions: Sequence[int]) -> Tensor:
    """(m, V) log-probabilities, each step given those before it."""
    inputs = torch.tensor([list(ids)], device=model.device)
    return _scores(model, inputs, ranks(positions, len(ids)), positions).log_softmax(-1)


def _step(targets: Inputs, step: int, logs: Tensor, k: int) -> PredictionStep:
    position, tokenizer = targets.positions[step], targets.checkpoint.tokenizer
    (prediction,) = likeliest(tokenizer, [position], logs.exp()[None], k)
    truth = targets.tokens[position].id
    log_probability = logs[truth]
    return PredictionStep(
        prediction,
        label(tokenizer, truth),
        float(log_probability.exp()),
        int((logs > log_probability).sum()) + 1,
    )


def target_mapping(positions: Positions, length: int) -> npt.NDArray[np.float32]:
    """(..., targets, length) transformers' ``target_mapping``: 1 at a target; a negative position has no target."""
    return np.asarray(positions[..., None] == np.arange(length), dtype=np.float32)
