"""XLNet's orders and Longformer's windows in training: masks by hand, the library's passes, and what is shipped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch.nn import functional

from core import patterns
from core.checkpoints.bundled import apply, as_longformer
from core.checkpoints.spec import Checkpoint, CheckpointSpec
from lab import evaluate, evaluate_encoders, models, optimizers, xlnet_model
from lab import recipe as recipes
from lab.objectives.encoder import new_encoder as new_model
from lab.objectives.long import LongModel, longformer_from, sample_spans, tiled
from lab.objectives.permutation import PermutationModel, target_accuracy
from lab.tokens import Ragged
from tests import tinyrecipes

SMALL = {"type": "xlnet", "d_model": 24, "n_layer": 2, "n_head": 3, "d_inner": 48}


@pytest.fixture(scope="module")
def objective(tiny_world: tuple[Path, Path]) -> Any:
    return tinyrecipes.objective("atlas-xlnet", *tiny_world)


def random_model(**more: int) -> Any:
    """Weights so large that every attended token changes the output."""
    torch.manual_seed(0)
    made = xlnet_model.new_xlnet({**SMALL, **more}, 60, pad_token_id=0).eval()
    for parameter in made.parameters():
        if parameter.requires_grad and parameter.ndim > 1:
            torch.nn.init.normal_(parameter, std=0.3)
    return made


def batch_of(ids: torch.Tensor, place: torch.Tensor, real: torch.Tensor) -> dict[str, torch.Tensor]:
    rank = torch.zeros_like(ids).scatter(1, place, torch.arange(1, place.shape[1] + 1).expand_as(place))
    there = torch.ones_like(place, dtype=torch.bool)
    return {"ids": ids, "real": real, "rank": rank, "targets": place, "is_target": there}


@pytest.mark.parametrize("flat", [False, True])
def test_an_order_becomes_the_masks_and_targets_of_the_library(flat: bool) -> None:
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


def test_rows_leave_the_text_unmasked_and_name_their_targets(objective: Any) -> None:
    batch = objective.batch(0)
    ids, rank, place, there = (batch[name].numpy() for name in ("ids", "rank", "targets", "is_target"))
    words = objective.train.words
    assert (ids != words.mask).all()
    at = 0
    for row in range(len(ids)):
        result = place[row][there[row]]
        assert rank[row, result].tolist() == list(range(1, len(result) + 1))
        assert np.count_nonzero(rank[row]) == len(result) >= 1
        assert ids[row, result].tolist() == batch["labels"][at : at + len(result)].tolist()
        assert not words.special[ids[row, result]].any()
        at += len(result)
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
    measures = evaluate.measure("permutation-lm", checkpoint, tiny_world[0])
    (on,) = (name for name in measures if "held out" in name)
    full = XLNetLMHeadModel(model.config)  # in float32 as it was before it was shipped
    full.load_state_dict(xlnet_model.whole(objective.model.full).state_dict())
    expected = target_accuracy(PermutationModel(full.eval()), objective.test)
    for name in ("top-1", "top-5"):
        assert measures[on][name] == pytest.approx(expected[name], abs=1.0)


def test_attention_matrices_go_to_muon_and_vectors_of_heads_do_not() -> None:
    model = PermutationModel(xlnet_model.flatten(random_model()))
    adam, muon = optimizers.build(model, {"rate": 1e-3, "muon": 1e-3})
    names = {id(p): name for name, p in model.named_parameters()}
    with_muon = {names[id(p)] for group in muon.param_groups for p in group["params"]}
    assert len(with_muon) == 2 * (5 + 2)  # q, k, v, o, r and the two of the feed-forward layer
    with_adam = {names[id(p)] for group in adam.param_groups for p in group["params"]}
    assert {name.rsplit(".", 1)[-1] for name in with_adam} >= {"r_w_bias", "r_r_bias", "mask_emb"}
    assert not any("seg_embed" in name or "r_s_bias" in name for name in with_adam | with_muon)


def short_model(vocabulary: int = 60, layers: int = 2) -> Any:
    torch.manual_seed(0)
    return new_model(
        {
            "type": "roberta",
            "hidden_size": 16,
            "num_hidden_layers": layers,
            "num_attention_heads": 2,
            "intermediate_size": 32,
            "max_position_embeddings": 17,
            "type_vocab_size": 1,
        },
        vocabulary,
    ).eval()


def test_positions_are_copied_behind_the_paddings_rows() -> None:
    table = torch.tensor([[0.0], [1.0], [2.0], [3.0]])
    assert tiled(table, 1, 7).flatten().tolist() == [0, 1, 2, 3, 1, 2, 3, 1]


def test_within_the_window_it_begins_as_its_base() -> None:
    short = short_model()
    long = longformer_from(short, 64, 32).eval()
    ids = torch.randint(5, 60, (2, 12))
    with torch.no_grad():
        expected = short(input_ids=ids).logits
        # the first token's own projections begin as copies, so that it sees what it saw
        logits = LongModel(long, 4, 16)(ids, torch.ones_like(ids, dtype=torch.bool))
    torch.testing.assert_close(logits, expected.flatten(0, 1), atol=1e-5, rtol=1e-4)
    own = long.longformer.encoder.layer[1].attention.self
    assert torch.equal(own.key_global.weight, short.roberta.encoder.layer[1].attention.self.key.weight)


def test_full_attention_is_a_window_as_wide_as_the_text() -> None:
    model = LongModel(longformer_from(short_model(), 64, 8), 4, 16).eval()
    tinyrecipes.shaken(model)
    ids = torch.randint(5, 60, (2, 30))
    every = torch.ones_like(ids, dtype=torch.bool)
    with torch.no_grad():
        narrow, full = model(ids, every), model(ids, every, True)
        for layer in model.full.longformer.encoder.layer:
            layer.attention.self.one_sided_attn_window_size = 30
        torch.testing.assert_close(model(ids, every), full, atol=1e-6, rtol=1e-5)
    assert (narrow - full).abs().max() > 1e-3


def test_bigbird_is_base_tiles_and_waves(tiny_world: tuple[Path, Path], tmp_path: Path) -> None:
    from transformers import BigBirdConfig, BigBirdForMaskedLM

    objective = tinyrecipes.objective("atlas-bigbird", *tiny_world)
    tinyrecipes.shaken(objective.model)
    objective.export(tmp_path / "out")
    base = models.start_state("minilm", models.backbone_state(tiny_world[1] / "package"), tiny_world[1])
    state = apply(base, load_file(tmp_path / "out" / "difference.safetensors"))
    config = BigBirdConfig.from_pretrained(tmp_path / "out", attention_type="original_full")
    loaded = BigBirdForMaskedLM(config).eval()
    assert not loaded.load_state_dict(state, strict=False).unexpected_keys
    loaded.tie_weights()
    batches = [objective.batch(step) for step in range(8)]
    batch = next(batch for batch in batches if "blocks" not in batch)
    with torch.no_grad():
        theirs = loaded(input_ids=batch["ids"]).logits[batch["mask"]]
        ours = objective.scores(batch)
    torch.testing.assert_close(ours, theirs, atol=0.03, rtol=0.02)  # float16
    assert len({"blocks" in batch for batch in batches}) == 2


def test_what_learns_is_all_that_is_shipped() -> None:
    model = LongModel(longformer_from(short_model(), 64, 8), 4, 16)
    learning = {name for name, value in model.full.named_parameters() if value.requires_grad}
    assert not [name for name in learning if "word_embeddings" in name or "original" in name]
    assert sum("lora_A" in name for name in learning) == 2 * 6
    assert sum("_global.weight" in name for name in learning) == 2 * 3
    shipped = model.difference()
    assert len(shipped) == len(learning) - 1  # the waves are part of the rows
    assert "longformer.embeddings.position_embeddings.weight.rows.0" in shipped


def test_base_and_difference_make_it(tiny_world: tuple[Path, Path], tmp_path: Path) -> None:
    from transformers import LongformerConfig, LongformerForMaskedLM

    objective = tinyrecipes.objective("atlas-longformer", *tiny_world)
    tinyrecipes.shaken(objective.model)
    objective.export(tmp_path / "out")
    base = load_file(tiny_world[1] / "atlas-roberta" / "out" / "model.safetensors")
    state = apply(as_longformer(base), load_file(tmp_path / "out" / "difference.safetensors"))
    loaded = LongformerForMaskedLM(LongformerConfig.from_pretrained(tmp_path / "out")).eval()
    report = loaded.load_state_dict(state, strict=False)
    loaded.tie_weights()
    assert not report.unexpected_keys
    assert set(report.missing_keys) <= {"lm_head.decoder.weight", "lm_head.decoder.bias"}
    batch = objective.batch(0)
    mask = torch.zeros_like(batch["ids"])
    mask[:, 0] = 1
    with torch.no_grad():
        theirs = loaded(
            input_ids=batch["ids"], attention_mask=torch.ones_like(mask), global_attention_mask=mask
        ).logits[batch["chosen"]]
        ours = objective.model.eval()(batch["ids"], batch["chosen"])
    torch.testing.assert_close(ours, theirs, atol=0.03, rtol=0.02)  # float16


def test_spans_stay_within_a_book() -> None:
    books = Ragged.of([[1, 2, 3, 4], [10, 11], [20, 21, 22]])
    seen = {tuple(row) for row in sample_spans(books, 3, 400, np.random.default_rng(0)).tolist()}
    assert seen == {(1, 2, 3), (2, 3, 4), (20, 21, 22)}
