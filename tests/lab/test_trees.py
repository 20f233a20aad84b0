"""Module trees as they are stored."""

from __future__ import annotations

import json

from core.anatomy import store
from core.anatomy.node import ModuleNode
from lab.trees import pack


def test_pack_and_unpack_are_inverse() -> None:
    node = ModuleNode(
        "",
        "Net",
        "a=1",
        (
            ModuleNode(
                "0-1", "Part", "", repeat=2, tensors=(("w", (2, 3)), ("b", (3,))), ties=(("w", "x.w"),)
            ).counted(),
        ),
        buffers=(("ids", (1, 4)),),
    ).counted()
    assert node.parameters == 6
    assert store.unpack(json.loads(json.dumps(pack(node)))) == node
