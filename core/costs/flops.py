"""How many multiplications and additions a pass takes: 2N for the matrices, and what attention adds.

    forward, for one token    2 N + 2 · Σ over layers of  w_l · a · (d_k + d_v)
    training                  three times that: the way back costs twice the way there

N counts the weights of every matrix that a token is multiplied with (twice where a matrix is used twice, a k-th of the
experts where a token uses a k-th), without the tables that are only looked up. w_l are the keys that a token looks at.
With a · d_k = a · d_v = d and full attention, the second term is 4 · L · s · d; with it, training is the 6N + 12LHQT of
Chowdhery et al. 2022, appendix B. All s × s scores count, as a product of matrices computes them, causal or not. Norms,
softmax and activations are left out: they grow with the width, not with its square.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import prod

from core.anatomy.node import ModuleNode
from core.costs.shape import Shape

TRAINING = 3
"""A step of training against a forward pass."""

_LOOKED_UP = re.compile(r"\w*Embedding(s)?")
_ONCE = frozenset({"pooler", "seq_relationship"})
"""Modules that see one token of the text."""
_GLOBAL = re.compile(r"(query|key|value)_global")
"""Longformer's second projections work only where a token looks everywhere."""
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
        """Both together."""
        return self.matrices + self.attention

    @property
    def training(self) -> Work:
        """A step of training where this is the forward pass, without recomputation."""
        return Work(TRAINING * self.matrices, TRAINING * self.attention)


def forward(shape: Shape, root: ModuleNode, tokens: int, source: int = 0) -> Work:
    """A pass over one text of ``tokens`` tokens; a network with two sides reads ``source`` tokens besides."""
    found = {"source": 0.0, "target": 0.0}  # N for one token that is read, and for one that is written
    _walk(root, shape, (), 1.0, found)
    if shape.kind != "encoder-decoder":
        source = tokens
    matrices = 2 * (found["source"] * source + found["target"] * tokens)
    attention = 0.0
    for stack in shape.stacks:
        here = source if stack.side == "encoder" else tokens
        both = stack.heads * (stack.head_dim + stack.value_dim)
        attention += 2 * here * both * sum(stack.keys(here))
        if stack.cross:
            attention += 2 * here * both * source * stack.layers
    return Work(matrices, attention)


def training(shape: Shape, root: ModuleNode, tokens: int, source: int = 0) -> Work:
    """A step of training on one text, without recomputation."""
    return forward(shape, root, tokens, source).training


def _walk(node: ModuleNode, shape: Shape, path: tuple[str, ...], times: float, found: dict[str, float]) -> None:
    times *= node.repeat
    if node.name in _ONCE or _GLOBAL.fullmatch(node.name) or _LOOKED_UP.fullmatch(node.cls):
        return
    if node.cls == "AlbertLayerGroup":
        times *= shape.uses
    if shape.experts and (node.cls.endswith("Experts") or node.name == "experts"):
        times *= shape.active / shape.experts
    for name, extents in node.tensors:
        if len(extents) > 1 and not _NO_MATRIX.fullmatch(name):
            found[_side(path)] += times * prod(extents)
    for child in node.children:
        _walk(child, shape, (*path, child.name), times, found)


def _side(path: tuple[str, ...]) -> str:
    """Which side's tokens a matrix is multiplied with. Without any sign, it belongs to what is written."""
    if _CROSS & set(path) and path[-1] in _KEYS_VALUES:
        return "source"
    half = next((step for step in path if step in ("encoder", "decoder")), "decoder")
    return "source" if half == "encoder" else "target"
