"""Module trees: what a network is made of, with every parameter counted.

``tree("bert")`` reads a kept tree and needs no torch, and so does ``module_tree("bert")``; ``counts("bert")`` gives the
parameters by size. ``module_tree(model)`` describes any module, ``module_tree("bert", live=True)`` builds the network
anew. ``explain`` says what a class computes, ``roles`` what its parameters are for, ``notes`` how four trees differ
from the ones that source 000 prints.
"""

from __future__ import annotations

from core.anatomy.node import ModuleNode
from core.anatomy.store import counts, faults, module_tree, printed_tree, tree, trees

__all__ = ["ModuleNode", "counts", "faults", "module_tree", "printed_tree", "tree", "trees"]
