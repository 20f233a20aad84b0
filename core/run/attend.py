r"""The attention of every model: one function, which transformers calls by its ``AttentionInterface``.

.. math:: A = \mathrm{softmax}(f\, Q K^\top + \textstyle\sum_t T_t + M), \qquad Z = A V

with the factor f, further terms T (T5's bias, those of DeBERTa and XLNet) and the mask M. Where a model has them, the
score passes a soft cap, :math:`c \tanh(s / c)`, and a sink takes a share of the softmax (Gemma 2, gpt-oss).

Legend: R rows, H heads, Q queries, K keys, d head dimension.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from core.lazy import Tensor, functional, torch, transformers
from core.run.model import Module
from core.run.run import CURRENT, Kind, Product, Run, Site

NAME = "atlas"
"""The name under which :func:`attend` is registered in transformers."""
MASKED = -1e4
"""The largest value of an attention mask at a masked key; what is larger is a bias."""


def register() -> None:
    """Make transformers know :func:`attend`, with the masks of its own eager attention."""
    from transformers.masking_utils import eager_mask

    transformers.AttentionInterface.register(NAME, attend)
    transformers.AttentionMaskInterface.register(NAME, eager_mask)


class Apart(NamedTuple):
    """Query rows with projections of their own: Longformer's global tokens."""

    at: Tensor
    """(g,) their positions, the same in every row of the batch."""
    query: Tensor
    """(R, H, g, d)."""
    key: Tensor
    """(R, H, K, d), as the value."""
    value: Tensor


def as_allowed(mask: Tensor) -> Tensor:
    """A mask that is added, or is True where a key may be attended to, as the latter."""
    return mask if mask.dtype == torch.bool else mask > MASKED


def attend(
    module: Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None = None,
    scaling: float | None = None,
    dropout: float = 0.0,
    position_bias: Tensor | None = None,
    softcap: float | None = None,
    s_aux: Tensor | None = None,
    terms: Mapping[str, Tensor] | None = None,
    content: str = "content",
    apart: Apart | None = None,
    **_: object,
) -> tuple[Tensor, Tensor]:
    """(R, Q, H, d) the heads' outputs, and (R, H, Q, K) the weights.

    Args:
        query: (R, H, Q, d).
        key: (R, H or fewer, K, d), as the values.
        s_aux: (H,) the sinks.
        attention_mask: broadcast to (R, H, Q, K): added to the scores, or True where a key may be attended to.
        terms: further summands of the score by name, scaled.
        content: the name of the first summand, the product of query and key.
        apart: rows whose query, key and value replace those of the others.
    """
    factor = query.shape[-1] ** -0.5 if scaling is None else scaling
    shared = key.shape[1] < query.shape[1]
    if shared:
        key, value = (part.repeat_interleave(query.shape[1] // key.shape[1], dim=1) for part in (key, value))
    extra_terms = dict(terms or {})
    run, place = CURRENT.get(), vars(module).get("_attends")
    if position_bias is not None and (place is None or place[0] != "cross" or bool(position_bias.any())):
        extra_terms["position"] = position_bias  # T5 gives zeros to its cross-attention
    if run is None or place is None:
        scores = _sum(_product(query, key, factor, softcap, apart), extra_terms)
        pattern = _softmax(_mask(scores, attention_mask), s_aux)
        if module.training:
            pattern = functional.dropout(pattern, p=dropout)
        if run is not None:
            run.unplaced.append((module, pattern))
        return _mixed(pattern, value, apart).transpose(1, 2).contiguous(), pattern
    kind, layers = place
    kind = run.stream or kind
    layer = run.layer_of(module, "attention", layers)

    def at(name: str, tensor: Tensor) -> Tensor:
        return run.at(Site(kind, layer, name), tensor) if name in run.names else tensor

    query, key, value = at("q", query), at("k", key), at("v", value)
    if apart is not None:
        apart = Apart(apart.at, at("q_global", apart.query), at("k_global", apart.key), at("v_global", apart.value))
    run.products[kind, layer] = Product(float(factor), softcap, shared, sinks=s_aux is not None)
    scores = _product(query, key, factor, softcap, apart)
    if run.names.isdisjoint(("terms", "scores")):
        scores = _sum(scores, extra_terms)
    else:
        summands = {content: scores, **extra_terms}
        edited = (run.at(Site(kind, layer, f"terms.{name}"), term) for name, term in summands.items())
        scores = run.at(Site(kind, layer, "scores"), sum(edited, start=next(edited))).clone()
    scores = _mask(scores, _seen(run, kind, layer, scores, attention_mask))
    pattern = at("pattern", _softmax(scores, s_aux))
    z = at("z", _mixed(pattern, value, apart).transpose(1, 2))
    return z.contiguous(), pattern


def _product(query: Tensor, key: Tensor, factor: float, softcap: float | None, apart: Apart | None) -> Tensor:
    scores: Tensor = query @ key.transpose(-1, -2)
    if factor != 1:
        scores.mul_(factor)
    if apart is not None:
        scores.index_copy_(-2, apart.at, apart.query @ apart.key.transpose(-1, -2) * factor)
    return (scores / softcap).tanh() * softcap if softcap else scores


def _sum(scores: Tensor, terms: Mapping[str, Tensor]) -> Tensor:
    """The sum with further terms, in place."""
    for term in terms.values():
        scores.add_(term)
    return scores


def _mixed(pattern: Tensor, value: Tensor, apart: Apart | None) -> Tensor:
    """(R, H, Q, d) the weighted sums of the values."""
    z = pattern @ value
    return z if apart is None else z.index_copy_(-2, apart.at, pattern[..., apart.at, :] @ apart.value)


def _mask(scores: Tensor, mask: Tensor | None) -> Tensor:
    """The scores, which are written to: a copy of those of a long text takes as long as their product."""
    if mask is None:
        return scores
    return scores.masked_fill_(~mask, torch.finfo(scores.dtype).min) if mask.dtype == torch.bool else scores.add_(mask)


def _softmax(scores: Tensor, sinks: Tensor | None) -> Tensor:
    if sinks is None:
        return scores.softmax(-1)
    beside = sinks.reshape(1, -1, 1, 1).expand(*scores.shape[:-1], 1)
    weights: Tensor = torch.cat([scores, beside], dim=-1).softmax(-1)[..., :-1]
    return weights


def _seen(run: Run, kind: Kind, layer: int, scores: Tensor, mask: Tensor | None) -> Tensor | None:
    """The mask of this call after its site, and what a mask adds beside it as the term ``mask``."""
    if run.names.isdisjoint(("terms", "mask")):
        return mask
    site, term = Site(kind, layer, "mask"), Site(kind, layer, "terms.mask")
    if mask is not None and mask.dtype != torch.bool and run.keeps(term):
        bias = mask.masked_fill(mask <= MASKED, 0.0)
        if bias.any():
            run.tensors[term] = bias.expand_as(scores)
    if not run.wants(site):
        return mask
    size = id(mask), *scores.shape[-2:]
    if size not in run.allowed:
        full = torch.ones(1, 1, *size[1:], dtype=torch.bool) if mask is None else as_allowed(mask)
        run.allowed[size] = mask, full
    allowed = run.allowed[size][1]
    edited = run.at(site, allowed)
    if edited is allowed:
        return mask
    if mask is None or mask.dtype == torch.bool:
        return edited
    return mask.masked_fill(mask <= MASKED, 0.0).masked_fill(~edited, torch.finfo(scores.dtype).min)
