"""XLNet: who sees whom on an order of four, what may not move a score, pad, and what is shipped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

from core import patterns
from core.checkpoints.spec import Checkpoint, CheckpointSpec
from core.training import evaluate, evaluate_encoders, optimizers, xlnet_model
from core.training import recipe as recipes
from core.training.objectives.permutation import PermutationModel, found_tokens
from tests import tinyrecipes

SMALL = {"type": "xlnet", "d_model": 24, "n_layer": 2, "n_head": 3, "d_inner": 48}


@pytest.fixture(scope="module")
def objective(tiny_world: tuple[Path, Path]) -> Any:
    return tinyrecipes.objective("atlas-xlnet", *tiny_world)


def random_model(**more: int) -> Any:
    """Weights so large that everything that is seen can be felt."""
    torch.manual_seed(0)
    made = xlnet_model.new_xlnet({**SMALL, **more}, 60, pad_token_id=0).eval()
    for parameter in made.parameters():
        if parameter.requires_grad and parameter.ndim > 1:
            torch.nn.init.normal_(parameter, std=0.3)
    return made


def batch_of(ids: torch.Tensor, place: torch.Tensor, real: torch.Tensor) -> dict[str, torch.Tensor]:
    rank = torch.zeros_like(ids).scatter(1, place, torch.arange(1, place.shape[1] + 1).expand_as(place))
    there = torch.ones_like(place, dtype=torch.bool)
    return {"ids": ids, "real": real, "rank": rank, "place": place, "there": there}


@pytest.mark.parametrize("flat", [False, True])
def test_the_forward_pass_for_training_is_the_librarys(flat: bool) -> None:
    model = random_model()
    torch.manual_seed(1)
    ids = torch.randint(5, 60, (3, 10))
    place = torch.stack([torch.randperm(8)[:4] for _ in range(3)])
    real = torch.ones(3, 10, dtype=torch.bool)
    real[1, 8:] = False
    batch = batch_of(ids, place, real)
    with torch.no_grad():
        expected = model(
            ids,
            attention_mask=real.float(),
            perm_mask=torch.from_numpy(patterns.perm_mask(batch["rank"].numpy())).float(),
            target_mapping=functional.one_hot(place, 10).float(),
        ).logits
        before = xlnet_model.whole(model).state_dict()
        states = PermutationModel(xlnet_model.flatten(model) if flat else model)(batch)
    torch.testing.assert_close(model.lm_loss(states), expected.flatten(0, 1), atol=1e-4, rtol=1e-4)
    after = xlnet_model.whole(model).state_dict()
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_rows_hide_nothing_in_the_text_and_name_their_targets(objective: Any) -> None:
    batch = objective.batch(0)
    ids, rank, place, there = (batch[name].numpy() for name in ("ids", "rank", "place", "there"))
    words = objective.train.words
    assert (ids != words.mask).all()
    at = 0
    for row in range(len(ids)):
        found = place[row][there[row]]
        assert rank[row, found].tolist() == list(range(1, len(found) + 1))
        assert np.count_nonzero(rank[row]) == len(found) >= 1
        assert ids[row, found].tolist() == batch["labels"][at : at + len(found)].tolist()
        assert not words.special[ids[row, found]].any()
        at += len(found)
    assert at == len(batch["labels"])
    assert objective.size(batch) == int((ids != words.pad).sum())


def test_wide_steps_find_more(objective: Any) -> None:
    index = objective.epochs[0]
    draws = [[np.random.default_rng(n) for n in range(len(index))] for _ in range(2)]
    few, many = (objective.train.rows(index, d, wide)["labels"] for d, wide in zip(draws, (False, True), strict=True))
    assert len(many) > 1.5 * len(few)
    shares = [len(b["labels"]) / objective.size(b) for b in map(objective.batch, range(60))]
    assert 5 <= sum(share > 0.3 for share in shares) <= 25  # about a quarter
    assert torch.equal(objective.batch(3)["rank"], objective.batch(3)["rank"])


def test_held_out_documents_are_measured_as_in_training(
    objective: Any, tiny_world: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from transformers import AutoTokenizer, XLNetLMHeadModel

    objective.export(tmp_path)
    model: Any = XLNetLMHeadModel.from_pretrained(tmp_path, dtype=torch.float32)
    spec = CheckpointSpec("atlas-xlnet", "X", "xlnet", "decoder", "permutation-lm", "bundled", "-", "-", True)
    checkpoint = Checkpoint(model.eval(), AutoTokenizer.from_pretrained(tmp_path), spec)
    recipe = tinyrecipes.recipe("atlas-xlnet")
    monkeypatch.setattr(recipes, "load", lambda _: recipe)
    monkeypatch.setattr(evaluate_encoders, "story_chunks", lambda _: ["The cat sat on a mat."])
    found = evaluate.measure("permutation-lm", checkpoint, tiny_world[0])
    (on,) = (name for name in found if "held out" in name)
    whole = XLNetLMHeadModel(model.config)  # in float32 as it was before it was shipped
    whole.load_state_dict(xlnet_model.whole(objective.model.full).state_dict())
    expected = found_tokens(PermutationModel(whole.eval()), objective.test)
    for name in ("top-1", "top-5"):
        assert found[on][name] == pytest.approx(expected[name], abs=1.0)


def test_attention_matrices_go_to_muon_and_vectors_of_heads_do_not() -> None:
    model = PermutationModel(xlnet_model.flatten(random_model()))
    adam, muon = optimizers.build(model, {"rate": 1e-3, "muon": 1e-3})
    names = {id(p): name for name, p in model.named_parameters()}
    with_muon = {names[id(p)] for group in muon.param_groups for p in group["params"]}
    assert len(with_muon) == 2 * (5 + 2)  # q, k, v, o, r and the two of the feed-forward layer
    with_adam = {names[id(p)] for group in adam.param_groups for p in group["params"]}
    assert {name.rsplit(".", 1)[-1] for name in with_adam} >= {"r_w_bias", "r_r_bias", "mask_emb"}
    assert not any("seg_embed" in name or "r_s_bias" in name for name in with_adam | with_muon)
