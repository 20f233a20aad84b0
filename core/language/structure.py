"""Parts of a BERT: masked spans from their boundaries, and one model under three attention masks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.checkpoints.spec import Checkpoint
from core.errors import InputUnusable
from core.language.fill_mask import MAX_CHARS, MaskedText
from core.language.text import clean
from core.language.tokens import check_length, likeliest, tokenize
from core.language.types import MaskPrediction, Token
from core.lazy import Tensor, torch
from core.objectives import spans, unified


def from_boundaries(checkpoint: Checkpoint, masked: MaskedText, k: int) -> tuple[MaskPrediction, ...]:
    """The ``k`` most probable tokens at each masked position, from the two tokens outside its span.

    Args:
        checkpoint: the ``spans`` part of a BERT.

    Raises:
        InputUnusable: there is no mask.
    """
    if not masked.positions:
        raise InputUnusable("No word is masked. Click two or three neighboring words.")
    beside = [
        (span[0] - 1, span[-1] + 1, position - span[0] + 1)
        for span in spans.group_adjacent(masked.positions)
        for position in span
    ]
    model: Any = checkpoint.model
    with torch.inference_mode():
        ids = torch.tensor([masked.ids])
        states = model.bert(ids, torch.ones_like(ids)).last_hidden_state
        left, right, distance = torch.tensor(beside).T
        away = model.boundary(states, torch.zeros_like(left), left, right, distance)
        chances = model.cls.predictions.decoder(away).softmax(-1)
    return likeliest(checkpoint.tokenizer, masked.positions, chances, k)


KINDS: Mapping[unified.Kind, str] = {"both": "both sides", "left": "left to right", "seq2seq": "sequence to sequence"}
"""The masks that a page compares."""


def pair_tokens(checkpoint: Checkpoint, first: str, second: str) -> tuple[tuple[Token, ...], tuple[Token, ...]]:
    """The tokens of both texts, without special ones. Raises `AtlasError` where one is empty or both are too long."""
    a, b = (tokenize(checkpoint, clean(text, MAX_CHARS), special=False) for text in (first, second))
    check_length(checkpoint, len(a) + len(b) + 3)
    if all(token.special for token in b):
        raise InputUnusable("The second text has no word to mask. Type one.")
    return a, b


def under_masks(checkpoint: Checkpoint, first: str, second: str, at: int, k: int) -> dict[unified.Kind, MaskPrediction]:
    """The ``k`` most probable tokens in place of token ``at`` of the second text, under each attention mask.

    Left to right, both texts are one, as in training. Raises as `pair_tokens`.
    """
    a, b = ([token.id for token in side] for side in pair_tokens(checkpoint, first, second))
    tokenizer, model = checkpoint.tokenizer, checkpoint.model
    begin, end, mask = (int(i or 0) for i in (tokenizer.cls_token_id, tokenizer.sep_token_id, tokenizer.mask_token_id))
    found: dict[unified.Kind, MaskPrediction] = {}
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
            logits: Tensor = model(input_ids=ids, attention_mask=added, token_type_ids=types).logits
            found[kind] = likeliest(tokenizer, (at,), logits[:, position].softmax(-1), k)[0]
    return found
