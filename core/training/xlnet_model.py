r"""XLNet and Transformer-XL from a recipe's ``[model]`` table, with a faster forward pass for training.

Both are the ``XLNetLMHeadModel`` of transformers: XLNet (Yang et al., 2019) with ``attn_type="bi"``, Transformer-XL
(Dai et al., 2019) with ``"uni"``. The score of the query at position :math:`i` and the key at position :math:`j`
depends on the content and the distance, with two learned vectors u, w per head:

.. math::

    s_{ij} = \frac{(q_i + u)^\top k_j + (q_i + w)^\top W_r\, r_{i-j}}{\sqrt{d_h}}, \qquad
    r_t = [\sin(t / 10000^{2k/d}) ; \cos(t / 10000^{2k/d})]_k

The library computes the query stream at all positions and projects :math:`r` for every row of the batch; here the query
stream is computed at the targets alone, and :math:`r` once. The scores are equal.
"""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from core.training import models

BLOCKED = -1e30
"""Added to the score of a key that a query must not attend to."""
MATRICES = ("q", "k", "v", "o", "r")


def new_xlnet(settings: dict[str, Any], vocabulary: int, **special: int) -> Any:
    """An ``XLNetLMHeadModel`` with random weights and without dropout; unused parameters are zero and frozen.

    Args:
        settings: a recipe's ``[model]``; with ``mem_len``, the tokens of its memory, the model is a Transformer-XL.
        vocabulary: vocabulary size.
        special: ids of special tokens by the configuration's names.
    """
    has_memory = "mem_len" in settings
    model = models.new_model(
        settings,
        "CausalLM",
        vocab_size=vocabulary,
        attn_type="uni" if has_memory else "bi",
        mem_len=settings.get("mem_len"),
        use_mems_train=has_memory,
        use_mems_eval=has_memory,
        **special,
    )
    unused = [
        value for layer in model.transformer.layer for value in (layer.rel_attn.seg_embed, layer.rel_attn.r_s_bias)
    ]
    if has_memory:
        unused.append(model.transformer.mask_emb)
    for value in unused:
        nn.init.zeros_(value.requires_grad_(False))
    return model


class Flat(nn.Module):
    """Stores a (width, heads, size) parameter as a matrix, as Muon requires."""

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.heads = heads

    def forward(self, matrix: Tensor) -> Tensor:
        return matrix.view(len(matrix), self.heads, -1)

    def right_inverse(self, parameter: Tensor) -> Tensor:
        return parameter.flatten(1)


def flatten(model: Any) -> Any:
    """Parametrize the model's attention parameters as matrices, in place; `whole` undoes it."""
    for layer in model.transformer.layer:
        for name in MATRICES:
            parametrize.register_parametrization(layer.rel_attn, name, Flat(model.config.n_head))
    return model


def whole(model: Any) -> Any:
    """A copy of a model, flattened or not, with the parameters of transformers."""
    copied = type(model)(copy.deepcopy(model.config))
    own = copied.state_dict()
    state = {
        name.replace("parametrizations.", "").removesuffix(".original"): v for name, v in model.state_dict().items()
    }
    copied.load_state_dict({name: value.view(own[name].shape) for name, value in state.items()})
    return copied


def content(model: Any, ids: Tensor, memory: list[Tensor] | None = None) -> tuple[Tensor, list[Tensor]]:
    """The content stream of a segment, with causal attention and the memory of earlier segments.

    Args:
        ids: (rows, length).
        memory: for each layer (rows, remembered, width), if any.

    Returns:
        States (rows, length, hidden size), and the memory for the next segment, without gradients.
    """
    backbone = model.transformer
    states = backbone.word_embedding(ids)
    length, before = ids.shape[1], 0 if memory is None else memory[0].shape[1]
    table = backbone.relative_positional_encoding(length, before + length, device=ids.device)[:, 0]
    bias = BLOCKED * torch.ones(length, before + length, device=ids.device).triu(before + 1)
    cached: list[Tensor] = []
    for number, layer in enumerate(backbone.layer):
        keys = states if memory is None else torch.cat([memory[number], states], dim=1)
        cached.append(keys[:, -model.config.mem_len :].detach())
        states, _ = _layer(layer, states, None, keys, table, bias, None, None)
    return states, cached


def query_stream(model: Any, ids: Tensor, blocked: Tensor, positions: Tensor) -> Tensor:
    """The query stream at the targets, whose states depend on their positions but not on their tokens.

    Args:
        ids: (rows, length).
        blocked: (rows, length, length) True where a query must not attend to a key; in the content stream every query
            attends to its own position as well.
        positions: (rows, targets) of the targets.

    Returns:
        (rows, targets, width).
    """
    backbone = model.transformer
    states = backbone.word_embedding(ids)
    rows, length = ids.shape
    queries: Tensor = backbone.mask_emb.expand(rows, positions.shape[1], -1)
    table = backbone.relative_positional_encoding(length, length, device=ids.device)[:, 0]
    own = torch.eye(length, dtype=torch.bool, device=ids.device)
    bias = BLOCKED * (blocked & ~own)[:, None].float()
    query_bias = BLOCKED * blocked.gather(1, positions[..., None].expand(-1, -1, length))[:, None].float()
    for layer in backbone.layer:
        states, queries = _layer(layer, states, queries, states, table, bias, query_bias, positions)
    return queries


def _layer(
    layer: Any,
    states: Tensor,
    queries: Tensor | None,
    keys: Tensor,
    table: Tensor,
    bias: Tensor,
    query_bias: Tensor | None,
    positions: Tensor | None,
) -> tuple[Tensor, Any]:
    """Both streams through one layer; keys and values come from the content stream."""
    own = layer.rel_attn
    k, v = _heads(keys, own.k), _heads(keys, own.v)
    r = _heads(table[None], own.r)[0].transpose(1, 2)  # (heads, size, distances)

    def attend(hidden: Tensor, bias: Tensor, positions: Tensor | None) -> Tensor:
        q = _heads(hidden, own.q)
        by_distance = ((q + own.r_r_bias[:, None]) * own.scale) @ r
        scores = ((q + own.r_w_bias[:, None]) * own.scale) @ k.transpose(2, 3)
        scores = scores + shifted(by_distance, keys.shape[1], positions) + bias.to(scores.dtype)
        context = (scores.softmax(-1).to(v.dtype) @ v).transpose(1, 2).flatten(2)
        output: Tensor = layer.ff(own.layer_norm(context @ own.o.flatten(1).T + hidden))
        return output

    return attend(states, bias, None), None if queries is None else attend(queries, query_bias, positions)  # type: ignore[arg-type]


def _heads(states: Tensor, matrix: Tensor) -> Tensor:
    """Projects states (rows, length, hidden size) to (rows, heads, length, size)."""
    heads, size = matrix.shape[1:]
    rows, length, _ = states.shape
    split: Tensor = (states @ matrix.flatten(1)).view(rows, length, heads, size).transpose(1, 2)
    return split


def shifted(scores: Tensor, keys: int, positions: Tensor | None = None) -> Tensor:
    """Scores by distance, rearranged to scores by key (relative shift).

    Args:
        scores: (rows, heads, queries, distances), the distances decreasing from the number of keys in steps of 1.
        keys: the number of keys; the queries are at the last positions, or at ``positions``.
        positions: (rows, queries) of the queries among the keys.

    Returns:
        (rows, heads, queries, keys). The score of distance t is in column ``keys - t``; scores beyond the last column
        (keys after the query, where the distances end at 0) must be masked.
    """
    rows, heads, queries, distances = scores.shape
    if positions is not None:
        column = keys - positions[..., None] + torch.arange(keys, device=scores.device)
        return scores.gather(3, column[:, None].expand(rows, heads, queries, keys))
    # Row i starts one column further left than row i - 1: strides shorter by one value shift the same memory.
    scores = scores.contiguous()
    size = queries * distances
    return scores.as_strided((rows, heads, queries, keys), (heads * size, size, distances - 1, 1), queries)
