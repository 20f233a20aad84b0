"""Parts of a BERT: spans from their boundaries, one model under three attention masks, word and sentence order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from core.checkpoints.spec import Checkpoint
from core.errors import InputUnusable
from core.language.fill_mask import MAX_CHARS, prepare
from core.language.pairs import pair_scores
from core.language.text import clean
from core.language.tokens import check_length, likeliest, tokenize
from core.language.types import MaskPrediction, Token
from core.lazy import Tensor, torch
from core.objectives import spans, unified, word_order
from core.run.model import Model, call


def from_boundaries(
    checkpoint: Checkpoint, text: str, k: int, positions: tuple[int, ...]
) -> tuple[MaskPrediction, ...]:
    """The predictions of `core.language.fill_mask.fill_mask`, from the two tokens outside the span of each mask.

    Args:
        checkpoint: the ``spans`` part of a BERT.

    Raises:
        InputUnusable: there is no mask.
    """
    masked = prepare(checkpoint, text, positions)
    if not masked.positions:
        raise InputUnusable("No word is masked. Click two or three neighboring words.")
    beside = [
        (span[0] - 1, span[-1] + 1, position - span[0] + 1)
        for span in spans.group_adjacent(masked.positions)
        for position in span
    ]
    model = checkpoint.model
    with torch.inference_mode():
        ids = masked.tensors["input_ids"]
        states = model.bert(ids, torch.ones_like(ids)).last_hidden_state
        left, right, distance = torch.tensor(beside).T
        away = model.boundary(states, torch.zeros_like(left), left, right, distance)
        chances = model.cls.predictions.decoder(away).softmax(-1)
    return likeliest(checkpoint.tokenizer, masked.positions, chances, k)


KINDS: Mapping[unified.UnifiedMask, str] = {
    "both": "both sides",
    "left": "left to right",
    "seq2seq": "sequence to sequence",
}
"""The masks that a page compares."""


def pair_tokens(checkpoint: Checkpoint, first: str, second: str) -> tuple[tuple[Token, ...], tuple[Token, ...]]:
    """The tokens of both texts, without special ones. Raises `AtlasError` where one is empty or both are too long."""
    a, b = (tokenize(checkpoint, clean(text, MAX_CHARS), special=False) for text in (first, second))
    check_length(checkpoint, len(a) + len(b) + 3)
    if all(token.special for token in b):
        raise InputUnusable("The second text has no word. Type one.")
    return a, b


def under_masks(
    checkpoint: Checkpoint, first: str, second: str, at: int, k: int
) -> dict[unified.UnifiedMask, MaskPrediction]:
    """The ``k`` most probable tokens in place of token ``at`` of the second text, under each attention mask.

    Left to right, both texts are one, as in training. Raises as `pair_tokens`.
    """
    a, b = ([token.id for token in side] for side in pair_tokens(checkpoint, first, second))
    tokenizer, model = checkpoint.tokenizer, checkpoint.model
    begin, end, mask = (int(i or 0) for i in (tokenizer.cls_token_id, tokenizer.sep_token_id, tokenizer.mask_token_id))
    predictions: dict[unified.UnifiedMask, MaskPrediction] = {}
    for kind in KINDS:
        opening = [begin, *a] if kind == "left" else [begin, *a, end]
        row, position = [*opening, *b, end], len(opening) + at
        row[position] = mask
        length = 0 if kind == "left" else len(opening)
        with torch.inference_mode():
            ids = torch.tensor([row])
            types = (torch.arange(len(row)) >= (length or len(row))).long()[None]
            allowed = torch.from_numpy(unified.attention_mask(kind, len(row), length))
            added = torch.zeros(1, 1, *allowed.shape).masked_fill(~allowed, torch.finfo(torch.float32).min)
            logits: Tensor = call(model, input_ids=ids, attention_mask=added, token_type_ids=types).logits
            predictions[kind] = likeliest(tokenizer, (at,), logits[:, position].softmax(-1), k)[0]
    return predictions


@dataclass(frozen=True, slots=True)
class Orders:
    """The possible orders of three neighboring tokens, the most probable one first."""

    read: str
    """As the model read them."""
    tokens: tuple[str, ...]
    probabilities: tuple[float, ...]
    right: int
    """Which one is the sentence's."""


NEAR = 3
"""How far from a trigram tokens are masked where each order is read."""


def near(special: Sequence[bool], at: int) -> list[int]:
    """Positions of the trigram from ``at`` on and of up to `NEAR` tokens on each side of it, without special ones."""
    around = range(max(0, at - NEAR), min(len(special), at + word_order.SIZE + NEAR))
    return [position for position in around if not special[position]]


def each_read(model: Model, texts: Tensor, types: Tensor, around: Sequence[int], mask: int) -> Tensor:
    r"""(k,) pseudo-log-likelihoods in nats of k texts of one length (Salazar et al., 2020, arXiv:1910.14659).

    .. math:: s(x) = \sum_{i \in N} \log p(x_i \mid x_{\setminus i})

    with :math:`x_{\setminus i}` the text :math:`x` without its token :math:`x_i`, in whose place the mask is, and
    :math:`N` the positions ``around``. Each token is predicted from all others, so orders are compared as they read.

    Args:
        model: a BERT with a masked-token head.
        texts: (k, n) ids.
        types: (n,) segments.
    """
    count = len(around)
    rows, place = texts.repeat_interleave(count, 0), torch.tensor([*around] * len(texts), device=texts.device)
    every = torch.arange(len(rows), device=texts.device)
    tokens = rows[every, place]
    rows[every, place] = mask
    states = model.bert(rows, torch.ones_like(rows), types.expand_as(rows)).last_hidden_state
    logs: Tensor = model.cls.predictions(states[every, place]).float().log_softmax(-1)
    return logs[every, tokens].reshape(-1, count).sum(1)


def put_right(checkpoint: Checkpoint, tokens: tuple[Token, ...], at: int, seed: int, *, each: bool = False) -> Orders:
    """The orders of three tokens from ``at`` on, which the model reads in another order, sampled with ``seed``.

    The probability of an order is the product of those of its tokens at their places, over the sum of all orders;
    with ``each`` the model reads the text in each order, and the product is that of `each_read`.

    Raises:
        InputUnusable: there are fewer than three tokens, or all are equal.
    """
    trigram = tokens[at : at + word_order.SIZE]
    if len(trigram) < word_order.SIZE or any(token.special for token in trigram):
        raise InputUnusable("Three neighboring tokens are shuffled, and fewer begin here. Choose an earlier word.")
    read = [trigram[i] for i in word_order.order([token.id for token in trigram], np.random.default_rng(seed))]
    orders = {tuple(t.id for t in order): " ".join(t.piece for t in order) for order in permutations(trigram)}
    if len(orders) == 1:
        raise InputUnusable("These three tokens are equal, so they have one order alone. Choose other ones.")
    model = checkpoint.model
    with torch.inference_mode():
        ids = torch.tensor([[token.id for token in (*tokens[:at], *read, *tokens[at + word_order.SIZE :])]])
        if each:
            texts, around = ids.repeat(len(orders), 1), near([token.special for token in tokens], at)
            texts[:, at : at + word_order.SIZE] = torch.tensor(list(orders))
            sums = each_read(model, texts, torch.zeros_like(ids), around, int(checkpoint.tokenizer.mask_token_id or 0))
        else:
            states = model.bert(ids, torch.ones_like(ids)).last_hidden_state[0, at : at + word_order.SIZE]
            logs = model.cls.predictions(states).log_softmax(-1)
            sums = logs[torch.arange(word_order.SIZE), torch.tensor(list(orders))].sum(-1)
        best = sums.softmax(0).sort(descending=True)
    names = [list(orders.values())[i] for i in best.indices.tolist()]
    right = names.index(orders[tuple(token.id for token in trigram)])
    return Orders(" ".join(token.piece for token in read), tuple(names), tuple(best.values.tolist()), right)


def three_orders(checkpoint: Checkpoint, first: str, second: str) -> tuple[float, ...]:
    """The probabilities of `core.objectives.sentence_pairs.THREE`. Raises as `pair_tokens`.

    Args:
        checkpoint: the ``orders`` part of a BERT.
    """
    a, b = ([token.id for token in side] for side in pair_tokens(checkpoint, first, second))
    begin, end = int(checkpoint.tokenizer.cls_token_id or 0), int(checkpoint.tokenizer.sep_token_id or 0)
    types = torch.tensor([[0] * (len(a) + 2) + [1] * (len(b) + 1)])
    scores = pair_scores(checkpoint, torch.tensor([[begin, *a, end, *b, end]]), types)[0]
    return tuple(scores.softmax(-1).tolist())
