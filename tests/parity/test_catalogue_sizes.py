"""What the records say of libraries, against the libraries themselves; and our own classes, counted by hand."""

from __future__ import annotations

from functools import partial

import torch
import transformers

from core import catalogue
from core.anatomy.build import build_model
from core.anatomy.own import ProjectedLSTM


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


def test_the_layers_of_modernbert_that_look_at_everything() -> None:
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
