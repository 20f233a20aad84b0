"""Live trees against torch and transformers: printed text, counts, ties, and the kept data against a fresh build."""

from __future__ import annotations

import json

import pytest
import torch
import transformers
from torch import nn

from core import anatomy, catalogue
from core.anatomy.build import build_model, describe
from core.anatomy.store import FOLDER, SOURCE, dump
from core.anatomy.texts import printed
from core.costs.remarks import no_editor

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
    """The default size; others are held to their configuration by the editor, part by part, where it takes them."""
    for system in (system for system in catalogue.systems() if system.sizes):
        kept = json.loads((FOLDER / f"{system.slug}.json").read_text(encoding="utf-8"))
        assert [*kept] == [size.name for size in system.sizes]
        for size in (one for one in system.sizes if one is system.default_size or no_editor(system.slug, one.name)):
            model = build_model(size.architecture, size.config, size.overrides)
            found = describe(model)
            assert kept[size.name] == json.loads(dump({size.name: found}))[size.name], (
                f"{system.slug}: run python -m core tree --write"
            )
            assert found.text() == str(model)
    built = {slug: describe(build_model(one.cls, one.config, one.overrides)) for slug, one in printed().items()}
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
