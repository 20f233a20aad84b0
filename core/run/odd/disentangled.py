r"""DeBERTa: a score is the sum of terms for content and for relative position (He et al. 2020, arXiv 2006.03654).

With content vectors :math:`H` and relative position embeddings :math:`P`, the score of query i and key j is

.. math:: s_{ij} = \frac{1}{\sqrt{3d}} \bigl( q_i \cdot k_j + q_i \cdot k^r_{\delta(i,j)} + q^r_{\delta(i,j)} \cdot
    k_j \bigr), \qquad q = H W_q,\; k = H W_k,\; q^r = P W^r_q,\; k^r = P W^r_k

content to content, content to position, position to content, with :math:`\delta(i,j) = i - j`, clipped to the table.
The paper indexes :math:`q^r` by :math:`\delta(j,i)`; its released models, and transformers, by :math:`\delta(i,j)`.
From version 2 on, :math:`W^r` may be the content's :math:`W` (``share_att_key``).

transformers gathers the entries of the last two terms one by one. Here they are a view (the relative shift of Dai et
al., 2019): in the (n, 2n) scores against sorted distances, each row is shifted by one column, so reading the memory
with rows of 2n - 1 aligns them. The values are identical, and the backward pass needs no scatter.

Legend: R rows, H heads, n tokens, d head dimension, w hidden size.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from transformers.models.deberta_v2.modeling_deberta_v2 import DisentangledSelfAttention, make_log_bucket_position

from core.run.attend import attend
from core.run.model import Module
from core.run.odd import COMPONENTS


def by_distance(scores: Tensor) -> Tensor:
    """(..., n, 2n) scores against distances to (..., n, n), whose entry (i, j) was in column ``j - i + n - 1``.

    The columns are distances in ascending or descending order, -(n - 1) to n - 1, and an unused one.
    """
    n = scores.shape[-2]
    flat = scores.flatten(-2)[..., n - 1 : n - 1 + n * (2 * n - 1)]
    rows = flat.view(*scores.shape[:-2], n, 2 * n - 1)
    return rows[..., :n]


def position_scores(query: Tensor, key: Tensor, attention: Module, table: Tensor) -> dict[str, Tensor]:
    """The terms c2p and p2c that the module's configuration has, each (R, H, n, n) and scaled.

    Args:
        query: (R, H, n, d) of the content, not scaled.
        key: likewise.
        table: (2 * span, w) embeddings of the distances, or of their buckets, from -span to span - 1.
    """
    n, span = query.shape[-2], len(table) // 2
    kinds = [kind for kind in COMPONENTS[1:] if kind in attention.pos_att_type]
    scale = 1 / math.sqrt((1 + len(kinds)) * query.shape[-1])
    rising = torch.arange(-(n - 1), n + 1, device=table.device)
    if getattr(attention, "position_buckets", 0) > 0:  # far distances share a vector
        rising = make_log_bucket_position(rising, attention.position_buckets, attention.max_relative_positions).long()
    near = table[(rising + span).clamp(0, 2 * span - 1)]
    terms: dict[str, Tensor] = {}
    for kind in kinds:
        shared, apart = ("key_proj", "pos_key_proj") if kind == "c2p" else ("query_proj", "pos_query_proj")
        projected = getattr(attention, shared if attention.share_att_key else apart)(near) * scale
        vectors = projected.view(2 * n, attention.num_attention_heads, -1).permute(1, 2, 0)
        if kind == "c2p":  # the distance i - j decreases with j and increases with i
            terms[kind] = by_distance(query @ vectors.flip(-1).roll(-1, -1))
        else:
            terms[kind] = by_distance(key @ vectors).transpose(-1, -2)
    return terms


class SelfAttention(DisentangledSelfAttention):  # type: ignore[misc]
    def forward(
        self,
        hidden_states: Tensor,
        attention_mask: Tensor,
        output_attentions: bool = False,
        query_states: Tensor | None = None,
        relative_pos: Tensor | None = None,
        rel_embeddings: Tensor | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """As the library's; it computes the relative positions that it is given by itself."""

        def split(states: Tensor) -> Tensor:
            return states.view(*states.shape[:-1], self.num_attention_heads, -1).transpose(1, 2)

        query = split(self.query_proj(hidden_states if query_states is None else query_states))
        key, value = split(self.key_proj(hidden_states)), split(self.value_proj(hidden_states))
        terms: dict[str, Tensor] = {}
        if self.relative_attention:
            assert rel_embeddings is not None
            table = self.pos_dropout(rel_embeddings)[: 2 * self.pos_ebd_size]
            terms = position_scores(query, key, self, table)
        factor = ((1 + len(self.pos_att_type)) * query.shape[-1]) ** -0.5
        z, weights = attend(
            self,
            query,
            key,
            value,
            attention_mask.bool(),
            factor,
            dropout=self.dropout.p,
            terms=terms,
            content="c2c" if terms else "content",
        )
        return z.flatten(2), weights if output_attentions else None


OURS = {DisentangledSelfAttention: SelfAttention}
