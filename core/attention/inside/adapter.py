r"""The adapter of a sub-layer as its tensors: what a task adds to what the encoder's part made (Houlsby et al. 2019).

.. math:: U = Y W_d + b_d, \quad H = \mathrm{gelu}(U), \quad Y' = Y + H W_u + b_u

The norm that follows is the task's own, too. Legend: n tokens, w hidden width, m the bottleneck.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from core.attention.inside.steps import Part, Scene, Step, step

if TYPE_CHECKING:
    from torch import Tensor

_MODULES = ("down", "up", "norm")


def paths(task: str, layer: int) -> dict[str, str]:
    """Of a layer, from 0: for each of its sub-layers the path of the task's adapter in the whole model."""
    both = f"tasks.{task}.adapters."
    return {"attend": f"{both}{2 * layer}", "feed": f"{both}{2 * layer + 1}"}


def modules(task: str, layer: int) -> list[str]:
    """What is to be looked at while the task runs."""
    return [f"{path}.{name}" for path in paths(task, layer).values() for name in _MODULES]


def adapter(scene: Scene, part: Part, own: str, end: str, made: Tensor) -> Iterator[Step]:
    """What is added to ``made`` (n, w), and the sum.

    Args:
        own: path of the adapter.
        end: path of what ends the sub-layer; a tree writes its adapter below.
    """
    narrow = ("token", "bottleneck")
    down, bent, up = scene.out(f"{own}.down"), scene.into(f"{own}.up"), scene.out(f"{own}.up")
    at = f"{end}.adapter"
    yield step(part, "adapter: down", "U = Y W_d + b_d", down, narrow, "To the bottleneck.", f"{at}.down")
    yield step(part, "adapter: bent", r"H = \phi(U)", bent, narrow, "φ is gelu.", f"{at}.activation")
    yield step(part, "adapter: up", "H W_u + b_u", up, note="Back to the model's width.", path=f"{at}.up")
    yield step(part, "adapted", "Y' = Y + H W_u + b_u", made + up, note="The task's share is added.", path=at)
