"""Trees as data: printing, counting and walking, on small trees worked out by hand."""

from __future__ import annotations

from core.anatomy.node import ModuleNode
from core.anatomy.roles import (
    ATTENTION,
    EMBEDDINGS,
    FEED_FORWARD,
    HEAD,
    NORMS,
    OTHER,
    STATE_SPACE,
    by_role,
    parts,
    role_of,
)


def leaf(name: str, cls: str = "Linear", **fields: object) -> ModuleNode:
    return ModuleNode(name, cls, **{"extra": "", **fields}).counted()  # type: ignore[arg-type]


def small_tree() -> ModuleNode:
    """An embedding of 10 x 4, three equal layers (attention 4 x 4, feed-forward 8 x 4), a head tied to the first."""
    layer = ModuleNode(
        "0-2",
        "Layer",
        "",
        (
            leaf("attention", tensors=(("weight", (4, 4)), ("bias", (4,)))),
            leaf("mlp", tensors=(("weight", (8, 4)),)),
            leaf("norm", "LayerNorm", tensors=(("weight", (4,)),)),
        ),
        repeat=3,
    ).counted()
    table = leaf("wte", "Embedding", extra="10, 4", tensors=(("weight", (10, 4)),))
    head = leaf("lm_head", tensors=(("weight", (10, 4)), ("bias", (10,))), ties=(("weight", "wte.weight"),))
    layers = ModuleNode("h", "ModuleList", "", (layer,)).counted()
    return ModuleNode("", "Net", "", (table, layers, head)).counted()


def test_parameters_count_copies_and_leave_out_what_is_shared() -> None:
    root = small_tree()
    layer = root.find("h.0-2")
    assert layer.parameters == 16 + 4 + 32 + 4  # one copy
    assert layer.total == 3 * 56
    head = root.find("lm_head")
    assert head.parameters == 10  # the bias alone; the matrix is the embedding's
    assert head.ties == (("weight", "wte.weight"),)
    assert root.parameters == 40 + 3 * 56 + 10


def test_walk_gives_paths_and_copies() -> None:
    walked = {path: copies for path, _, copies in small_tree().walk()}
    assert walked["h.0-2.attention"] == 3
    assert walked["lm_head"] == 1
    assert list(walked)[:3] == ["", "wte", "h"]


def test_find_says_none_for_what_is_not_there() -> None:
    root = small_tree()
    assert root.find("") is root
    assert root.find("h.0-2.nothing") is None
    assert root.find("..") is None


def test_nearest_follows_a_path_as_far_as_it_goes() -> None:
    root = small_tree()
    assert root.nearest("h.0-2.mlp") == "h.0-2.mlp"
    assert root.nearest("h.0-11.mlp") == "h.0-2.mlp"  # another size of the same network
    assert root.nearest("h.0-2.crossattention.query") == "h.0-2"
    assert root.nearest("encoder.layer") == ""
    assert root.nearest("") == ""


def test_roles_by_hand() -> None:
    root = small_tree()
    expected = {
        EMBEDDINGS: 40,
        ATTENTION: 3 * 20,
        FEED_FORWARD: 3 * 32,
        STATE_SPACE: 0,
        NORMS: 3 * 4,
        HEAD: 10,
        OTHER: 0,
    }
    assert by_role(root) == expected
    assert sum(part.parameters for part in parts(root)) == root.total


def test_an_ancestor_decides_except_for_norms() -> None:
    assert role_of("output", "BertOutput", None) == FEED_FORWARD
    assert role_of("output", "BertSelfOutput", ATTENTION) == ATTENTION
    assert role_of("LayerNorm", "LayerNorm", ATTENTION) == NORMS
    assert role_of("relative_attention_bias", "Embedding", ATTENTION) == ATTENTION
    assert role_of("tokens_embed", "Embedding", None) == EMBEDDINGS
    assert role_of("layer", "ModuleList", None) is None
