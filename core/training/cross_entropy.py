r"""Cross-entropy of a linear output layer without ever holding its float32 scores.

For hidden states :math:`H` (n, d), output vectors :math:`W` (V, d), a bias :math:`b` (V,) where there is one and labels
:math:`y`, with :math:`P = \mathrm{softmax}(H W^\top + b)` row by row and :math:`Y` the labels one-hot:

.. math::

    L = -\tfrac{1}{n} \sum_i \log P_{i, y_i}, \qquad
    \partial L / \partial H = \tfrac{1}{n} (P - Y) W, \qquad
    \partial L / \partial W = \tfrac{1}{n} (P - Y)^\top H, \qquad
    \partial L / \partial b = \tfrac{1}{n} (P - Y)^\top 1

The gradient of the scores follows from the scores themselves, so it is formed in the forward pass, some rows at a time:
a float32 matrix of n × V and its copies would cost more than the products do on a processor.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

_ROWS = 256


class _LinearCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        labels: Tensor,
        dtype: torch.dtype,
        trained: bool,
    ) -> Tensor:
        states, vectors = hidden.to(dtype), weight.to(dtype)
        slopes = states.new_empty(len(states) if trained else 0, len(vectors))  # (n, V): P - Y
        of_bias = None if bias is None else torch.zeros(len(vectors), dtype=torch.float32, device=hidden.device)
        total = torch.zeros((), dtype=torch.float32, device=hidden.device)
        for start in range(0, len(states), _ROWS):
            rows = slice(start, start + _ROWS)
            scores = (states[rows] @ vectors.T).float()
            if bias is not None:
                scores += bias
            label = labels[rows, None]
            norm = scores.logsumexp(1, keepdim=True)
            total += (norm - scores.gather(1, label)).sum()
            if trained:
                probabilities = scores.sub_(norm).exp_()
                slopes[rows] = own = probabilities.scatter_add_(1, label, torch.full_like(norm, -1.0))
                if of_bias is not None:
                    of_bias += own.sum(0)
        if trained:
            ctx.save_for_backward(slopes @ vectors, slopes.T @ states, *([] if of_bias is None else [of_bias]))
        ctx.kinds, ctx.count = (hidden.dtype, weight.dtype, *([] if bias is None else [bias.dtype])), len(labels)
        return total / len(labels)

    @staticmethod
    def backward(ctx: Any, *outer: Tensor) -> tuple[Tensor, Tensor, Tensor | None, None, None, None]:
        factor = outer[0] / ctx.count
        of_hidden, of_weight, *rest = (
            (slope.float() * factor).to(kind) for slope, kind in zip(ctx.saved_tensors, ctx.kinds, strict=True)
        )
        return of_hidden, of_weight, rest[0] if rest else None, None, None, None


def linear_cross_entropy(hidden: Tensor, weight: Tensor, labels: Tensor, bias: Tensor | None = None) -> Tensor:
    """Mean cross-entropy in nats of the scores ``hidden @ weight.T + bias``; a scalar in float32.

    Args:
        hidden: (n, d) states. Under autocast the products are taken in its type.
        weight: (V, d) output vectors.
        labels: (n,) classes below V.
        bias: (V,), or None for none.
    """
    kind = hidden.device.type
    dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else hidden.dtype
    loss: Tensor = _LinearCrossEntropy.apply(hidden, weight, bias, labels, dtype, torch.is_grad_enabled())  # type: ignore[no-untyped-call]
    return loss
