"""Trees against torch and transformers; our own classes and the Transformer of 2017, counted by hand."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest
import torch
import transformers
from torch import nn

from core import anatomy, catalogue
from core.anatomy.build import build_model, describe
from core.anatomy.own import ProjectedLSTM
from core.anatomy.store import FOLDER, SOURCE, printed
from core.costs.remarks import no_editor
from lab.trees import dump

TINY = {
    "BertModel": ("BertConfig", {"num_hidden_layers": 3, "hidden_size": 32, "num_attention_heads": 2}),
    "GPT2LMHeadModel": ("GPT2Config", {"n_layer": 2, "n_embd": 32, "n_head": 2}),
    "T5ForConditionalGeneration": ("T5Config", {"num_layers": 3, "d_model": 32, "d_ff": 64, "num_heads": 2, "d_kv": 8}),
    "AlbertModel": ("AlbertConfig", {"embedding_size": 16, "hidden_size": 32, "num_attention_heads": 2}),
    "XLMWithLMHeadModel": ("XLMConfig", {"emb_dim": 32, "n_layers": 3, "n_heads": 2, "vocab_size": 50}),
    "CTRLLMHeadModel": ("CTRLConfig", {"n_layer": 2, "n_embd": 32, "n_head": 2, "dff": 64, "vocab_size": 50}),
    "BigBirdForMaskedLM": ("BigBirdConfig", {"num_hidden_layers": 2, "hidden_size": 32, "num_attention_heads": 2}),
    "BartForConditionalGeneration": ("BartConfig", {"encoder_layers": 2, "decoder_layers": 2, "d_model": 32}),
    "EncoderDecoderModel": (
        "EncoderDecoderConfig",
        {
            "encoder": {"config": "BertConfig", "num_hidden_layers": 2, "hidden_size": 24},
            "decoder": {"config": "BertConfig", "num_hidden_layers": 2, "hidden_size": 24},
        },
    ),
}


@pytest.mark.parametrize("architecture", TINY)
def test_text_and_count_are_torchs_own(architecture: str) -> None:
    config, overrides = TINY[architecture]
    model = build_model(architecture, config, overrides)
    tree = anatomy.module_tree(model)
    assert tree.text() == str(model)
    assert tree.parameters == sum(tensor.numel() for tensor in model.parameters())


def test_kept_trees_equal_a_fresh_build_and_print_as_torch_prints() -> None:
    """A size of each architecture; others are held to their configuration by the editor, part by part."""
    architectures = set()
    for system in (system for system in catalogue.systems() if system.sizes):
        kept = json.loads((FOLDER / f"{system.slug}.json").read_text(encoding="utf-8"))
        assert [*kept] == [size.name for size in system.sizes]
        for size in (system.default_size, *system.sizes):
            if size.architecture in architectures and not no_editor(system.slug, size.name):
                continue
            architectures.add(size.architecture)
            model = build_model(size.architecture, size.config, size.overrides)
            tree = describe(model)
            assert kept[size.name] == json.loads(dump({size.name: tree}))[size.name], (
                f"{system.slug}: run python -m lab trees"
            )
            assert tree.text() == str(model)
    built = {
        slug: describe(build_model(single.cls, single.config, single.overrides)) for slug, single in printed().items()
    }
    assert (FOLDER / f"{SOURCE}.json").read_text(encoding="utf-8") == dump(built)


def test_shapes_and_ties_equal_those_of_a_model_with_real_weights() -> None:
    """On the meta device ties may be lost; a model built the ordinary way has them."""
    for architecture in ("GPT2LMHeadModel", "T5ForConditionalGeneration", "XLMWithLMHeadModel"):
        config, overrides = TINY[architecture]
        real = getattr(transformers, architecture)(getattr(transformers, config)(**overrides))
        assert describe(real) == describe(build_model(architecture, config, overrides))


class Twins(nn.Module):
    """Two layers that print the same, of which the second shares the first's matrix, and an empty place."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, 2) for _ in range(4)])
        self.layers[2].weight = self.layers[0].weight
        self.register_module("nothing", None)
        self.empty = nn.ModuleList()
        self.steps = nn.Sequential(nn.ReLU(), nn.ReLU())

    def extra_repr(self) -> str:
        return "a=1\nb=2"


def test_twins_print_as_one_line_and_count_as_what_they_are() -> None:
    model = Twins()
    tree = describe(model)
    assert tree.text() == str(model)
    assert "(0-3): 4 x Linear" in tree.text()
    assert tree.parameters == 4 * (4 + 2) - 4
    third = tree.find("layers.2")
    assert third.ties == (("weight", "layers.0.weight"),)


class Stacks(nn.Module):
    """A decoder whose layers share the matrices of the encoder's layers at the same depth."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.ModuleList([nn.Linear(3, 3) for _ in range(3)])
        self.decoder = nn.ModuleList([nn.Linear(3, 3) for _ in range(3)])
        for below, above in zip(self.encoder, self.decoder, strict=True):
            above.weight = below.weight


def test_layers_tied_in_pairs_still_collapse() -> None:
    tree = describe(Stacks())
    run = tree.find("decoder.0-2")
    assert run.ties == (("weight", "encoder.0-2.weight"),)
    assert tree.parameters == 3 * 12 + 3 * 3


def test_numbers_are_not_looked_at() -> None:
    with torch.device("meta"):
        ghost = nn.Linear(4, 4)
    assert describe(ghost).tensors == describe(nn.Linear(4, 4)).tensors


def test_elmos_recurrent_layer_is_torchs_without_its_second_bias() -> None:
    ours, theirs = ProjectedLSTM(8, 32), torch.nn.LSTM(8, 32, proj_size=8)
    assert _count(ours) == _count(theirs) - 4 * 32
    gates = ours.from_input.weight.shape, ours.from_state.weight.shape, ours.projection.weight.shape
    assert gates == (theirs.weight_ih_l0.shape, theirs.weight_hh_l0.shape, theirs.weight_hr_l0.shape)


def _count(module: torch.nn.Module) -> int:
    return sum(tensor.numel() for tensor in module.parameters())


def test_clips_towers_are_what_its_record_says_of_them() -> None:
    text = build_model("CLIPTextModel", "CLIPTextConfig", catalogue.get("clip").default_size.overrides["text_config"])
    assert _count(text) == 63_165_952
    facts = {fact.label: fact for fact in catalogue.get("clip").facts}
    vision = build_model(
        "CLIPVisionModel", "CLIPVisionConfig", catalogue.get("clip").default_size.overrides["vision_config"]
    )
    assert facts["Image tower, ViT-B/32"].value == f"{_count(vision):,}"


def test_the_global_attention_layers_of_modernbert() -> None:
    sizes = catalogue.get("modernbert").sizes
    kinds = [transformers.ModernBertConfig(**size.overrides).layer_types for size in sizes]
    assert [(kind.count("full_attention"), len(kind), kind[0]) for kind in kinds] == [
        (8, 22, "full_attention"),
        (10, 28, "full_attention"),
    ]


def test_masks_of_dall_e_as_appendix_b_has_them() -> None:
    """“The first four layers use row, column, row, row”; the convolutional one is used in the last layer alone."""
    from core.anatomy.own import mask_kind

    assert [mask_kind(i, 64) for i in range(1, 7)] == ["row", "column", "row", "row", "row", "column"]
    assert [i for i in range(1, 65) if mask_kind(i, 64) == "convolutional"] == [64]
    assert sum(mask_kind(i, 64) == "column" for i in range(1, 64)) == len(range(2, 64, 4)) == 16


def test_a_transformer_xl_for_words_counts_what_its_authors_code_makes() -> None:
    overrides = {
        "vocab_size": 100,
        "cutoffs": [20, 60],
        "div_val": 4,
        "d_model": 16,
        "n_layer": 2,
        "n_head": 2,
        "d_head": 8,
        "d_inner": 24,
    }
    words = 20 * 16 + 40 * 4 + 40 * 1
    widened = 16 * 16 + 4 * 16 + 1 * 16
    layer = 3 * 16 * 16 + 16 * 16 + 16 * 16 + 2 * 16 + (16 * 24 + 24) + (24 * 16 + 16) + 2 * 16
    scores = 100 + (2 * 16 + 2) + 16 * 16  # a bias for each word, an entry for each rarer bin, the first bin's matrix
    build = partial(build_model, "TransformerXLModel", "TransformerXLConfig")
    assert _count(build(overrides)) == words + widened + 2 * (layer + 2 * 16) + scores
    assert _count(build(overrides | {"untie_r": False})) == words + widened + 2 * layer + 2 * 16 + scores
    one_table = 100 * 16 + 100 + (2 * 16 + 2)
    assert _count(build(overrides | {"div_val": 1})) == one_table + 2 * (layer + 2 * 16)


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
