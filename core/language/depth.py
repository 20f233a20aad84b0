"""What a masked-word head would already answer after each layer: `core.attention.inside.lens` for a text with masks."""

from __future__ import annotations

from core.attention.ablation.question import masked_question
from core.attention.inside.lens import LayerPrediction, by_layer
from core.checkpoints.spec import Checkpoint
from core.errors import InputUnusable
from core.language.fill_mask import MaskedText

__all__ = ["LayerPrediction", "guesses_by_layer"]


def guesses_by_layer(checkpoint: Checkpoint, masked: MaskedText, k: int = 3) -> tuple[LayerPrediction, ...]:
    """For the first mask of ``masked``, the ``k`` best guesses after each layer, embeddings first.

    :raises InputUnusable: no mask, or a head that cannot be put after each layer.
    """
    if not masked.positions:
        raise InputUnusable("There is no mask in this text. Type [MASK] in place of a word.")
    return by_layer(masked_question(checkpoint, masked, masked.positions[0]), k)
