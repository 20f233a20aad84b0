r"""XLNet, and Transformer-XL as its class with causal attention (Dai et al. 2019; Yang et al. 2019).

.. math:: s_{ij} = \bigl( q_i \cdot k_j + q_i \cdot r_{i-j} + u \cdot k_j + v \cdot r_{i-j} + (q_i + w) \cdot g_{ij}
    \bigr) / \sqrt d

where :math:`r_{i-j}` is a projection of the sinusoid of the distance, :math:`g` a vector for "same" and one for
"another segment", and u, v, w are vectors of the head that every query shares. Keys and values are those of the memory
and the text. The query stream's state does not contain its own token; it has a row for each target, and its keys and
values are those of the content stream.

With targets the sites of a layer are of the kind ``decoder`` for the content stream and ``query`` for the other;
without them the one stream has the kind of the stack.

Legend: R rows, H heads, n tokens of the text, m targets, Q queries (n or m), K keys (memory and text), D distances, d
head dimension, w hidden size. Arguments of the library's modules have tokens before rows; sites do not.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from transformers.models.xlnet.modeling_xlnet import XLNetLayer, XLNetRelativeAttention

from core.run.attend import attend
from core.run.odd import TWO_STREAM
from core.run.run import CURRENT, Kind, Site


class RelativeAttention(XLNetRelativeAttention):  # type: ignore[misc]
    def forward(
        self,
        h: Tensor,
        g: Tensor | None,
        attn_mask_h: Tensor | None,
        attn_mask_g: Tensor | None,
        r: Tensor,
        seg_mat: Tensor | None,
        mems: Tensor | None = None,
        target_mapping: Tensor | None = None,
        output_attentions: bool = False,
    ) -> tuple[Any, ...]:
        """As the library's, but the query stream's weights have a row for each target, not for each token.

        Args:
            h: (n, R, w) the content stream; ``g`` is the query stream (m, R, w), None without targets.
            attn_mask_h: (n, K, R or 1, 1) 1 where the content stream may not attend, as ``attn_mask_g`` for the other.
            r: (D, R, w) sinusoids of the distances from K down.
            seg_mat: (n, K, R, 2) one-hot, whether query and key are in the same segment or not.
            mems: (K - n, R, w) states before the text.
            target_mapping: (m, n, R) one-hot, the position of each target.
        """
        source = h if mems is None or mems.dim() < 2 else torch.cat([mems, h])
        keys_values_distances = (
            torch.einsum("ibh,hnd->bnid", states, weight)
            for states, weight in ((source, self.k), (source, self.v), (r.type(self.r.dtype), self.r))
        )
        key, value, distance = keys_values_distances
        other = None if seg_mat is None else seg_mat[..., 1].permute(2, 0, 1) > 0

        def stream(states: Tensor, mask: Tensor | None, targets: Tensor | None = None) -> tuple[Tensor, Tensor]:
            """The output of a stream and its weights; ``targets`` (R, m) are the positions of its queries."""
            query = torch.einsum("ibh,hnd->bnid", states, self.q)
            allowed = None if mask is None else _rows(mask.permute(2, 3, 0, 1)[:, 0] <= 0, targets)[:, None]
            positions = torch.arange(len(h), device=h.device)[None] if targets is None else targets
            apart = None if other is None else _rows(other, targets)[:, None]
            z, weights = attend(
                self,
                query + self.r_w_bias[:, None] if CURRENT.get() is None else query,
                key,
                value,
                allowed,
                self.scale,
                dropout=self.dropout.p,
                terms=self._terms(query, key, distance, len(h) - positions, apart),
                content=TWO_STREAM[0],
            )
            return self.post_attention(states, z.transpose(0, 1)), weights.permute(2, 3, 0, 1)

        content, weights = stream(h, attn_mask_h)
        if g is None:
            return (content, None, *([weights] if output_attentions else []))
        with turn("query"):
            g = self._at("resid_pre", g)
            query, of_query = stream(g, attn_mask_g, None if target_mapping is None else target_mapping.argmax(1).T)
        return (content, query, *([(weights, of_query)] if output_attentions else []))

    def _terms(
        self, query: Tensor, key: Tensor, distance: Tensor, before: Tensor, apart: Tensor | None
    ) -> dict[str, Tensor]:
        """The terms (R, H, Q, K) beside the first one, scaled; without a run the two biases are added to the query, so
        that two products take the place of four.

        Args:
            distance: (R, H, D, d) projected.
            before: (R or 1, Q) the number of the distance from a query to the first key.
            apart: (R, 1, Q, K) True where a key is in another segment.
        """
        keys = key.shape[2]
        numbers = (before[..., None] + torch.arange(keys, device=key.device)).clamp(max=distance.shape[2] - 1)

        def by_key(products: Tensor) -> Tensor:
            """(R, H, Q, K) of products (R, H, Q or 1, D) with distances."""
            spread = products.expand(-1, -1, query.shape[2], -1)
            return spread.gather(-1, numbers[:, None].expand(*spread.shape[:3], -1))

        u, v = self.r_w_bias[:, None], self.r_r_bias[:, None]
        if CURRENT.get() is None:
            terms = {"position": by_key((query + v) @ distance.transpose(-1, -2)) * self.scale}
        else:
            sums = (
                by_key(query @ distance.transpose(-1, -2)),
                (u @ key.transpose(-1, -2)).expand(-1, -1, query.shape[2], -1),
                by_key(v @ distance.transpose(-1, -2)),
            )
            terms = dict(zip(TWO_STREAM[1:], (term * self.scale for term in sums), strict=True))
        if apart is not None:
            same, another = ((query + self.r_s_bias[:, None]) @ self.seg_embed.permute(1, 2, 0)).chunk(2, dim=-1)
            terms["segment"] = torch.where(apart, another, same) * self.scale
        return terms

    def post_attention(self, h: Tensor, attn_vec: Tensor, residual: bool = True) -> Tensor:
        """As the library's, with a site: (Q, R, w) from the heads' outputs (Q, R, H, d)."""
        projected = self._at("attn_out", torch.einsum("ibnd,hnd->ibh", attn_vec, self.o))
        projected = self.dropout(projected)
        normed: Tensor = self.layer_norm(projected + h if residual else projected)
        return normed

    def _at(self, name: str, states: Tensor) -> Tensor:
        """A site of this layer, of states (Q, R, w)."""
        run, place = CURRENT.get(), vars(self).get("_attends")
        if run is None or place is None:
            return states
        kind, (layer,) = place
        return run.at(Site(run.stream or kind, layer, name), states.transpose(0, 1)).transpose(0, 1)


def _rows(pairs: Tensor, targets: Tensor | None) -> Tensor:
    """(R, m, K) the rows ``targets`` (R, m) of pairs (R or 1, n, K), by default all."""
    return pairs if targets is None else pairs.take_along_dim(targets[..., None], 1)


@contextmanager
def turn(kind: Kind | None) -> Iterator[None]:
    """Within the block, sites are those of one of two streams."""
    run = CURRENT.get()
    if run is None:
        yield
        return
    before, run.stream = run.stream, kind
    try:
        yield
    finally:
        run.stream = before


class Layer(XLNetLayer):  # type: ignore[misc]
    def forward(
        self, output_h: Tensor, output_g: Tensor | None, *masks: Tensor | None, **more: object
    ) -> tuple[Any, ...]:
        """As the library's; both streams pass the same modules."""
        with turn(None if output_g is None else "decoder"):
            content, query, *weights = self.rel_attn(output_h, output_g, *masks, **more)
            content = self.ff(content)
        if query is not None:
            with turn("query"):
                query = self.ff(query)
        return content, query, *weights


OURS = {XLNetRelativeAttention: RelativeAttention, XLNetLayer: Layer}
