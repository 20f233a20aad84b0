r"""Words of a text found one after the other, in any order (XLNet: Yang et al., 2019, arXiv 1906.08237).

Some tokens of a text are unknown, and an order says when each is found. Every step sees what is known from the start
and what was found before, wherever it stands:

.. math:: \log p(x_{z_1}, \dots, x_{z_m} \mid x_{\mathrm{known}}) =
          \sum_{t=1}^{m} \log p(x_{z_t} \mid x_{\mathrm{known}}, x_{z_{<t}})

By the chain rule the left side does not depend on the order z. A model's sums differ a little from order to order; by
how much is a measure of how consistent it is. With the truth fed back all steps come out of one pass, which is what the
two streams and their masks are for; with the model's own guesses fed back each step needs a pass.

A place's *rank* is 0 where it is known and t where it is found t-th. The query stream at i, which is to find what
stands there, sees j where rank j < rank i; the content stream at i, which knows what stands there, sees itself, too.
Known places see all known places and nothing else, as in the code that the paper's authors released (where ``[CLS]``
and ``[SEP]`` take part in the order; here they are known). Places of one rank do not see each other: with rank 1 for
all of them they are found at once.

Shapes: n tokens of the text, m places to find, V vocabulary entries; L places, where leading axes (rows of a batch)
are allowed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from core.checkpoints.spec import Checkpoint
from core.errors import InputUnusable, OutOfRange
from core.language.limits import check_length
from core.language.text import clean
from core.language.tokens import label, likeliest, tokenise, words
from core.language.types import MaskPrediction, Token
from core.patterns import Mask, Positions, perm_mask, ranks

if TYPE_CHECKING:
    from torch import Tensor

MAX_CHARS = 600
MAX_FOUND = 64
"""Tokens that may be unknown at once."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """A text of n tokens and the order in which some of them are found."""

    tokens: tuple[Token, ...]
    places: tuple[int, ...]
    """m places, as they are found; the pieces of one word follow each other from left to right."""

    @property
    def words(self) -> tuple[int, ...]:
        """The words to find, as numbers of `core.language.tokens.words`, as they are found."""
        numbers = words(self.tokens)
        return tuple(dict.fromkeys(numbers[place] for place in self.places))


@dataclass(frozen=True, slots=True)
class Found:
    """One step: what the model expected at a place, and what stood there."""

    guess: MaskPrediction
    truth: str
    probability: float
    """Of what stood there."""
    rank: int
    """Of what stood there among all V, from 1."""

    @property
    def bits(self) -> float:
        """What the truth cost."""
        return -math.log2(max(self.probability, 1e-30))


def prepare(checkpoint: Checkpoint, text: str, chosen: Sequence[int]) -> Unknown:
    """Tokenise ``text`` and put the tokens of the ``chosen`` words in order.

    Args:
        chosen: numbers of words (`choices`), in the order in which they are found.

    Raises:
        InputUnusable: the model finds no words in any order, no word is chosen, or too many are.
        InputEmpty, InputTooLong: nothing readable in the text, or more tokens than the model reads.
        OutOfRange: a number is no word of this text.
    """
    tokens = cut(checkpoint, text)
    there = choices(tokens)
    places: list[int] = []
    for number in dict.fromkeys(chosen):
        if number not in there:
            raise OutOfRange(f"There is no word {number} to predict in this text.")
        places += there[number]
    if not places:
        raise InputUnusable("No word is chosen for prediction. Choose one or more words of the sentence.")
    if len(places) > MAX_FOUND:
        raise InputUnusable(f"{len(places)} tokens to predict are too many. Up to {MAX_FOUND} work here.")
    return Unknown(tokens, tuple(places))


def cut(checkpoint: Checkpoint, text: str) -> tuple[Token, ...]:
    """The tokens of ``text``, special ones included; refuses what `prepare` refuses."""
    if not checkpoint.spec.offers("two streams"):
        raise InputUnusable(f"{checkpoint.spec.name} does not predict words in any order. Choose an XLNet.")
    tokens = tokenise(checkpoint, clean(text, MAX_CHARS))
    check_length(checkpoint, len(tokens))
    if all(token.special for token in tokens):
        raise InputUnusable("The tokenizer gives no token for this text. Type a few words, or choose a sample.")
    return tokens


def choices(tokens: Sequence[Token]) -> dict[int, list[int]]:
    """The places of each word that can be chosen, by its number."""
    found: dict[int, list[int]] = {}
    for place, (token, number) in enumerate(zip(tokens, words(tokens), strict=True)):
        if not token.special:
            found.setdefault(number, []).append(place)
    return found


def follow(checkpoint: Checkpoint, unknown: Unknown, k: int = 5, *, own: bool = False) -> tuple[Found, ...]:
    """Every step along the order, with the ``k`` top predictions of each.

    Args:
        own: what is fed back is the model's top prediction instead of what stood there.
    """
    ids = [token.id for token in unknown.tokens]
    if not own:
        logs = in_order(checkpoint.model, ids, unknown.places)
        return tuple(_found(checkpoint, unknown, step, logs[step], k) for step in range(len(unknown.places)))
    found: list[Found] = []
    for step, place in enumerate(unknown.places):
        # nothing sees the tokens at this and the later steps, so that it does not matter what stands there
        found.append(_found(checkpoint, unknown, step, in_order(checkpoint.model, ids, unknown.places)[step], k))
        ids[place] = found[-1].guess.ids[0]
    return tuple(found)


def costs(checkpoint: Checkpoint, unknown: Unknown) -> dict[int, float]:
    """Bits of what stands at each place, by place; their sum is the cost of all."""
    ids = [token.id for token in unknown.tokens]
    logs = in_order(checkpoint.model, ids, unknown.places)
    bits = {place: -float(logs[step, ids[place]]) / math.log(2) for step, place in enumerate(unknown.places)}
    return {place: bits[place] for place in sorted(bits)}


def reordered(unknown: Unknown, order: str, seed: int = 0) -> Unknown:
    """The same words in another order: ``forward``, ``backward`` or ``shuffled``.

    Backward and shuffled orders take words, not tokens: a word's pieces are still found from left to right.
    """
    chosen = sorted(unknown.words)
    if order == "backward":
        chosen.reverse()
    elif order == "shuffled":
        chosen = [chosen[i] for i in np.random.default_rng(seed).permutation(len(chosen))]
    there = choices(unknown.tokens)
    return Unknown(unknown.tokens, tuple(place for number in chosen for place in there[number]))


def sees(unknown: Unknown) -> tuple[Mask, Mask]:
    """Who sees whom, (n, n) each, rows queries and columns keys in the text's order: content stream, query stream."""
    size = len(unknown.tokens)
    query = ~perm_mask(ranks(unknown.places, size))
    return query | np.eye(size, dtype=np.bool_), query


def at_once(model: Any, ids: Tensor, positions: Sequence[int]) -> Tensor:
    """(m, V) scores at ``positions`` of one text ``ids`` (1, n), none of which sees another or itself."""
    rank = np.zeros(ids.shape[1], dtype=np.int64)
    rank[list(positions)] = 1
    return _scores(model, ids, rank, positions)


def streams(ids: Tensor, rank: Positions, places: Sequence[int]) -> dict[str, Tensor]:
    """What the model takes beside ``ids`` (1, n): who sees whom (1, n, n), and where is guessed (1, m, n)."""
    import torch

    unseen = torch.from_numpy(perm_mask(rank)).to(ids.device, torch.float32)
    where = torch.from_numpy(mapping(np.asarray(places), len(rank))).to(ids.device)
    return {"perm_mask": unseen[None], "target_mapping": where[None]}


def _scores(model: Any, ids: Tensor, rank: Positions, places: Sequence[int]) -> Tensor:
    import torch

    with torch.inference_mode():
        out = model(input_ids=ids, **streams(ids, rank, places), use_mems=False)
        scores: Tensor = out.logits[0].float()
        return scores


def in_order(model: Any, ids: Sequence[int], places: Sequence[int]) -> Tensor:
    """(m, V) log-probabilities, each step given those before it."""
    import torch

    given = torch.tensor([list(ids)], device=model.device)
    return _scores(model, given, ranks(places, len(ids)), places).log_softmax(-1)


def _found(checkpoint: Checkpoint, unknown: Unknown, step: int, logs: Tensor, k: int) -> Found:
    place = unknown.places[step]
    (guess,) = likeliest(checkpoint.tokenizer, [place], logs.exp()[None], k)
    truth = unknown.tokens[place].id
    own = logs[truth]
    return Found(guess, label(checkpoint.tokenizer, truth), float(own.exp()), int((logs > own).sum()) + 1)


def mapping(places: Positions, length: int) -> npt.NDArray[np.float32]:
    """(..., targets, length) transformers' ``target_mapping``: 1 where a target stands; a place below 0 is nowhere."""
    return np.asarray(places[..., None] == np.arange(length), dtype=np.float32)
