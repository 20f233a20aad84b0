"""Kept trees: counted by hand, complete, explained, printed as the source prints them, and walked as data."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from core import anatomy, catalogue
from core.anatomy import store
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
    role_of,
    roles,
)
from core.anatomy.store import explain, explanations, printed
from core.errors import NoArchitecture, OutOfRange, UnknownSystem

ALL = [(system.slug, size.name) for system in catalogue.systems() for size in system.sizes]


def stored() -> dict[str, set[str]]:
    return {
        path.stem: set(json.loads(path.read_text(encoding="utf-8")))
        for path in store.FOLDER.glob("*.json")
        if path.stem != store.SOURCE
    }


def test_every_size_of_every_system_is_kept_and_nothing_else() -> None:
    assert stored() == {
        system.slug: {size.name for size in system.sizes} for system in catalogue.systems() if system.sizes
    }


# BERT-base: embeddings (30522 + 512 + 2) x 768 + norm 2 x 768; a layer 4 (768^2 + 768) + 2 x 768 x 3072 + 3072 + 768
# + two norms; pooler 768^2 + 768.
BERT_BASE = 31036 * 768 + 1536 + 12 * (4 * 590592 + 2 * 768 * 3072 + 3840 + 3072) + 590592
# GPT-2: (50257 + 1024) x 768, a layer 12 x 768^2 + 13 x 768, the last norm; the head is the embedding.
GPT_2 = 51281 * 768 + 12 * (12 * 768**2 + 13 * 768) + 1536
# GPT-3: the same with 2048 positions, 96 layers of width 12288.
GPT_3 = (50257 + 2048) * 12288 + 96 * (12 * 12288**2 + 13 * 12288) + 2 * 12288
# ALBERT-base: embeddings at width 128, the map to 768, one layer for all depths, pooler.
ALBERT_BASE = (30000 + 512 + 2) * 128 + 256 + 128 * 768 + 768 + (4 * 590592 + 4718592 + 3840 + 3072) + 590592
# ELMo: a row of 16 numbers a character; convolutions over 1 to 7 letters, 2,048 filters; two highways of two maps; a
# projection; four LSTMs with 4 gates, one bias and a projection each; a weight a layer and a scale.
FILTERS = {1: 32, 2: 32, 3: 64, 4: 128, 5: 256, 6: 512, 7: 1024}
ELMO = 262 * 16 + sum(16 * width * n + n for width, n in FILTERS.items()) + 2 * 2 * (2048**2 + 2048) + 2048 * 512 + 512
ELMO += 4 * ((512 + 512) * 4 * 4096 + 4 * 4096 + 4096 * 512) + 3 + 1
# ModernBERT: no biases but the last; the gated part has 3 x 1152 x 768; two norms a layer, one in the first, and 3.
MODERNBERT = 50368 * 768 + 22 * (4 * 768**2 + 3 * 1152 * 768) + (2 * 22 - 1 + 3) * 768 + 768**2 + 50368
# CLIP ViT-B/32: two towers of 12 layers with biases, a square has 3 x 32 x 32 numbers, two projections.
CLIP_TEXT = (49408 + 77) * 512 + 12 * (12 * 512**2 + 13 * 512) + 2 * 512
CLIP_IMAGE = 3 * 32**2 * 768 + (1 + 50) * 768 + 12 * (12 * 768**2 + 13 * 768) + 4 * 768
CLIP = CLIP_TEXT + CLIP_IMAGE + 512 * 512 + 768 * 512 + 1
# T5-base: 32128 x 768 once; encoder and decoder layers without biases; a table of 32 x 12 distances for each stack.
T5_BASE = 32128 * 768 + 12 * (4 + 8) * 768**2 + 12 * (8 + 8) * 768**2 + 2 * 32 * 12 + (12 * 2 + 12 * 3 + 2) * 768


@pytest.mark.parametrize(
    ("slug", "size", "by_hand", "published_sum"),
    [
        ("bert", "base", BERT_BASE, 109_482_240),
        ("gpt-2", "small", GPT_2, 124_439_808),
        ("gpt-3", "175B", GPT_3, 174_604_259_328),
        ("albert", "base", ALBERT_BASE, 11_683_584),
        ("t5", "base", T5_BASE, 222_903_552),
        ("elmo", "original", ELMO, 93_600_868),
        ("modernbert", "base", MODERNBERT, 149_655_232),
        ("clip", "ViT-B/32", CLIP, 151_277_313),
    ],
)
def test_counts_by_hand(slug: str, size: str, by_hand: int, published_sum: int) -> None:
    assert by_hand == published_sum
    assert anatomy.counts(slug)[size] == by_hand
    assert anatomy.tree(slug, size).parameters == by_hand


@pytest.mark.parametrize(("slug", "size"), ALL)
def test_roles_add_up_and_leave_nothing_over(slug: str, size: str) -> None:
    root = anatomy.tree(slug, size)
    assert sum(by_role(root).values()) == root.parameters
    # of another kind: DeBERTa v2's convolution beside the first layer, the first vector of XLNet's query stream
    by_path = roles(root)
    others = {path for path, node, _ in root.walk() if node.own and by_path[path] is None}
    assert (by_role(root)[OTHER] > 0) == bool(others)
    if slug == "elmo":  # recurrence is none of the roles, nor is the mix of layers
        assert {path.partition(".")[0] for path in others} == {"left_to_right", "right_to_left", "mix"}
    elif slug == "clip":
        assert others == {""}  # the temperature
    else:
        assert others <= {"encoder.conv.conv", "transformer"}


def test_every_class_in_the_trees_is_explained() -> None:
    classes = {node.cls for slug, size in ALL for _, node, _ in anatomy.tree(slug, size).walk()}
    assert not sorted(cls for cls in classes if explain(cls) is None)


def test_every_letter_of_a_formula_is_named() -> None:
    for cls, explanation in explanations().items():
        assert (explanation.formula is None) == (explanation.where is None), cls
        if explanation.formula is None or explanation.where is None:
            continue
        words = re.sub(
            r"_(\{\\text\{\w+\}\}|\{[^{}]*\}|\w)|\\text\{[^}]*\}|\\operatorname\{\w+\}|\\[a-zA-Z]+",
            " ",
            explanation.formula,
        )
        letters = set(re.findall(r"[a-zA-Z]", words)) - {"e", "l"}  # Euler's number, the number of a layer
        named = set(re.findall(r"(?<![a-zA-Z])[a-zA-Z](?![a-zA-Z])", explanation.where))
        if "=" in explanation.formula:  # what a formula defines needs no second name
            named |= set(re.findall(r"(?:^|\\\\ )([a-zA-Z])[^\\]*=", explanation.formula))
        assert letters <= named, (cls, letters - named)


def test_a_system_without_a_published_architecture_says_so() -> None:
    """GPT-4's report withholds even the size: no tree, no count, whatever size is asked for."""
    for size in (None, "175B"):
        with pytest.raises(NoArchitecture, match="No architecture of GPT-4 was published"):
            anatomy.tree("gpt-4", size)
    assert anatomy.counts("gpt-4") == {}


def test_experts_are_counted_and_a_token_uses_few_of_them() -> None:
    """DeepSeek-V3: the first 3 layers are dense; of 256 experts of 3 x 7168 x 2048 in the others a token uses 8."""
    root = anatomy.tree("deepseek-v3")
    layers = root.find("model.layers")
    assert [(child.name, child.repeat) for child in layers.children] == [("0-2", 3), ("3-60", 58)]
    experts = root.find("model.layers.3-60.mlp.experts")
    assert experts.own == 256 * 3 * 7168 * 2048
    assert root.parameters - 58 * 248 * 3 * 7168 * 2048 == 37_552_282_624
    qwen = anatomy.tree("qwen", "3-235B-A22B")
    assert qwen.parameters - 94 * 120 * 3 * 4096 * 1536 == 22_190_763_520


def test_mamba_by_hand_and_without_attention() -> None:
    """Tokens once; a layer: in 2 x 2d, convolution 4 + bias, x to dt, B and C, dt up, A and D, out, one norm."""
    width, inner, state, rank = 768, 1536, 16, 48
    mixer = width * 2 * inner + inner * 4 + inner + inner * (rank + 2 * state) + rank * inner + inner
    mixer += inner * state + inner + inner * width
    root = anatomy.tree("mamba", "130M")
    assert root.parameters == 50280 * width + 24 * (mixer + width) + width
    shares = by_role(root)
    assert shares[STATE_SPACE] == 24 * mixer
    assert shares[ATTENTION] == shares[FEED_FORWARD] == 0


def test_dall_e_by_hand_and_its_masks_in_the_tree() -> None:
    """64 layers of 12 d² + 13 d, a last norm, embeddings of both token kinds and their positions, a head for each."""
    d = 3968
    tables = 16384 + 256 + 256 + 8192 + 32 + 32
    heads = (16384 + 8192) * (d + 1)
    root = anatomy.tree("dall-e", "12B")
    assert root.parameters == 64 * (12 * d * d + 13 * d) + 2 * d + tables * d + heads
    masks = dict.fromkeys(("DallERowAttention", "DallEColumnAttention", "DallEConvolutionalAttention"), 0)
    for _, node, copies in root.walk():
        if node.name == "attention":
            assert node.extra == "heads=62"
            masks[node.cls] += copies
    assert list(masks.values()) == [47, 16, 1]


def test_unknown_names_get_a_sentence() -> None:
    with pytest.raises(UnknownSystem):
        anatomy.tree("no-such-system")
    with pytest.raises(UnknownSystem):
        anatomy.tree("../bert")
    with pytest.raises(OutOfRange, match="base, large"):
        anatomy.tree("bert", "huge")


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
    assert roles(root)["h.0-2"] is None
    assert roles(root)["h.0-2.norm"] == NORMS


def test_an_ancestor_decides_except_for_norms() -> None:
    assert role_of("output", "BertOutput", None) == FEED_FORWARD
    assert role_of("output", "BertSelfOutput", ATTENTION) == ATTENTION
    assert role_of("LayerNorm", "LayerNorm", ATTENTION) == NORMS
    assert role_of("relative_attention_bias", "Embedding", ATTENTION) == ATTENTION
    assert role_of("tokens_embed", "Embedding", None) == EMBEDDINGS
    assert role_of("layer", "ModuleList", None) is None


DATA = Path(__file__).parent / "data"
NORM = (r"(LayerNorm\(.*), bias=True\)$", r"\1)")
WORDS = {
    "bert": [NORM],
    "gpt-2": [NORM, (r"Conv1D\(.*\)$", "Conv1D()")],
    "bert2bert": [NORM, ("BertCrossAttention", "BertSelfAttention")],
    "t5": [],
}
"""What turns today's lines into those of the source."""
CUT, REPEATED = {"bert2bert": 11}, {"t5": 2}
"""Lines before the source's first one, and last lines that it prints twice (closing brackets not counted)."""


def transcribed(slug: str) -> list[str]:
    return (DATA / f"printed-{slug}.txt").read_text(encoding="utf-8").splitlines()


def as_printed(node: ModuleNode, words: list[tuple[str, str]], cut: int, repeated: int) -> list[str]:
    """The lines of a tree without indentation and without those that only close, changed as the notes say."""
    lines = [line.strip() for line in node.lines() if line.strip() != ")"]
    for pattern, replacement in words:
        lines = [re.sub(pattern, replacement, line) for line in lines]
    lines = lines[cut:]
    return lines + lines[len(lines) - repeated :]


@pytest.mark.parametrize("slug", sorted(WORDS))
def test_tree_is_the_printed_one_but_for_the_explained_differences_and_none_is_idle(slug: str) -> None:
    tree = anatomy.printed_tree(slug)
    assert tree.cls == printed()[slug].cls
    cut, repeated, words = CUT.get(slug, 0), REPEATED.get(slug, 0), WORDS[slug]
    assert as_printed(tree, words, cut, repeated) == transcribed(slug)
    fewer = [([other for other in words if other != word], cut, repeated) for word in words]
    fewer += [(words, 0, repeated)] * bool(cut) + [(words, cut, 0)] * bool(repeated)
    assert all(as_printed(tree, *word) != transcribed(slug) for word in fewer)
    assert len(printed()[slug].notes) == len(fewer) + 1  # and one on the scan


def test_sizes_of_the_transcriptions() -> None:
    """Lines that name a module: counted in the source by hand."""
    assert {slug: len(transcribed(slug)) for slug in printed()} == {"bert": 30, "gpt-2": 19, "bert2bert": 65, "t5": 104}


def test_a_system_that_the_source_does_not_print_has_no_printed_tree() -> None:
    assert anatomy.printed_tree("albert") is None
