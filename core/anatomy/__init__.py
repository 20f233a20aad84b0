"""Module trees: what a network is made of, with every parameter counted.

``tree("bert")`` reads a kept tree and needs no torch; ``counts("bert")`` its parameters by size;
``module_tree("bert")`` or ``module_tree(model)`` builds or describes live. ``explain`` says what a class computes,
``roles`` what its parameters are for, ``notes`` how a tree differs from the one that source 000 prints.
"""

from __future__ import annotations

from core.anatomy.build import module_tree
from core.anatomy.keep import counts, printed_tree, tree
from core.anatomy.node import ModuleNode

__all__ = ["ModuleNode", "counts", "module_tree", "printed_tree", "tree"]
