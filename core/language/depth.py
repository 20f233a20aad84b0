"""What a masked-word head would already answer after each layer.

With :math:`h^{(l)}` the states after layer :math:`l` and :math:`g` the model's own head,

    p⁽ˡ⁾(w) = softmax_w( g(h⁽ˡ⁾) )

which for the last layer is the model's answer. The head was trained for the last layer's states alone, so an early
answer is a reading, not a prediction that anybody asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from core.checkpoints.spec import Checkpoint
from core.errors import InputUnusable
from core.language.fill_mask import HEADS, MaskedText
from core.language.langs import own_language
from core.language.tokens import label


@dataclass(frozen=True, slots=True)
class LayerGuess:
    """The most probable words at one masked position after one layer."""

    layer: int
    """Counted from 1; 0 stands for the embeddings, before any layer."""
    tokens: tuple[str, ...]
    probabilities: tuple[float, ...]


def guesses_by_layer(checkpoint: Checkpoint, masked: MaskedText, k: int = 3) -> tuple[LayerGuess, ...]:
    """For the first mask of ``masked``, the ``k`` best guesses after each layer, embeddings first.

    :raises InputUnusable: no mask, or a head that does not work on single positions.
    """
    import torch

    model: Any = checkpoint.model
    head = HEADS.get(model.config.model_type)
    if head is None:
        raise InputUnusable(f"{checkpoint.spec.name} has no head that can be put after each layer.")
    if not masked.positions:
        raise InputUnusable("There is no mask in this text. Type [MASK] in place of a word.")
    ids = torch.tensor([masked.ids])
    with torch.inference_mode():
        states = model.base_model(input_ids=ids, output_hidden_states=True, **own_language(model, ids)).hidden_states
        out = []
        for layer, state in enumerate(states):
            best = head(model, state[:, [masked.positions[0]]])[0, 0].float().softmax(-1).topk(k)
            words = tuple(label(checkpoint.tokenizer, i) for i in best.indices.tolist())
            out.append(LayerGuess(layer, words, tuple(best.values.tolist())))
    return tuple(out)
