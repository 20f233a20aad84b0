r"""XLNet and Transformer-XL from a recipe's ``[model]`` table, with a forward pass made for training.

Both are transformers' ``XLNetLMHeadModel`` and ship as such, XLNet (Yang et al., 2019) with ``attn_type="bi"``,
Transformer-XL (Dai et al., 2019) with ``"uni"``. A query at place :math:`i` scores the key at place :math:`j` by what
stands there and by the distance alone, with two learned vectors u, w for each head:

.. math::

    s_{ij} = \frac{(q_i + u)^\top k_j + (q_i + w)^\top W_r\, r_{i-j}}{\sqrt{d_h}}, \qquad
    r_t = [\sin(t / 10000^{2k/d}) ; \cos(t / 10000^{2k/d})]_k

The library computes the query stream at every place and projects :math:`r` anew for every row of the batch; here the
query stream is computed at the targets alone, and :math:`r` once. The scores are the same.
"""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from core.training import models

UNSEEN = -1e30
"""Added to the score of a key that a query cannot see."""
MATRICES = ("q", "k", "v", "o", "r")


def new_xlnet(settings: dict[str, Any], vocabulary: int, **special: int) -> Any:
    """transformers' class with random weights, dropout off; what neither model uses is zero and stays so.

    Args:
        settings: a recipe's ``[model]``; with ``mem_len``, the tokens of its memory, the model is a Transformer-XL.
        vocabulary: tokens.
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
    """Keeps a (width, heads, size) parameter as a matrix, which is what Muon takes."""

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.heads = heads

    def forward(self, matrix: Tensor) -> Tensor:
        return matrix.view(len(matrix), self.heads, -1)

    def right_inverse(self, parameter: Tensor) -> Tensor:
        return parameter.flatten(1)


def flatten(model: Any) -> Any:
    """Makes matrices of the model's attention parameters, in place; `whole` undoes it."""
    for layer in model.transformer.layer:
        for name in MATRICES:
            parametrize.register_parametrization(layer.rel_attn, name, Flat(model.config.n_head))
    return model


def whole(model: Any) -> Any:
    """A copy of a model, flattened or not, with the parameters that transformers gives it."""
    copied = type(model)(copy.deepcopy(model.config))
    own = copied.state_dict()
    state = {
        name.replace("parametrizations.", "").removesuffix(".original"): v for name, v in model.state_dict().items()
    }
    copied.load_state_dict({name: value.view(own[name].shape) for name, value in state.items()})
    return copied


def content(model: Any, ids: Tensor, memory: list[Tensor] | None = None) -> tuple[Tensor, list[Tensor]]:
    """A segment read from left to right after what is remembered.

    Args:
        ids: (rows, length).
        memory: for each layer (rows, remembered, width), or None for none.

    Returns:
        (rows, length, width) states, each of which knows its own token and those before it; the memory for the next
        segment, without slopes.
    """
    backbone = model.transformer
    states = backbone.word_embedding(ids)
    length, before = ids.shape[1], 0 if memory is None else memory[0].shape[1]
    table = backbone.relative_positional_encoding(length, before + length, device=ids.device)[:, 0]
    bias = UNSEEN * torch.ones(length, before + length, device=ids.device).triu(before + 1)
    cached: list[Tensor] = []
    for number, layer in enumerate(backbone.layer):
        keys = states if memory is None else torch.cat([memory[number], states], dim=1)
        cached.append(keys[:, -model.config.mem_len :].detach())
        states, _ = _layer(layer, states, None, keys, table, bias, None, None)
    return states, cached


def targets(model: Any, ids: Tensor, blind: Tensor, place: Tensor) -> Tensor:
    """The query stream at the targets, whose states know their positions but not what stands there.

    Args:
        ids: (rows, length).
        blind: (rows, length, length) True where a query cannot see a key; a content query sees itself all the same.
        place: (rows, targets) where they stand.

    Returns:
        (rows, targets, width).
    """
    backbone = model.transformer
    states = backbone.word_embedding(ids)
    rows, length = ids.shape
    queries: Tensor = backbone.mask_emb.expand(rows, place.shape[1], -1)
    table = backbone.relative_positional_encoding(length, length, device=ids.device)[:, 0]
    own = torch.eye(length, dtype=torch.bool, device=ids.device)
    bias = UNSEEN * (blind & ~own)[:, None].float()
    query_bias = UNSEEN * blind.gather(1, place[..., None].expand(-1, -1, length))[:, None].float()
    for layer in backbone.layer:
        states, queries = _layer(layer, states, queries, states, table, bias, query_bias, place)
    return queries


def _layer(
    layer: Any,
    states: Tensor,
    queries: Tensor | None,
    keys: Tensor,
    table: Tensor,
    bias: Tensor,
    query_bias: Tensor | None,
    place: Tensor | None,
) -> tuple[Tensor, Any]:
    """Both streams through one layer; keys and values are those of the content stream."""
    own = layer.rel_attn
    k, v = _heads(keys, own.k), _heads(keys, own.v)
    r = _heads(table[None], own.r)[0].transpose(1, 2)  # (heads, size, distances)

    def attend(hidden: Tensor, bias: Tensor, place: Tensor | None) -> Tensor:
        q = _heads(hidden, own.q)
        by_distance = ((q + own.r_r_bias[:, None]) * own.scale) @ r
        scores = ((q + own.r_w_bias[:, None]) * own.scale) @ k.transpose(2, 3)
        scores = scores + shifted(by_distance, keys.shape[1], place) + bias.to(scores.dtype)
        mixed = (scores.softmax(-1).to(v.dtype) @ v).transpose(1, 2).flatten(2)
        read: Tensor = layer.ff(own.layer_norm(mixed @ own.o.flatten(1).T + hidden))
        return read

    return attend(states, bias, None), None if queries is None else attend(queries, query_bias, place)  # type: ignore[arg-type]


def _heads(states: Tensor, matrix: Tensor) -> Tensor:
    """(rows, length, width) states to (rows, heads, length, size)."""
    heads, size = matrix.shape[1:]
    rows, length, _ = states.shape
    split: Tensor = (states @ matrix.flatten(1)).view(rows, length, heads, size).transpose(1, 2)
    return split


def shifted(scores: Tensor, keys: int, place: Tensor | None = None) -> Tensor:
    """Scores by distance as scores by key.

    Args:
        scores: (rows, heads, queries, distances), the first of which is the number of keys, each next one smaller by 1.
        keys: how many there are; the queries stand at the last places, or at ``place``.
        place: (rows, queries) places among the keys, or None.

    Returns:
        (rows, heads, queries, keys). A key at distance t finds the score in column ``keys - t``; what lies beyond the
        last column (only keys after the query, where the distances end at 0) is to be masked.
    """
    rows, heads, queries, distances = scores.shape
    if place is not None:
        column = keys - place[..., None] + torch.arange(keys, device=scores.device)
        return scores.gather(3, column[:, None].expand(rows, heads, queries, keys))
    # row i begins one column further left than row i - 1: with rows one number shorter, the same memory is shifted
    scores = scores.contiguous()
    size = queries * distances
    return scores.as_strided((rows, heads, queries, keys), (heads * size, size, distances - 1, 1), queries)
