r"""Heads that transformers lacks: span boundaries, and the order of two texts.

SpanBERT's span-boundary objective (Joshi et al., 2020) predicts a masked token from both tokens beside its span:

.. math::

    y_i = f(h_{s-1}, h_{e+1}, p_{i-s+1}), \qquad f = g_2 \circ g_1, \quad
    g_k(x) = \mathrm{norm}(\mathrm{GELU}(W_k x))

with the last states of both boundaries and an embedding of the token's distance from the left one. The logits of
:math:`y_i` are those of the output layer that masked tokens have.

StructBERT's (Wang et al., 2020) is for two texts: B after A, before A, or from another text.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from transformers import BertForMaskedLM, BertForPreTraining

from core.run.model import Config

MOST = 24
"""Distances with an embedding of their own; further tokens have the last."""


class BoundaryHead(nn.Module):
    """The function f."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.distances = nn.Embedding(MOST, width)
        layers = (nn.Sequential(nn.Linear(n * width, width), nn.GELU(), nn.LayerNorm(width)) for n in (3, 1))
        self.layers = nn.Sequential(*layers)

    def forward(self, states: Tensor, rows: Tensor, left: Tensor, right: Tensor, distance: Tensor) -> Tensor:
        """(m, d) y of m tokens, from states (rows, n, d); the other arguments are (m,), the distance from 1."""
        near = self.distances(distance.clamp(max=MOST) - 1).to(states.dtype)
        result: Tensor = self.layers(torch.cat([states[rows, left], states[rows, right], near], dim=-1))
        return result


class BoundaryBert(BertForMaskedLM):  # type: ignore[misc]
    """BertForMaskedLM with a `BoundaryHead`."""

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self.boundary = BoundaryHead(config.hidden_size)


ORDERS = 3


class OrdersBert(BertForPreTraining):  # type: ignore[misc]
    """BertForPreTraining whose head for pairs has an output for each order."""

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self.cls.seq_relationship = nn.Linear(config.hidden_size, ORDERS)
