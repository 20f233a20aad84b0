"""Module trees with parameter counts.

``tree("bert")`` and ``module_tree("bert")`` read a stored tree and need no torch; ``counts("bert")`` has the parameters
by size. ``module_tree(model)`` describes any module, ``module_tree("bert", live=True)`` builds the network. ``explain``
says what a class computes, ``roles`` what its parameters are for, ``notes`` how four trees differ from those that
source 000 prints.
"""

from __future__ import annotations

from core.anatomy.node import ModuleNode
from core.anatomy.store import counts, faults, module_tree, printed_tree, tree, trees

__all__ = ["ModuleNode", "counts", "faults", "module_tree", "printed_tree", "tree", "trees"]
