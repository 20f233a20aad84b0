"""Small decoders of several architectures: what each computes, by hand or against the library on tiny models."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import nn
from torch.nn import functional

from core.training import optimizers
from core.training.models import new_model
from core.training.objective import linear_cross_entropy
from core.training.objectives.causal import CausalModel
from core.training.recipe import RecipeError
from tests import tinyrecipes


def test_an_unknown_type_is_said_in_a_sentence() -> None:
    with pytest.raises(RecipeError, match="no model of the type 'nonsense'"):
        new_model({"type": "nonsense"}, "CausalLM")


@pytest.mark.parametrize("name", ["atlas-gpt-2", "atlas-gpt-neo", "atlas-llama", "atlas-ctrl"])
def test_embeddings_are_tied_and_stay_with_adam(name: str, tmp_path: Path) -> None:
    model = CausalModel(tinyrecipes.recipe(name).model, 60, 0)
    table = model.full.get_input_embeddings().weight
    assert model.full.lm_head.weight is table
    adam, muon = optimizers.build(model, {"rate": 1e-3, "muon": 1e-3})
    assert any(p is table for group in adam.param_groups for p in group["params"])
    assert all(p.ndim == 2 for group in muon.param_groups for p in group["params"])
    model.full.save_pretrained(tmp_path)
    assert sum(value.shape == (60, 16) for value in load_file(tmp_path / "model.safetensors").values()) == 1


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
