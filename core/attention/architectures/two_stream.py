r"""Attention with relative positions as Transformer-XL has it (Dai et al. 2019), in XLNet's form (Yang et al. 2019).

Token i scores token j by what both are, by how far apart they stand, and by whether they are of the same segment:

.. math:: s_{ij} = \frac{1}{\sqrt d} \bigl( (q_i + u) \cdot k_j + (q_i + v) \cdot r_{i-j} + (q_i + w) \cdot g_{ij}
    \bigr)

with :math:`r_{i-j}` a projection of the sinusoid of the distance, :math:`g` a vector for "same" and one for "another
segment", and u, v, w vectors of the head that every query shares. Of two streams the query stream asks with a state
that has not seen the token it stands at, and meets the same keys.

Legend: H heads, Q queries, K keys (what is remembered first), d width of a head.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, slots=True)
class Stream:
    """Queries, keys and values of one stream, and the terms of its scores; of the first row."""

    query: Tensor  # (H, Q, d), with u
    key: Tensor  # (H, K, d)
    value: Tensor  # (H, K, d)
    terms: dict[str, Tensor]  # (H, Q, K) each, scaled
    allowed: Tensor | None  # (H or 1, Q, K) True where a key may be attended to; None for everywhere


def stream(own: Any, inputs: dict[str, Any], *, query_stream: bool) -> Stream:
    """One call of transformers' XLNetRelativeAttention taken apart.

    Args:
        own: the module.
        inputs: its arguments by name.
        query_stream: the query stream instead of the content stream.
    """
    import torch

    content, memory = inputs["h"], inputs.get("mems")
    source = content if memory is None or memory.dim() < 2 else torch.cat([memory, content])
    query = torch.einsum("ibh,hnd->bnid", inputs["g"] if query_stream else content, own.q)
    if query_stream and inputs.get("target_mapping") is not None:
        query = torch.einsum("bnmd,mlb->bnld", query, inputs["target_mapping"])
    key, value = (torch.einsum("ibh,hnd->bnid", source, weight) for weight in (own.k, own.v))
    distance = torch.einsum("ibh,hnd->bnid", inputs["r"].type(own.r.dtype), own.r)
    terms = {
        "content": (query + own.r_w_bias[:, None]) @ key.transpose(-1, -2),
        "position": own.rel_shift_bnij((query + own.r_r_bias[:, None]) @ distance.transpose(-1, -2), klen=len(source)),
    }
    segment = inputs.get("seg_mat")
    if segment is not None:
        both = torch.einsum("bnid,snd->bnis", query + own.r_s_bias[:, None], own.seg_embed)
        terms["segment"] = torch.einsum("ijbs,bnis->bnij", segment, both)
    hidden = inputs["attn_mask_g" if query_stream else "attn_mask_h"]
    return Stream(
        (query + own.r_w_bias[:, None])[0],
        key[0],
        value[0],
        {name: term[0] * own.scale for name, term in terms.items()},
        None if hidden is None else (hidden <= 0).permute(2, 3, 0, 1)[0],
    )
