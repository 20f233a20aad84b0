r"""Heads switched off: a head's part of the joined heads is set to zero before the output's projection reads it.

.. math:: \mathrm{out} = [\,g_1 o_1; \dots; g_H o_H\,]\, W_O + b_O, \qquad o_h = A_h V_h,\; g_h \in \{0, 1\}

which is the same as zeros in the rows of :math:`W_O` that head h would meet (Michel et al. 2019, arXiv 1905.10650). Of
a layer with all heads off the bias :math:`b_O` is left, and what goes past the attention. Every row of a batch has
gates of its own, so that one pass tries as many choices as it has rows.

Of an architecture that stands in no table (`core.attention.architectures.hooks`) the zeros are put where the heads
leave the attention: what a model does with them before it projects, a gate or a norm of all heads, meets zeros.

XLNet's two streams run through the same heads, so there are three ways to be without one: in both streams (the kind
``encoder``), in the content stream alone (``decoder``) or in the query stream alone (``query``), as its maps are named.

Legend: R rows, H heads, n tokens, d width of a head.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from core.attention.architectures.hooks import AttentionCall, register_attention_hook
from core.attention.architectures.layout import AttentionLayer
from core.attention.architectures.vectors import attention_layers
from core.attention.trace import MapKind
from core.checkpoints.spec import Checkpoint
from core.errors import OutOfRange

if TYPE_CHECKING:
    from torch import Tensor


STREAMS: tuple[MapKind, ...] = ("decoder", "query")
"""The content stream and the query stream."""


class Head(NamedTuple):
    """One head of a model; layer and head from 0. Encoder-decoders and XLNets have three kinds, other models one."""

    kind: MapKind
    layer: int
    head: int


def heads_of(checkpoint: Checkpoint, kind: MapKind | None = None, layer: int | None = None) -> tuple[Head, ...]:
    """All heads of a checkpoint, of a kind of attention, of a layer; encoder, decoder, cross or query, from below.

    Raises:
        NoAttentionMatrix: it is not known where the architecture's heads are.
    """
    return tuple(
        Head(its_kind, its_layer, head)
        for (its_kind, its_layer), heads in _counts(checkpoint).items()
        if kind in (None, its_kind) and layer in (None, its_layer)
        for head in range(heads)
    )


def _counts(checkpoint: Checkpoint) -> dict[tuple[MapKind, int], int]:
    """How many heads each layer has, by kind and layer."""
    found = {
        (layer.kind, layer.layer): layer.heads for layers in attention_layers(checkpoint).values() for layer in layers
    }
    if checkpoint.spec.kind == "permutation-lm":
        found |= {(stream, layer): heads for stream in STREAMS for (_, layer), heads in found.items()}
    return found


def together(checkpoint: Checkpoint, heads: Collection[Head]) -> set[Head]:
    """``heads`` with those that would be off, at least in part, if one of them was: XLNet's in both streams and in one.

    Raises:
        NoAttentionMatrix: as :func:`heads_of`.
    """
    if checkpoint.spec.kind != "permutation-lm":
        return set(heads)
    return {
        Head(kind, layer, head)
        for own, layer, head in heads
        for kind in ((own, "encoder") if own in STREAMS else (own, *STREAMS))
    }


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
        every = attention_layers(checkpoint).values()
        self._heads = _counts(checkpoint)
        self._shut: dict[tuple[MapKind, int], Tensor] = {}  # (R, H) ones and zeros
        self._calls: dict[str, int] = {}
        by_path: dict[str, list[AttentionLayer]] = {}
        for found in every:
            for layer in found:
                by_path.setdefault(layer.path(layer.names.out) if layer.names.out else layer.module, []).append(layer)
        for path, shared in by_path.items():
            self._hang(model.get_submodule(path), path, shared)

    def _hang(self, module: Any, path: str, shared: Sequence[AttentionLayer]) -> None:
        """``shared`` are the layers that use this module, in the order of their calls."""
        if shared[0].names.score == "hooked":

            def hook(call: AttentionCall) -> Tensor:
                gate = self._gate(self._next(path, shared))
                return call.attention_output if gate is None else call.attention_output * gate[:, None, :, None]

            register_attention_hook(module, path, hook)
            return
        if shared[0].names.out:
            module.register_forward_pre_hook(
                lambda _, given: (self._gated(given[0], self._next(path, shared)), *given[1:])
            )
            return
        # XLNet projects inside a method, once for each of its streams; heads are an axis of what it is given
        project, own = module.post_attention, shared[0]
        asking: list[Tensor | None] = [None]  # what came into the query stream

        def gated(came: Tensor, mixed: Tensor, residual: bool = True) -> Tensor:
            for kind in {own.kind, "query" if came is asking[0] else "decoder"}:
                if (gate := self._shut.get((kind, own.layer))) is not None:  # type: ignore[arg-type]
                    mixed = mixed * gate[None, :, :, None]
            after: Tensor = project(came, mixed, residual)
            return after

        module.register_forward_pre_hook(lambda _, given: asking.__setitem__(0, given[1]))
        module.post_attention = gated

    def _next(self, path: str, shared: Sequence[AttentionLayer]) -> AttentionLayer:
        number = self._calls.get(path, 0)
        self._calls[path] = number + 1
        return shared[number % len(shared)]

    def _gate(self, layer: AttentionLayer) -> Tensor | None:
        return self._shut.get((layer.kind, layer.layer))

    def _gated(self, joined: Tensor, layer: AttentionLayer) -> Tensor:
        """(R, n, H d) with the parts of heads that are off set to zero."""
        gate = self._gate(layer)
        if gate is None:
            return joined
        parts = joined.unflatten(-1, (layer.heads, -1))  # type: ignore[no-untyped-call]
        through: Tensor = parts * gate.view(len(gate), *(1,) * (parts.dim() - 3), -1, 1)
        return through.flatten(-2)

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
