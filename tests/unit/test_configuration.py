"""The editor's network: counts by hand, and numbers that make none."""

from __future__ import annotations

import pytest

from core.anatomy.roles import ATTENTION, EMBEDDINGS, FEED_FORWARD, HEAD, NORMS, by_role
from core.costs.blueprint import tree
from core.costs.start import start
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
    one = start("gpt-2", "small")
    count = tree(one).parameters
    assert tree(one.changed(tied=False)).parameters - count == 50257 * 768
    assert tree(one.changed(vocabulary=50258)).parameters - count == 768
    assert tree(one.changed(layers=13)).parameters - count == 12 * 768**2 + 13 * 768
    assert tree(one.changed(shared=True)).parameters == count - 11 * (12 * 768**2 + 13 * 768)
    assert tree(one.changed(kv_heads=3)).parameters == count - 12 * 2 * (768 * 576 + 576)
    assert tree(one.changed(gated=True)).parameters - count == 12 * (3072 * 768 + 3072)
    assert tree(one.changed(scheme="rotary")).parameters == count - 1024 * 768
    # words of 128 numbers: V E + E d and a bias; the output matrix is then one of its own
    narrow = tree(one.changed(embedding=128)).parameters
    assert narrow == count - 50257 * 768 - 1024 * 640 + 50257 * 128 + 128 * 768 + 768 + 50257 * 768


def test_numbers_that_make_no_network_get_a_sentence() -> None:
    one = start("gpt-2", "small")
    with pytest.raises(OutOfRange, match="768 or 780 would do"):
        one.changed(width=770)
    with pytest.raises(OutOfRange, match="These numbers would do: 1, 2, 3, 4, 6, 12"):
        one.changed(kv_heads=5)
    with pytest.raises(OutOfRange, match="at least 1"):
        one.changed(layers=0)
    with pytest.raises(OutOfRange, match="decoder's side"):
        start("t5").changed(decoder_layers=0)
    assert one.changed(width=770, head_dim=64).dim == 64
