r"""Attention sinks: what a key gets as weight, and what it gives as value.

A head adds to token i the sum of :math:`a_{ij} f(x_j)` over keys j, :math:`f(x) = x W_V W_O`. A key with a large weight
and a small norm of :math:`f(x_j)` adds little (Kobayashi et al. 2020, arXiv 2004.10102): a head that has nothing to say
can put its weight there, on the first token or a separator (Clark et al. 2019, arXiv 1906.04341; Xiao et al. 2023,
arXiv 2309.17453).

Legend: L layers, H heads, n tokens, d head dimension, w hidden size.
"""

from __future__ import annotations

from dataclasses import dataclass

from core.arrays import Floats
from core.attention.layers import plan_of, refuse
from core.checkpoints.spec import Checkpoint
from core.errors import NoAttentionMatrix
from core.language.makers import inputs
from core.language.types import labels
from core.lazy import nn, torch
from core.run.run import run


@dataclass(frozen=True, slots=True)
class Sinks:
    """Of the stack that reads the text; every share is of all keys of a head."""

    tokens: tuple[str, ...]
    special: tuple[int, ...]
    """Positions of special tokens."""
    weights: Floats
    """(L, H, n) the share of all weight that a key gets."""
    norms: Floats
    """(L, H, n) the norm of what each key's value gives: its output projection, before the weight."""
    added: Floats
    """(L, H, n) the mean norm of what a key adds to a query: weight times norm."""
    uniform: Floats
    """(n,) the share of weight that a key would get if every query spread its weight evenly over what it may see."""


def sinks(checkpoint: Checkpoint, text: str) -> Sinks:
    """Weights, norms of values and their products over ``text``.

    Raises:
        NoAttentionMatrix: queries, values or the output projection of this architecture are not known.
        InputEmpty, InputTooLong: as `core.language.makers.inputs`.
    """
    refuse(checkpoint.model.config.model_type)
    question = inputs(checkpoint, text, target="")
    plan = plan_of(checkpoint)
    kind = plan.stacks[0].kind
    layers = plan.layers.get(kind, ())
    if not layers or not layers[0].names.out:
        raise NoAttentionMatrix(
            f"What a value of {checkpoint.spec.name} adds is not known here. Models such as BERT, GPT-2 and T5 work."
        )
    recorded = run(checkpoint.model, question.tensors, keep={"pattern", "mask", "v"})
    weights, norms = [], []
    with torch.inference_mode():
        for layer in layers:
            value = recorded[kind, layer.layer, "v"][0]  # (H, K, d)
            projection = checkpoint.model.get_submodule(layer.path(layer.names.out))
            weight = projection.weight if isinstance(projection, nn.Linear) else projection.weight.T
            by_head = weight.view(weight.shape[0], value.shape[0], -1)
            norms.append(torch.einsum("hkd,whd->hkw", value, by_head).norm(dim=-1))
            weights.append(recorded[kind, layer.layer, "pattern"][0].mean(1))
        allowed = recorded[kind, 0, "mask"][0, 0].float()  # (Q, K)
    shares, sizes = torch.stack(weights).float().numpy(), torch.stack(norms).float().numpy()
    tokens = question.of_text
    return Sinks(
        labels(tokens),
        tuple(i for i, token in enumerate(tokens) if token.special),
        shares,
        sizes,
        shares * sizes,
        (allowed / allowed.sum(-1, keepdim=True)).mean(0).numpy(),
    )
