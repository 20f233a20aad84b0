"""DeBERTa's attention, faster to train: the scores of `core.attention.architectures.disentangled`, read off as views.

transformers looks up every pair's distance in both position terms, and on a processor the way back through that look-up
takes longer than the products. The weights and their names stay the library's, and what is shipped is its own class.
"""

from __future__ import annotations

from types import MethodType
from typing import Any

from torch import Tensor

from core.attention.architectures.disentangled import position_scores, supported


def hasten(model: Any) -> Any:
    """The model itself, its position terms computed by `position_scores` where `supported`."""
    if supported(model):
        for layer in model.base_model.encoder.layer:
            own = layer.attention.self
            own.disentangled_attention_bias = MethodType(_bias, own)
    return model


def _bias(own: Any, query: Tensor, key: Tensor, _: Tensor, table: Tensor, __: int) -> Tensor:
    """(rows * H, n, n) sum of both position terms, for the library's (rows * H, n, d) queries and keys."""
    shape = (-1, own.num_attention_heads, *query.shape[1:])
    to_position, from_position = position_scores(query.view(shape), key.view(shape), own, table)
    return (to_position + from_position).flatten(0, 1)
