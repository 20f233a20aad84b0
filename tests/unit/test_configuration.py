"""The editor's network: counts by hand, and numbers that make none."""

from __future__ import annotations

import pytest

from core.anatomy.node import ModuleNode
from core.anatomy.roles import ATTENTION, EMBEDDINGS, FEED_FORWARD, HEAD, NORMS, by_role
from core.costs.blueprint import tree
from core.costs.configuration import Configuration, start
from core.errors import OutOfRange


def test_gpt_2_by_hand() -> None:
    d, v, n = 768, 50257, 1024
    root = tree(start("gpt-2", "small"))
    layer = 4 * d * d + 4 * d + 8 * d * d + 5 * d + 4 * d
    assert root.parameters == v * d + n * d + 12 * layer + 2 * d == 124_439_808
    shares = by_role(root)
    assert shares[EMBEDDINGS] == (v + n) * d
    assert shares[ATTENTION] == 12 * (4 * d * d + 4 * d)
    assert shares[FEED_FORWARD] == 12 * (8 * d * d + 5 * d)
    assert shares[NORMS] == 25 * 2 * d
    assert shares[HEAD] == 0  # the matrix that writes is the one that reads


def test_what_each_box_changes() -> None:
    configuration = start("gpt-2", "small")
    count = tree(configuration).parameters
    assert tree(configuration.changed(tied=False)).parameters - count == 50257 * 768
    assert tree(configuration.changed(vocabulary=50258)).parameters - count == 768
    assert tree(configuration.changed(layers=13)).parameters - count == 12 * 768**2 + 13 * 768
    assert tree(configuration.changed(shared=True)).parameters == count - 11 * (12 * 768**2 + 13 * 768)
    assert tree(configuration.changed(kv_heads=3)).parameters == count - 12 * 2 * (768 * 576 + 576)
    assert tree(configuration.changed(gated=True)).parameters - count == 12 * (3072 * 768 + 3072)
    assert tree(configuration.changed(scheme="rotary")).parameters == count - 1024 * 768
    # words of 128 numbers: V E + E d and a bias; the output matrix is then one of its own
    narrow = tree(configuration.changed(embedding=128)).parameters
    assert narrow == count - 50257 * 768 - 1024 * 640 + 50257 * 128 + 128 * 768 + 768 + 50257 * 768


def test_numbers_that_make_no_network_get_a_sentence() -> None:
    configuration = start("gpt-2", "small")
    with pytest.raises(OutOfRange, match="768 or 780 works"):
        configuration.changed(width=770)
    with pytest.raises(OutOfRange, match="Numbers that work: 1, 2, 3, 4, 6, 12"):
        configuration.changed(kv_heads=5)
    with pytest.raises(OutOfRange, match="at least 1"):
        configuration.changed(layers=0)
    with pytest.raises(OutOfRange, match="at least one decoder layer"):
        start("t5").changed(decoder_layers=0)
    assert configuration.changed(width=770, head_dim=64).dim == 64


def test_experts_and_latents_that_make_no_network_get_a_sentence() -> None:
    configuration = start("deepseek-v3")
    with pytest.raises(OutOfRange, match="cannot use 9 of 8 experts: choose 1 to 8"):
        configuration.changed(experts=8, active=9)
    with pytest.raises(OutOfRange, match="62 layers, more than the 61"):
        configuration.changed(dense=62)
    with pytest.raises(OutOfRange, match="shared parameters cannot be of two kinds"):
        configuration.changed(shared=True)
    assert configuration.changed(shared=True, dense=0).shared
    with pytest.raises(OutOfRange, match="not a multiple of 500 rows"):
        start("reformer").changed(axial=500)
    with pytest.raises(OutOfRange, match="7 layers, more than the 6"):
        start("reformer").changed(hashed=7)
    # with a latent, heads need not be a multiple of key-value heads
    assert configuration.changed(kv_heads=7).cached == 512 + 64
    assert start("mistral").cached == 2 * 8 * 128


def test_deepseek_s_layers_by_hand() -> None:
    d, heads = 7168, 128
    attention = d * 1536 + 1536 + 1536 * heads * 192 + d * 576 + 512 + 512 * heads * 256 + heads * 128 * d
    moe = 257 * 3 * d * 2048 + 256 * d
    root = tree(start("deepseek-v3"))
    assert by_role(root)[ATTENTION] == 61 * (attention - 1536 - 512)
    assert by_role(root)[FEED_FORWARD] == 3 * 3 * d * 18432 + 58 * moe
    assert by_role(root)[NORMS] == 61 * (2 * d + 1536 + 512) + d


def test_adapters_and_the_first_layers() -> None:
    configuration = start("bert")
    assert tree(configuration.changed(adapter=64)).parameters - tree(configuration).parameters == 24 * (
        2 * 768 * 64 + 64 + 768
    )
    few = start("mistral").changed(experts=8, dense=30)
    assert [(child.name, child.repeat) for child in few_layers(few)] == [("0-29", 30), ("30-31", 2)]


def few_layers(one: Configuration) -> tuple[ModuleNode, ...]:
    result = tree(one).find("layers")
    return result.children
