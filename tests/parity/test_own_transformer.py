"""The Transformer of 2017 as built here: its parameters by hand and against its paper's table 3; mT5's own output."""

from __future__ import annotations

from typing import Any

import pytest

from core.anatomy.build import build_model, describe


def shaped(layers: int = 6, d: int = 512, ff: int = 2048, h: int = 8, vocabulary: int = 37000) -> dict[str, Any]:
    """The paper's letters as fields of Marian's configuration."""
    sides = {
        f"{side}_{name}": value
        for side in ("encoder", "decoder")
        for name, value in (("layers", layers), ("ffn_dim", ff), ("attention_heads", h))
    }
    return sides | {"d_model": d, "vocab_size": vocabulary, "pad_token_id": 0, "decoder_start_token_id": 0}


def counted(**sizes: int) -> int:
    return describe(build_model("Transformer2017", "MarianConfig", shaped(**sizes))).parameters


def test_base_counts_what_its_formula_says() -> None:
    attention, feed_forward, norm = 4 * 512 * 512, 2 * 512 * 2048 + 2048 + 512, 2 * 512
    encoder = attention + feed_forward + 2 * norm
    decoder = 2 * attention + feed_forward + 3 * norm
    assert counted() == 37000 * 512 + 6 * (encoder + decoder) == 63_045_632


TABLE_3 = [
    ({}, 65),
    ({"layers": 2}, 36),
    ({"layers": 4}, 50),
    ({"layers": 8}, 80),
    ({"d": 256}, 28),
    ({"d": 1024}, 168),
    ({"ff": 1024}, 53),
    ({"ff": 4096}, 90),
]
"""Variants of base in the paper's table 3, with their millions of parameters. Its rows with narrower keys, which the
module does not build, follow below by arithmetic."""


@pytest.mark.parametrize(("variant", "millions"), TABLE_3, ids=[str(variant or "base") for variant, _ in TABLE_3])
def test_41100_rows_give_table_3_and_37000_do_not(variant: dict[str, int], millions: int) -> None:
    assert round(counted(**variant, vocabulary=41_100) / 1e6) == millions
    assert round(counted(**variant) / 1e6) < millions


@pytest.mark.parametrize(("key_width", "millions"), [(16, 58), (32, 60)])
def test_narrower_keys_agree_too(key_width: int, millions: int) -> None:
    saved = 18 * 2 * 512 * 8 * (64 - key_width)  # queries and keys of 18 attentions
    assert round((counted(vocabulary=41_100) - saved) / 1e6) == millions
    assert round((counted() - saved) / 1e6) < millions


def test_no_vocabulary_outside_41004_to_41208_rows_gives_all_of_table_3() -> None:
    for rows, variant, millions in ((41_003, {"ff": 1024}, 53), (41_209, {"layers": 4}, 50)):
        assert round(counted(**variant, vocabulary=rows) / 1e6) != millions
    for rows in (41_004, 41_208):
        assert all(round(counted(**variant, vocabulary=rows) / 1e6) == millions for variant, millions in TABLE_3)


def test_big_wants_another_vocabulary() -> None:
    assert counted(d=1024, ff=4096, h=16) / 1e6 == pytest.approx(214.2, abs=0.05)
    assert counted(d=1024, ff=4096, h=16, vocabulary=41_100) / 1e6 == pytest.approx(218.4, abs=0.05)


def test_mt5s_output_matrix_is_its_own_and_the_librarys_is_not() -> None:
    tiny = {
        "num_layers": 1,
        "num_decoder_layers": 1,
        "d_model": 8,
        "d_ff": 16,
        "num_heads": 2,
        "d_kv": 4,
        "vocab_size": 50,
    }
    untied, tied = (
        describe(build_model(name, "MT5Config", tiny)).parameters
        for name in ("UntiedMT5", "MT5ForConditionalGeneration")
    )
    assert untied - tied == 50 * 8
