"""What efficient systems save, and how the time of attention grows with the length."""

from __future__ import annotations

import pytest

from core import anatomy, catalogue
from core.catalogue.load import BadRecord, parse, read_text, shared
from core.catalogue.schema import SAVINGS
from core.costs import shape_of
from core.efficiency import saved


def test_scores_of_sparse_attention_are_those_of_its_layout() -> None:
    at = {slug: saved.score_count(catalogue.get(slug), 4096) for slug in ("longformer", "reformer", "mamba", "jamba")}
    # a window of 256 on both sides, cut at both ends, and one global token: its row, and its column in the other rows
    assert at["longformer"] == 4096 * 513 - 256 * 257 + (4096 - 257) * 2
    assert at["reformer"] == 4096 * 128  # its own chunk of 64 and the one before
    assert at["mamba"] == 0
    assert at["jamba"] == 4096**2 // 8
    big = saved.score_count(catalogue.get("bigbird"), 4096)
    # 64 blocks: 2 global rows of 64; 62 rows of 2 global, 3 window (2 at the ends of the text) and 3 random blocks
    assert big == 64 * 64 * (2 * 64 + 62 * 8 - 2)
    # 128 blocks of half the size, as in the live model
    assert saved.score_count(catalogue.get("bigbird"), 4096, 32) == 32 * 32 * (2 * 128 + 126 * 8 - 2)
    assert saved.score_count(catalogue.get("bigbird"), 256) == 256**2  # four blocks: everything is window or global


def test_a_memory_reaches_one_memory_further_with_each_layer() -> None:
    shape = shape_of("transformer-xl", "wikitext-103")
    assert shape is not None
    assert [saved.reach(shape, layers) for layers in (0, 1, 16)] == [150, 300, 17 * 150]


def test_albert_shares_one_layer_and_saves_no_operations() -> None:
    albert = saved.shared_layers(catalogue.get("albert"))
    assert albert is not None
    assert (albert.uses, albert.parameters) == (12, 11_683_584)
    assert albert.operations == pytest.approx(saved.teacher(catalogue.get("albert")).operations, rel=0.01)
    assert saved.shared_layers(catalogue.get("bert")) is None


def test_adapters_students_and_targets() -> None:
    bottleneck = 768 * 64 + 64 + 64 * 768 + 768
    assert saved.adapter_parameters(catalogue.get("adapter-bert")) == 24 * bottleneck
    student, teacher = saved.network(catalogue.get("distilbert")), saved.teacher(catalogue.get("distilbert"))
    assert (student.layers, teacher.layers) == (6, 12)
    assert student.operations / teacher.operations == pytest.approx(0.5, abs=0.01)
    assert saved.masked_targets(512) == 77


def test_tensor_parallelism_divides_the_states() -> None:
    memory = saved.degrees(catalogue.get("megatron-lm"))
    assert list(memory) == [1, 2, 4, 8]
    single, eight = (dict(memory[degree].parts) for degree in (1, 8))
    assert single["optimizer"] == 12 * anatomy.tree("megatron-lm").parameters
    assert eight["weights"] * 8 == single["weights"]
    assert eight["activations"] > single["activations"] / 8  # some stay whole


def test_every_saving_has_a_system_and_only_efficient_ones_have_one() -> None:
    assert {system.saves[0] for system in catalogue.by_branch("efficient")} == set(SAVINGS)
    text = read_text(catalogue.load.SYSTEMS / "albert.toml")
    common = shared()[0]
    with pytest.raises(BadRecord, match="saves: it says what"):
        parse(text.replace('saves = ["fewer parameters"]\n', ""), common, "albert.toml")
    with pytest.raises(BadRecord, match="fewer words"):
        parse(text.replace("fewer parameters", "fewer words", 1), common, "albert.toml")
