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


class Hits:
    """Loss, and right guesses in percent, over batches."""

    def __init__(self) -> None:
        self.nats = 0.0
        self.first = self.near = self.total = 0

    def add(self, scores: Tensor, labels: Tensor) -> None:
        """Counts (n, V) scores against (n,) labels."""
        best = scores.topk(5).indices == labels[:, None]
        self.nats += float(functional.cross_entropy(scores.float(), labels, reduction="sum"))
        self.first += int(best[:, 0].sum())
        self.near += int(best.any(dim=1).sum())
        self.total += len(labels)

    def shares(self) -> dict[str, float]:
        """``loss`` in nats, ``top-1`` and ``top-5`` in percent."""
        loss, first, near = self.nats / self.total, 100 * self.first / self.total, 100 * self.near / self.total
        return {"loss": loss, "top-1": first, "top-5": near}
