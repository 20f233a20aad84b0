"""Small decoders of several architectures: what each computes, by hand or against the library on tiny models."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import nn
from torch.nn import functional

from core.training import measures, optimizers
from core.training import recipe as recipes
from core.training.models import new_model
from core.training.objective import linear_cross_entropy
from core.training.objectives import build
from core.training.objectives.causal import CausalModel
from core.training.recipe import Recipe, RecipeError, SourceFile
from core.training.train import Trainer
from tests import tinycorpus

GPT = {"n_layer": 2, "n_embd": 24, "n_head": 6, "n_positions": 32}
SMALL: dict[str, dict[str, Any]] = {
    "gpt2": GPT,
    "gpt_neo": {
        "num_layers": 2,
        "hidden_size": 24,
        "num_heads": 6,
        "max_position_embeddings": 32,
        "window_size": 4,
        "attention_types": [[["global", "local"], 1]],
    },
    "llama": {
        "num_hidden_layers": 2,
        "hidden_size": 24,
        "num_attention_heads": 6,
        "num_key_value_heads": 2,
        "intermediate_size": 48,
        "max_position_embeddings": 32,
        "tie_word_embeddings": True,
    },
    "ctrl": GPT | {"dff": 48},
}
STORIES = ["atlas-gpt-2", "atlas-gpt-neo", "atlas-llama"]


def model_of(kind: str) -> Any:
    torch.manual_seed(0)
    return CausalModel({**SMALL[kind], "type": kind}, 60, 0).full.eval()


def tiny(name: str) -> Recipe:
    """The recipe ``name`` on the tiny corpus with a tiny model."""
    found = recipes.load(name)
    model = found.model | SMALL[found.model["type"]]
    data = found.data | {"vocabulary": 300, "hold_out_every": 5, "window": 32}
    return dataclasses.replace(
        found, model=model, data=data, sources=(SourceFile("stories.txt"),), step_tokens=256, tokens=0
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tinycorpus.write(tmp_path_factory.mktemp("corpus"), books=60)


@pytest.mark.parametrize("name", STORIES)
def test_every_recipe_learns_and_ships_what_it_learnt(name: str, folder: Path, tmp_path: Path) -> None:
    objective = build(tiny(name), folder, folder / "states" / name / "data")
    recipe = dataclasses.replace(tiny(name), optimizer={"rate": 5e-3, "warmup": 0.1, "bfloat16": False})
    before = objective.measure()["bits per byte"]
    losses = Trainer(recipe, objective, tmp_path / "state", steps=40).run(quiet=True, measure_share=0.5)
    assert sum(losses[-10:]) < 0.95 * sum(losses[:10])
    assert objective.measure()["bits per byte"] < before
    assert_ships(objective, tmp_path / "out")


def assert_ships(objective: Any, folder: Path) -> None:
    """The folder loads through transformers with all weights, gives the model's scores and keeps its tokeniser."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    objective.export(folder)
    loaded, report = AutoModelForCausalLM.from_pretrained(
        folder, output_loading_info=True, dtype=torch.float32, attn_implementation="eager"
    )
    assert not report["missing_keys"]
    assert not report["unexpected_keys"]
    ids = objective.batch(0)["ids"]
    with torch.no_grad():
        model = objective.model.eval()
        expected = model.full(input_ids=ids).logits
        torch.testing.assert_close(loaded.eval()(input_ids=ids).logits, expected, atol=0.03, rtol=0.02)  # float16
        bias = 0 if model.full.lm_head.bias is None else model.full.lm_head.bias
        torch.testing.assert_close(model(ids) @ model.full.lm_head.weight.T + bias, expected)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    text = "The cat sat on two mats.\nAnd saw."
    assert tokenizer(text)["input_ids"] == objective.tokenizer.encode(text).ids
    assert tokenizer.model_max_length == objective.width


@pytest.mark.parametrize(
    ("name", "count"), [("atlas-gpt-2", 4_797_952), ("atlas-gpt-neo", 3_006_336), ("atlas-llama", 2_754_240)]
)
def test_recipes_have_the_size_that_their_cards_state(name: str, count: int) -> None:
    recipe = recipes.load(name)
    model = CausalModel(recipe.model, int(recipe.data["vocabulary"]), 0)
    assert sum(p.numel() for p in model.parameters()) == count
    assert f"{count / 1e6:.1f} million parameters" in recipe.card["summary"]
    assert 2 * count < 12_000_000


def test_an_unknown_type_is_said_in_a_sentence() -> None:
    with pytest.raises(RecipeError, match="no model of the type 'nonsense'"):
        new_model({"type": "nonsense"}, "CausalLM")


def test_a_local_layer_reaches_its_window_and_a_global_one_the_beginning() -> None:
    model = model_of("gpt_neo")
    with torch.no_grad():
        first, second = model(torch.arange(1, 13)[None], output_attentions=True).attentions
    back = torch.arange(12)[:, None] - torch.arange(12)[None, :]
    assert torch.equal(first[0].gt(0).all(dim=0), back >= 0)  # global
    assert torch.equal(second[0].gt(0).all(dim=0), (back >= 0) & (back < 4))  # itself and the three before it
    torch.testing.assert_close(second.sum(-1), torch.ones(1, 6, 12))


def test_six_query_heads_share_two_key_value_heads() -> None:
    model = model_of("llama")
    own = model.model.layers[0].self_attn
    assert (own.q_proj.weight.shape, own.k_proj.weight.shape, own.v_proj.weight.shape) == ((24, 24), (8, 24), (8, 24))
    with torch.no_grad():
        kept = model(torch.arange(1, 6)[None], use_cache=True).past_key_values
    assert kept.layers[0].keys.shape == (1, 2, 5, 4)  # two heads of four numbers for five tokens
    # equal queries in a group of three see equal keys: their rows of attention agree
    own.q_proj.weight.data[4:12] = own.q_proj.weight.data[:4].repeat(2, 1)
    model.set_attn_implementation("eager")
    with torch.no_grad():
        weights = model(torch.arange(1, 6)[None], output_attentions=True).attentions[0][0]
    torch.testing.assert_close(weights[0], weights[1])
    torch.testing.assert_close(weights[0], weights[2])
    assert not torch.allclose(weights[0], weights[3])


def test_llama_scores_depend_on_distances_alone() -> None:
    model = model_of("llama")
    ids = torch.arange(1, 9)[None]
    with torch.no_grad():
        here = model(ids).logits
        there = model(ids, position_ids=torch.arange(8)[None] + 11).logits
    torch.testing.assert_close(here, there, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("kind", SMALL)
def test_embeddings_are_tied_and_stay_with_adam(kind: str, tmp_path: Path) -> None:
    model = CausalModel({**SMALL[kind], "type": kind}, 60, 0)
    table = model.full.get_input_embeddings().weight
    assert model.full.lm_head.weight is table
    adam, muon = optimizers.build(model, {"rate": 1e-3, "muon": 1e-3})
    assert any(p is table for group in adam.param_groups for p in group["params"])
    assert all(p.ndim == 2 for group in muon.param_groups for p in group["params"])
    model.full.save_pretrained(tmp_path)
    assert sum(value.shape == (60, 24) for value in load_file(tmp_path / "model.safetensors").values()) == 1


def test_cross_entropy_with_a_bias_is_the_librarys() -> None:
    torch.manual_seed(0)
    hidden, bias = torch.randn(7, 5, requires_grad=True), torch.randn(9, requires_grad=True)
    weight = nn.Parameter(torch.randn(9, 5))
    labels = torch.tensor([0, 8, 3, 3, 1, 2, 7])
    found = torch.autograd.grad(linear_cross_entropy(hidden, weight, labels, bias), (hidden, weight, bias))
    loss = functional.cross_entropy(functional.linear(hidden, weight, bias), labels)
    for mine, theirs in zip(found, torch.autograd.grad(loss, (hidden, weight, bias)), strict=True):
        torch.testing.assert_close(mine, theirs)
    even = linear_cross_entropy(torch.zeros(2, 5), weight, labels[:2], torch.zeros(9))
    assert float(even) == pytest.approx(math.log(9))


@pytest.mark.parametrize("kind", SMALL)
def test_bits_of_a_model_that_knows_nothing(kind: str) -> None:
    model = model_of(kind)
    for parameter in model.parameters():
        parameter.data.zero_()

    class Letters:
        bos_token_id = 0

        def __call__(self, text: str) -> dict[str, list[int]]:
            return {"input_ids": [ord(letter) - ord("a") for letter in text]}

    assert measures.bits_per_byte(model, Letters(), "abcdefghij" * 7) == pytest.approx(math.log2(60), rel=1e-5)
