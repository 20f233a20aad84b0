r"""Which part of a trained update to keep: the part that the loss would miss most.

A linear layer :math:`y = W x` turns an error :math:`E` of its weights into an error of its outputs. To second order,
and with the Kronecker-factored curvature of Martens and Grosse (2015), that costs the loss

.. math::

    \tfrac{1}{2} \operatorname{tr}(G E A E^\top), \qquad A = \mathbb{E}[x x^\top], \quad G = \mathbb{E}[g g^\top],

where :math:`g` is the slope of the loss at :math:`y` for labels drawn from the model's own distribution. With the
singular values of :math:`G^{1/2}\, \Delta W A^{1/2} = U S V^\top`, the cheapest update of rank :math:`r` is
:math:`G^{-1/2} U_r S_r V_r^\top A^{-1/2}`, and a value :math:`s` that is left out costs :math:`s^2 / 2`. Each direction
that is kept takes (out + in) numbers, so a budget of numbers goes to the directions with the largest
:math:`s^2 / (\text{out} + \text{in})`, whichever layer they belong to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

_DAMPING = 0.03
"""Share of the mean eigenvalue that is added to all: few batches do not know the small ones."""

Moments = tuple[Tensor, Tensor]
"""A (in, in) and G (out, out) of a layer."""


def moments(layers: Mapping[str, nn.Linear], losses: Iterable[Callable[[], Tensor]]) -> dict[str, Moments]:
    """A and G of each layer, summed over the positions of all batches.

    Args:
        layers: by name; their weights must take slopes.
        losses: each makes the summed loss of one batch, for labels drawn from the model.
    """
    found: dict[str, Moments] = {}

    def watch(name: str) -> Callable[[nn.Module, Any, Tensor], None]:
        def see(_: nn.Module, inputs: Any, output: Tensor) -> None:
            x = inputs[0].detach().flatten(0, -2).float()

            def slope(gradient: Tensor) -> None:
                g = gradient.flatten(0, -2).float()
                before = found.get(name, (0.0, 0.0))
                found[name] = (before[0] + x.T @ x, before[1] + g.T @ g)

            output.register_hook(slope)  # type: ignore[no-untyped-call]

        return see

    handles = [layer.register_forward_hook(watch(name)) for name, layer in layers.items()]
    for loss in losses:
        loss().backward()  # type: ignore[no-untyped-call]
    for handle in handles:
        handle.remove()
    for layer in layers.values():
        layer.zero_grad(set_to_none=True)
    return found


def _roots(moment: Tensor) -> tuple[Tensor, Tensor]:
    """Square root of a damped moment, and its inverse."""
    values, vectors = torch.linalg.eigh(moment.double())
    root = (values.clamp(min=0) + _DAMPING * values.mean()).sqrt()
    return ((vectors * root) @ vectors.T).float(), ((vectors / root) @ vectors.T).float()


def directions(update: Tensor, moment: Moments) -> tuple[Tensor, Tensor, Tensor]:
    """(out, k), (k,), (k, in): directions of an (out, in) update by falling worth, and the values s.

    The product ``left @ right`` of all of them is the update. Both vectors of a direction have the same length: an
    optimiser that takes equal steps in both would tear apart what is large on one side and small on the other.
    """
    root_in, back_in = _roots(moment[0])
    root_out, back_out = _roots(moment[1])
    u, values, v = torch.linalg.svd(root_out @ update.float() @ root_in, full_matrices=False)
    left, right = back_out @ u * values, v @ back_in
    even = (right.norm(dim=1) / left.norm(dim=0).clamp(min=1e-12)).sqrt()
    return left * even, values, right / even.clamp(min=1e-12)[:, None]


def allot(values: Mapping[str, Tensor], costs: Mapping[str, int], budget: int) -> dict[str, int]:
    """Directions to keep of each layer, at least one: the most worth for ``budget`` numbers.

    Args:
        values: falling values s of each layer.
        costs: numbers that one direction of the layer takes.
        budget: numbers in all.
    """
    ranks = dict.fromkeys(values, 1)
    left = budget - sum(costs.values())
    queue = sorted(
        (-(float(s) ** 2) / costs[name], place, name)
        for name, all_of in values.items()
        for place, s in enumerate(all_of)
    )
    for _, place, name in queue:
        if place == 0:
            continue
        left -= costs[name]
        if left < 0:
            break
        ranks[name] += 1
    return ranks
