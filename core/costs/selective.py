r"""What a layer of Mamba keeps of a token for the way back (Gu & Dao 2023), counted as `core.costs.activations` counts.

With width d, inner width e, n states for each of the e channels and a step of rank r, in 16 bits a number:

    2 (2 d + 9 e + r + 2 n)  bytes

that is what came into the norm and what left it, and of the inner width what enters and leaves the convolution, what
the scan reads, its steps before and after they are made positive, what it gives, the gate before and after it is bent,
and their product; the states themselves, n e numbers a token, are computed again from what the scan reads.
"""

from __future__ import annotations

from math import prod

from core.anatomy.node import ModuleNode

_BYTES = 2


def kept_by_token(root: ModuleNode) -> float:
    """Bytes that all layers of a tree keep of one token; 0 for a tree without such layers."""
    kept = 0
    for _, node, copies in root.walk():
        inside = {child.name: child.tensors[0][1] for child in node.children if child.cls == "Linear"}
        if {"in_proj", "x_proj", "dt_proj"} <= inside.keys():
            width, inner = inside["in_proj"][1], inside["x_proj"][1]
            read = inside["x_proj"][0]  # r + 2 n
            kept += copies * (2 * width + 9 * inner + read)
    return float(_BYTES * kept)


def states_by_token(root: ModuleNode) -> float:
    """Bytes of the states of a token in all layers, if they were kept: n e numbers each."""
    found = 0
    for _, node, copies in root.walk():
        inside = {child.name: child.tensors[0][1] for child in node.children if child.cls == "Linear"}
        if {"in_proj", "x_proj", "dt_proj"} <= inside.keys():
            inner, rank = inside["dt_proj"]
            found += copies * prod((inner, (inside["x_proj"][0] - rank) // 2))
    return float(_BYTES * found)
