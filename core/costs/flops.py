"""Floating-point operations of a pass: 2N for the matrices, and the operations of attention.

    forward, per token    2 N + 2 · Σ over layers of  w_l · a · (d_k + d_v)
    training              three times that: the backward pass costs two forward passes

N counts the weights of every matrix that a token is multiplied with (twice where a matrix is applied twice, k / X of
the experts where a token is routed to k of X), without lookup tables. w_l is the number of keys a query attends to.
With a · d_k = a · d_v = d and full attention, the second term is 4 · L · s · d; then training is the 6N + 12LHQT of
Chowdhery et al. 2022, appendix B. All s × s scores count, causal or not, as a matrix product computes them. Norms,
softmax and activations are left out: they grow with the hidden size, not with its square.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import prod

from core.anatomy.node import ModuleNode
from core.costs.shape import Shape

TRAINING = 3
"""Operations of a training step, in forward passes."""

_LOOKED_UP = re.compile(r"\w*Embedding(s)?")
_ONCE = frozenset({"pooler", "seq_relationship"})
"""Modules that process one token per text."""
_GLOBAL = re.compile(r"(query|key|value)_global")
"""Longformer's second projections process global tokens alone."""
_CROSS = frozenset({"encoder_attn", "EncDecAttention", "crossattention"})
_KEYS_VALUES = frozenset({"k_proj", "v_proj", "k", "v", "key", "value"})
_NO_MATRIX = re.compile(r".*(bias|emb).*")


@dataclass(frozen=True, slots=True)
class Work:
    """Operations of one pass over one text."""

    matrices: float
    attention: float

    @property
    def total(self) -> float:
        return self.matrices + self.attention

    @property
    def training(self) -> Work:
        """The training step that has this forward pass, without recomputation."""
        return Work(TRAINING * self.matrices, TRAINING * self.attention)


def forward(shape: Shape, root: ModuleNode, tokens: int, source: int = 0) -> Work:
    """A pass over one text of ``tokens`` tokens; the encoder of an encoder-decoder reads ``source`` tokens besides."""
    weights = {"source": 0.0, "target": 0.0}  # N of a token of the encoder, and of one of the decoder
    _walk(root, shape, (), 1.0, weights)
    if not shape.two_sided:
        source = tokens
    matrices = 2 * (weights["source"] * source + weights["target"] * tokens)
    attention = 0.0
    for stack in shape.stacks:
        here = source if stack.side == "encoder" else tokens
        both = stack.heads * (stack.head_dim + stack.value_dim)
        attention += 2 * here * both * sum(stack.keys(here))
        if stack.cross:
            attention += 2 * here * both * source * stack.layers
    return Work(matrices, attention)


def _walk(node: ModuleNode, shape: Shape, path: tuple[str, ...], times: float, weights: dict[str, float]) -> None:
    times *= node.repeat
    if node.name in _ONCE or _GLOBAL.fullmatch(node.name) or _LOOKED_UP.fullmatch(node.cls):
        return
    if node.cls == "AlbertLayerGroup":
        times *= shape.uses
    if shape.experts and (node.cls.endswith("Experts") or node.name == "experts"):
        times *= shape.active / shape.experts
    for name, extents in node.tensors:
        if len(extents) > 1 and not _NO_MATRIX.fullmatch(name):
            weights[_side(path)] += times * prod(extents)
    for child in node.children:
        _walk(child, shape, (*path, child.name), times, weights)


def _side(path: tuple[str, ...]) -> str:
    """Whether a matrix multiplies tokens of the source or of the target; the target where its path names none."""
    if _CROSS & set(path) and path[-1] in _KEYS_VALUES:
        return "source"
    half = next((step for step in path if step in ("encoder", "decoder")), "decoder")
    return "source" if half == "encoder" else "target"
