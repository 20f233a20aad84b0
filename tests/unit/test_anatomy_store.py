"""Kept trees: complete by discovery, counted by hand, explained, and shown without torch."""

from __future__ import annotations

import json
import re

import pytest

from core import anatomy, catalogue
from core.anatomy import store
from core.anatomy.node import ModuleNode
from core.anatomy.roles import ATTENTION, FEED_FORWARD, OTHER, STATE_SPACE, by_role, parts
from core.anatomy.texts import explain, explanations
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
    others = {part.path for part in parts(root) if part.role == OTHER}
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
    for cls, told in explanations().items():
        assert (told.formula is None) == (told.where is None), cls
        if told.formula is None or told.where is None:
            continue
        words = re.sub(
            r"_(\{\\text\{\w+\}\}|\{[^{}]*\}|\w)|\\text\{[^}]*\}|\\operatorname\{\w+\}|\\[a-zA-Z]+", " ", told.formula
        )
        letters = set(re.findall(r"[a-zA-Z]", words)) - {"e", "l"}  # Euler's number, the number of a layer
        named = set(re.findall(r"(?<![a-zA-Z])[a-zA-Z](?![a-zA-Z])", told.where))
        if "=" in told.formula:  # what a formula defines needs no second name
            named |= set(re.findall(r"(?:^|\\\\ )([a-zA-Z])[^\\]*=", told.formula))
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
    """64 layers of 12 d² + 13 d, a last norm, tables of both kinds of tokens and of their places, a head for each."""
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
    assert store.unpack(json.loads(json.dumps(store.pack(node)))) == node
