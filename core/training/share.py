"""One layer of a BERT, and its word vectors factorised, as the start of an ALBERT (Lan et al., 2020).

With BERT's table of words :math:`W = U S V^T` (n, H), the E largest singular values give ALBERT's table and the matrix
that widens it,

.. math:: W' = U_E S_E \\in R^{n \\times E}, \\qquad M = \\sqrt{H / E}\\; diag(\\gamma) V_E \\in R^{H \\times E},

with :math:`\\gamma` the gain of BERT's norm over the embeddings. ALBERT norms its vectors before they are widened, at a
length of :math:`\\sqrt E` where BERT's have :math:`\\sqrt H`: hence the root. The norm lies elsewhere
and one layer does the work of all, so the model begins near BERT's words, not at BERT's answers.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor


def factorise(table: Tensor, width: int) -> tuple[Tensor, Tensor]:
    """The nearest product of rank ``width``: (n, width) and (width, H) with orthonormal rows.

    Args:
        table: (n, H).
        width: E, at most H.
    """
    left, values, right = torch.linalg.svd(table, full_matrices=False)
    return left[:, :width] * values[:width], right[:width]


@torch.no_grad()
def share(albert: Any, bert: Any, layer: int) -> None:
    """Gives an AlbertForPreTraining the embeddings of a BertForPreTraining, and its layer of that number, from 0."""
    own, theirs = albert.albert.embeddings, bert.bert.embeddings
    width, full = own.word_embeddings.embedding_dim, theirs.word_embeddings.embedding_dim
    words, basis = factorise(theirs.word_embeddings.weight, width)
    own.word_embeddings.weight.copy_(words)
    for name in ("position_embeddings", "token_type_embeddings"):
        getattr(own, name).weight.copy_(getattr(theirs, name).weight @ basis.T)
    widen = albert.albert.encoder.embedding_hidden_mapping_in
    widen.weight.copy_(math.sqrt(full / width) * theirs.LayerNorm.weight[:, None] * basis.T)
    widen.bias.copy_(theirs.LayerNorm.bias)
    shared, source = albert.albert.encoder.albert_layer_groups[0].albert_layers[0], bert.bert.encoder.layer[layer]
    attention = source.attention
    for mine, given in (
        (shared.attention.query, attention.self.query),
        (shared.attention.key, attention.self.key),
        (shared.attention.value, attention.self.value),
        (shared.attention.dense, attention.output.dense),
        (shared.attention.LayerNorm, attention.output.LayerNorm),
        (shared.ffn, source.intermediate.dense),
        (shared.ffn_output, source.output.dense),
        (shared.full_layer_layer_norm, source.output.LayerNorm),
    ):
        mine.load_state_dict(given.state_dict())
    albert.predictions.bias.copy_(bert.cls.predictions.bias)
