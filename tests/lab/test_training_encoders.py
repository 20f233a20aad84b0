"""Pretraining encoders: what the objectives compute, by hand on tiny models; what is shipped is what was learned."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch.nn import functional
from transformers import BertConfig, BertForPreTraining

from lab import evaluate
from lab.objective import Share
from lab.objectives import electra, encoder
from lab.objectives.encoder import (
    EncoderModel,
    EncoderObjective,
    factorize,
    new_encoder,
    share,
)
from tests import tinyrecipes

SMALL = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
World = tuple[Path, Path]


def made(name: str, world: World) -> Any:
    """The objective of the tiny recipe ``name``, from random weights."""
    loaded = tinyrecipes.recipe(name)
    model = {name: value for name, value in loaded.model.items() if name != "start"}
    return tinyrecipes.objective(dataclasses.replace(loaded, model=model), *world)


def test_logits_at_chosen_positions_alone_are_the_same(tiny_world: World) -> None:
    objective: EncoderObjective = made("atlas-bert", tiny_world)
    batch = next(batch for batch in map(objective.batch, range(20)) if (batch["answers"] != -100).any())
    words, pair = objective.model(batch["ids"], batch["types"], batch["real"], batch["chosen"])
    full = objective.model.full(input_ids=batch["ids"], attention_mask=batch["real"], token_type_ids=batch["types"])
    torch.testing.assert_close(words, full.prediction_logits[batch["chosen"]])
    torch.testing.assert_close(pair, full.seq_relationship_logits)
    asked = batch["answers"] != -100
    expected = functional.cross_entropy(words, batch["labels"])
    expected = expected + functional.cross_entropy(pair[asked], batch["answers"][asked])
    torch.testing.assert_close(objective.loss(batch), expected)


def test_static_masks_belong_to_the_text_and_dynamic_ones_do_not(tiny_world: World) -> None:
    bert, roberta = made("atlas-bert", tiny_world), made("atlas-roberta", tiny_world)
    index = bert.epochs[0][:4]
    for objective, same in ((bert, True), (roberta, False)):
        objective.epochs = [index, index]
        first, second = objective.batch(0), objective.batch(1)
        assert torch.equal(first["ids"], second["ids"]) is same
    assert bert.train.pairs.paired.any()
    assert not roberta.train.pairs.paired.any()
    assert bert.train.sizes.sum() > 0
    assert bert.train.text.bounds.tolist() == roberta.train.text.bounds.tolist()  # the same text


def test_a_correct_sample_counts_as_original(tiny_world: World) -> None:
    objective = made("atlas-electra", tiny_world)
    batch = objective.batch(0)
    assert (batch["ids"][batch["chosen"]] == objective.train.words.mask).all()
    size = objective.tokenizer.get_vocab_size()
    right = torch.full((len(batch["labels"]), size), -1e9)
    right[torch.arange(len(right)), batch["labels"]] = 0.0
    wrong = right.roll(1, dims=1)
    text, replaced, judged = electra.replace(objective.train.words, batch, right)
    assert not replaced.any()
    special = torch.from_numpy(objective.train.words.special)
    assert not judged[special[text]].any()
    _, replaced, _ = electra.replace(objective.train.words, batch, wrong)
    assert torch.equal(replaced, batch["chosen"])


def test_electra_shares_its_vectors_and_sends_nothing_back_to_the_generator(tiny_world: World) -> None:
    objective = made("atlas-electra", tiny_world)
    model = objective.model
    assert model.generator.electra.embeddings.word_embeddings is model.full.electra.embeddings.word_embeddings
    assert model.generator.generator_lm_head.weight is model.full.electra.embeddings.word_embeddings.weight
    batch = objective.batch(0)
    guess = model.generate(batch["ids"], batch["types"], batch["real"], batch["chosen"])
    text, replaced, judged = electra.replace(objective.train.words, batch, guess)
    verdict = model(text, batch["types"], batch["real"])
    functional.binary_cross_entropy_with_logits(verdict[judged], replaced[judged].float()).backward()
    assert all(p.grad is None for p in model.generator.electra.encoder.parameters())
    assert model.full.electra.embeddings.word_embeddings.weight.grad is not None


def test_a_discriminator_can_start_as_a_bert_and_keeps_its_word_vectors(tmp_path: Path) -> None:
    torch.manual_seed(0)
    bert = new_encoder({"type": "bert", **SMALL, "max_position_embeddings": 32}, 50).eval()
    bert.save_pretrained(tmp_path)
    full = new_encoder({"type": "electra", **SMALL, "embedding_size": 16, "max_position_embeddings": 32}, 50).eval()
    electra.start_from(full.electra, tmp_path)
    ids = torch.arange(5, 15)[None]
    with torch.no_grad():
        ours, theirs = full.electra(input_ids=ids)[0], bert.bert(input_ids=ids)[0]
    torch.testing.assert_close(ours, theirs)
    fixed = {name for name, p in full.named_parameters() if not p.requires_grad}
    assert fixed == {f"electra.embeddings.{n}_embeddings.weight" for n in ("word", "position", "token_type")}


def test_balanced_accuracy_by_hand(tiny_world: World) -> None:
    objective = made("atlas-electra", tiny_world)
    shares = electra.replaced_tokens(objective.model.eval(), objective.test)
    assert shares["balanced accuracy"] == pytest.approx((shares["replaced found"] + shares["original left"]) / 2)

    class Always(type(objective.model)):  # type: ignore[misc]
        def forward(self, ids: torch.Tensor, types: torch.Tensor, real: torch.Tensor) -> torch.Tensor:
            return torch.ones(ids.shape)

    objective.model.__class__ = Always
    shares = electra.replaced_tokens(objective.model, objective.test)
    assert (shares["replaced found"], shares["original left"], shares["balanced accuracy"]) == (100.0, 0.0, 50.0)
    sure = 1 / (1 + math.exp(-1.0))  # what it says of every token
    assert electra.replaced_tokens(objective.model, objective.test, sure - 0.01)["replaced found"] == 100.0
    assert electra.replaced_tokens(objective.model, objective.test, sure + 0.01)["replaced found"] == 0.0


def test_the_student_starts_as_every_second_layer_of_its_teacher() -> None:
    torch.manual_seed(0)
    sizes = {"max_position_embeddings": 32}
    teacher = new_encoder({"type": "bert", **SMALL, "num_hidden_layers": 2, **sizes}, 50).eval()
    student = new_encoder(
        {
            "type": "distilbert",
            "dim": 16,
            "n_layers": 1,
            "n_heads": 2,
            "hidden_dim": 32,
            "dropout": 0.0,
            "attention_dropout": 0.0,
            **sizes,
        },
        50,
    ).eval()
    for module in teacher.modules():  # norms and biases that differ from their neutral start
        for name, value in module.named_parameters(recurse=False):
            if value.ndim == 1:
                torch.nn.init.normal_(value, 1.0 if "LayerNorm" in type(module).__name__ and name == "weight" else 0.0)
    encoder.every_second_layer(student, teacher)
    ids = torch.arange(5, 15)[None]
    with torch.no_grad():
        first = teacher.bert(input_ids=ids, output_hidden_states=True).hidden_states[1]
        mine = student.distilbert(input_ids=ids).last_hidden_state
        torch.testing.assert_close(mine, first)
        torch.testing.assert_close(EncoderModel(student).words(mine), EncoderModel(teacher).words(first))


def test_the_discriminators_loss_counts_fifty_times(tiny_world: World) -> None:
    objective = made("atlas-electra", tiny_world)
    batch, model = objective.batch(0), objective.model
    torch.manual_seed(3)
    loss = objective.loss(batch)
    torch.manual_seed(3)
    guess = model.generate(batch["ids"], batch["types"], batch["real"], batch["chosen"])
    text, replaced, judged = electra.replace(objective.train.words, batch, guess)
    verdict = model(text, batch["types"], batch["real"]).sigmoid()
    right = torch.where(replaced, verdict, 1 - verdict)[judged]
    expected = functional.cross_entropy(guess, batch["labels"]) - 50.0 * right.log().mean()
    torch.testing.assert_close(loss, expected)


def test_the_students_three_losses_by_hand(tiny_world: World) -> None:
    objective = tinyrecipes.objective("atlas-distilbert", *tiny_world)
    batch = objective.batch(0)
    inputs, chosen, real = (batch["ids"], batch["types"], batch["real"]), batch["chosen"], batch["real"].bool()
    mine, teachers = (m.encode(*inputs).last_hidden_state for m in (objective.model, objective.teacher))
    scores, theirs = objective.model.words(mine[chosen]), objective.teacher.words(teachers[chosen])
    p, q = (theirs / 2).softmax(-1), (scores / 2).softmax(-1)
    soft = (p * (p / q).log()).sum(-1).mean()
    unlike = 1 - (mine * teachers).sum(-1) / (mine.norm(dim=-1) * teachers.norm(dim=-1))
    expected = 5 * 4 * soft + 2 * functional.cross_entropy(scores, batch["labels"]) + unlike[real].mean()
    torch.testing.assert_close(objective.loss(batch), expected, rtol=1e-4, atol=1e-4)
    assert not any(p.requires_grad for p in objective.teacher.parameters())


def test_the_generator_ships_without_what_it_shares(tiny_world: World, tmp_path: Path) -> None:
    from core.checkpoints import loading
    from core.checkpoints.spec import CheckpointSpec

    objective = made("atlas-electra", tiny_world)
    objective.export(tmp_path)
    where = ("electra", "encoder", "masked-lm", "bundled", "-", str(tmp_path), True)
    loaded = loading.read_checkpoint(CheckpointSpec("atlas-electra:generator", "x", *where)).model
    batch = objective.batch(0)
    inputs = {"input_ids": batch["ids"], "attention_mask": batch["real"], "token_type_ids": batch["types"]}
    with torch.no_grad():
        expected = objective.model.generator.eval()(**inputs).logits
        torch.testing.assert_close(loaded(**inputs).logits, expected, atol=0.01, rtol=0.01)
    shipped = load_file(tmp_path / "generator" / "model.safetensors")
    assert not any("word_embeddings" in name or "lm_head.weight" in name for name in shipped)


def test_factors_of_a_table_worked_out_by_hand() -> None:
    table = torch.tensor([[3.0, 0.0], [0.0, 1.0], [4.0, 0.0]])  # orthogonal columns of lengths 5 and 1
    words, basis = factorize(table, 1)
    assert torch.allclose(words @ basis, torch.tensor([[3.0, 0.0], [0.0, 0.0], [4.0, 0.0]]), atol=1e-6)
    assert torch.allclose(basis.abs(), torch.tensor([[1.0, 0.0]]), atol=1e-6)
    assert words.abs().flatten().tolist() == pytest.approx([3.0, 0.0, 4.0], abs=1e-6)


def test_every_pass_is_the_chosen_layer_and_a_word_widens_to_berts_vector() -> None:
    torch.manual_seed(0)
    sizes = {"hidden_size": 12, "num_attention_heads": 2, "intermediate_size": 24, "max_position_embeddings": 8}
    config = BertConfig(vocab_size=30, num_hidden_layers=3, hidden_act="gelu_new", **sizes)
    bert = BertForPreTraining(config).eval()
    bert.bert.embeddings.LayerNorm.weight.data.uniform_(0.5, 1.5)
    basis = torch.linalg.qr(torch.randn(12, 4))[0].T
    coded = torch.randn(30, 4)
    bert.bert.embeddings.word_embeddings.weight.data = coded @ basis  # of rank 4
    albert = new_encoder({"type": "albert", "embedding_size": 4, "num_hidden_layers": 2, **sizes}, 30).eval()
    share(albert, bert, layer=1)

    weight = albert.albert.embeddings.word_embeddings.weight
    widen = albert.albert.encoder.embedding_hidden_mapping_in
    gain = bert.bert.embeddings.LayerNorm.weight
    back = (weight @ widen.weight.T) / gain / 3**0.5  # the root of 12 / 4
    assert torch.allclose(back, bert.bert.embeddings.word_embeddings.weight, atol=1e-5)

    hidden = torch.randn(2, 5, 12)
    with torch.no_grad():
        expected = bert.bert.encoder.layer[1](hidden)
        result = albert.albert.encoder.albert_layer_groups[0].albert_layers[0](hidden)
    expected, result = (x[0] if isinstance(x, tuple) else x for x in (expected, result))
    assert torch.allclose(result, expected, atol=1e-5)


def test_the_area_under_the_curve_is_the_share_of_pairs_in_order() -> None:
    scores, labels = torch.tensor([0.1, 0.9, 0.4, 0.3]), torch.tensor([False, True, False, True])
    assert electra.area(scores, labels) == 3 / 4  # 0.3 lies below 0.4
    assert electra.area(scores, scores > 0.35) == 1.0


def test_a_count_becomes_a_row_with_its_trials() -> None:
    rows = evaluate.rows({"a story": {"top-1": Share(1, 3), "bits per byte": 1.5}})
    assert [(m.name, m.value, m.n) for m in rows] == [("top-1", 33.33, 3), ("bits per byte", 1.5, 0)]
