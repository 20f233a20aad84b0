"""The smallest parts of a written tree: matrices, tables, norms, and what holds them. Shapes as torch keeps them."""

from __future__ import annotations

from core.anatomy.node import ModuleNode
from core.costs.styles import Style


def group(name: str, cls: str, *children: ModuleNode) -> ModuleNode:
    """A module that holds others."""
    return ModuleNode(name, cls, "", children).counted()


def table(name: str, rows: int, width: int) -> ModuleNode:
    """A table of vectors."""
    return ModuleNode(name, "Embedding", f"{rows}, {width}", tensors=(("weight", (rows, width)),)).counted()


def vectors(name: str, cls: str, *tensors: tuple[str, tuple[int, ...]]) -> ModuleNode:
    """A module with tensors of its own that are neither matrix nor table."""
    return ModuleNode(name, cls, tensors=tensors, extra="").counted()


def linear(name: str, out: int, into: int, bias: bool) -> ModuleNode:
    """A matrix from ``into`` to ``out`` numbers."""
    tensors: tuple[tuple[str, tuple[int, ...]], ...] = (("weight", (out, into)),)
    if bias:
        tensors += (("bias", (out,)),)
    return ModuleNode(name, "Linear", f"in_features={into}, out_features={out}, bias={bias}", tensors=tensors).counted()


def norm(name: str, width: int, style: Style) -> ModuleNode:
    """A norm of the style's kind."""
    tensors: tuple[tuple[str, tuple[int, ...]], ...] = (("weight", (width,)),)
    if style.norm_bias:
        tensors += (("bias", (width,)),)
    cls = "LayerNorm" if style.norm_bias or style.centred else "RMSNorm"
    return ModuleNode(name, cls, f"({width},)", tensors=tensors).counted()
