"""A text through disentangled attention: the parts of every score, and a hidden word guessed without one of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.attention.architectures.disentangled import PARTS, read, supported
from core.attention.tokens import labels
from core.attention.trace import frozen
from core.checkpoints.spec import Checkpoint
from core.errors import InputTooLong, InputUnusable
from core.language.fill_mask import HEADS, prepare
from core.language.tokens import label

MOST = 40
"""Tokens of a text that is drawn."""
Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """One text; L layers, H heads, n tokens."""

    tokens: tuple[str, ...]
    """Labels of what the model reads, masks included."""
    scores: Floats
    """(L, 3, H, n, n) content to content, content to position, position to content; scaled, before the softmax."""
    weights: Floats
    """(L, H, n, n) the softmax of their sum."""
    masks: tuple[int, ...]
    """Where the model reads a mask."""


@dataclass(frozen=True, slots=True)
class Without:
    """Guesses for the first mask."""

    part: str
    """The part of `PARTS` that was left out of every score of every layer; empty for none."""
    tokens: tuple[str, ...]
    probabilities: tuple[float, ...]


def splits(checkpoint: Checkpoint) -> bool:
    """Whether the checkpoint's scores have parts."""
    return supported(checkpoint.model)


def parts_of(checkpoint: Checkpoint, text: str) -> Parts:
    """The scores of ``text``, taken apart.

    Raises:
        InputEmpty, InputTooLong: nothing readable, or more tokens than the model's positions or `MOST`.
        NoAttentionMatrix: the model's scores have no such parts.
    """
    ids, masks = _ids(checkpoint, text)
    found = read(checkpoint.model, ids)
    return Parts(
        labels(checkpoint.tokenizer, ids[0].tolist()),
        frozen(found.scores.float().numpy()),
        frozen(found.weights.float().numpy()),
        masks,
    )


def guesses_without(checkpoint: Checkpoint, text: str, k: int = 5) -> tuple[Without, ...]:
    """The ``k`` best guesses for the first mask of ``text``: of the whole model, and without each part of the scores.

    Raises:
        InputUnusable: no mask in the text.
        InputEmpty, InputTooLong, NoAttentionMatrix: as :func:`parts_of`.
    """
    ids, masks = _ids(checkpoint, text)
    if not masks:
        raise InputUnusable("There is no mask in this text. Type [MASK] in place of a word to see it guessed.")
    model: Any = checkpoint.model
    head = HEADS[model.config.model_type]
    out = []
    for left in ("", *PARTS):
        states = read(model, ids, [part for part in PARTS if part != left]).states
        best = head(model, states[:, [masks[0]]])[0, 0].detach().float().softmax(-1).topk(k)
        words = tuple(label(checkpoint.tokenizer, i) for i in best.indices.tolist())
        out.append(Without(left, words, tuple(best.values.tolist())))
    return tuple(out)


def _ids(checkpoint: Checkpoint, text: str) -> tuple[Any, tuple[int, ...]]:
    """(1, n) ids of the text with its masks, and where these stand."""
    import torch

    masked = prepare(checkpoint, text)
    if len(masked.ids) > MOST:
        raise InputTooLong(
            f"This text has {len(masked.ids):,} tokens; the parts of its scores are drawn for up to {MOST}. "
            f"A sentence of about {MOST // 2} words or fewer works."
        )
    return torch.tensor([masked.ids]), masked.positions
