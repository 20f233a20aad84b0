r"""Heads switched off: a head's part of the joined heads is set to zero before the output's projection reads it.

.. math:: \mathrm{out} = [\,g_1 o_1; \dots; g_H o_H\,]\, W_O + b_O, \qquad o_h = A_h V_h,\; g_h \in \{0, 1\}

which is the same as zeros in the rows of :math:`W_O` that head h would meet (Michel et al. 2019, arXiv 1905.10650). Of
a layer with all heads off the bias :math:`b_O` is left, and what goes past the attention. Every row of a batch has
gates of its own, so that one pass tries as many choices as it has rows.

Legend: R rows, H heads, n tokens, d width of a head.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from core.attention.architectures.layout import Place, places
from core.attention.trace import MapKind
from core.checkpoints.spec import Checkpoint
from core.errors import OutOfRange

if TYPE_CHECKING:
    from torch import Tensor


class Head(NamedTuple):
    """One head of a model; layer and head from 0. An encoder-decoder has three kinds, every other model one."""

    kind: MapKind
    layer: int
    head: int


def heads_of(checkpoint: Checkpoint, kind: MapKind | None = None, layer: int | None = None) -> tuple[Head, ...]:
    """All heads of a checkpoint, of a kind of attention, of a layer; encoder, decoder, cross, from below.

    Raises:
        NoAttentionMatrix: it is not known where the architecture's heads are.
    """
    return tuple(
        Head(place.kind, place.layer, head)
        for found in places(checkpoint).values()
        for place in found
        if kind in (None, place.kind) and layer in (None, place.layer)
        for head in range(place.heads)
    )


def check(heads: Collection[Head], every: Collection[Head]) -> None:
    """Raises :class:`OutOfRange` for a head that is not among ``every`` head of a model."""
    for head in heads:
        if head not in every:
            raise OutOfRange(
                f"This model has no head {head.head + 1} in layer {head.layer + 1} of its {head.kind} attention."
            )


class Gates:
    """The heads of a model of one's own, all on at first."""

    def __init__(self, model: Any, checkpoint: Checkpoint) -> None:
        every = places(checkpoint).values()
        self._heads = {(place.kind, place.layer): place.heads for found in every for place in found}
        self._shut: dict[tuple[MapKind, int], Tensor] = {}  # (R, H) ones and zeros
        self._calls: dict[str, int] = {}
        by_path: dict[str, list[Place]] = {}
        for found in every:
            for place in found:
                by_path.setdefault(place.path(place.names.out) if place.names.out else place.module, []).append(place)
        for path, shared in by_path.items():
            self._hang(model.get_submodule(path), path, shared)

    def _hang(self, module: Any, path: str, shared: Sequence[Place]) -> None:
        """``shared`` are the layers that use this module, in the order of their calls."""
        if shared[0].names.out:
            module.register_forward_pre_hook(lambda _, given: (self._gated(given[0], self._next(path, shared)),))
            return
        # XLNet projects inside a method, for both of its streams; heads are an axis of what it is given
        project = module.post_attention

        def gated(came: Tensor, mixed: Tensor, residual: bool = True) -> Tensor:
            gate = self._shut.get((shared[0].kind, shared[0].layer))
            after: Tensor = project(came, mixed if gate is None else mixed * gate[None, :, :, None], residual)
            return after

        module.post_attention = gated

    def _next(self, path: str, shared: Sequence[Place]) -> Place:
        number = self._calls.get(path, 0)
        self._calls[path] = number + 1
        return shared[number % len(shared)]

    def _gated(self, joined: Tensor, place: Place) -> Tensor:
        """(R, n, H d) with the parts of heads that are off set to zero."""
        gate = self._shut.get((place.kind, place.layer))
        if gate is None:
            return joined
        parts = joined.unflatten(-1, (place.heads, -1))  # type: ignore[no-untyped-call]
        through: Tensor = (parts * gate[:, None, :, None]).flatten(-2)
        return through

    def shut(self, off: Sequence[Collection[Head]]) -> None:
        """From now on row r of every batch runs without the heads ``off[r]``."""
        import torch

        self._shut.clear()
        self._calls.clear()
        for row, heads in enumerate(off):
            for kind, layer, head in heads:
                if (kind, layer) not in self._shut:
                    self._shut[kind, layer] = torch.ones(len(off), self._heads[kind, layer])
                self._shut[kind, layer][row, head] = 0
