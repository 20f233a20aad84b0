"""The trainer's parts that need torch: low-rank updates, resuming, measures; tiny models, no corpus."""

from __future__ import annotations

import dataclasses
import math
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from transformers import BertConfig, BertForMaskedLM, BertModel

from core.checkpoints.bundled import apply
from core.checkpoints.spec import Measure
from lab import lowrank, masking, measures, optimizers, train
from lab.documents import Vocabulary
from lab.lowrank import LowRankEmbedding, MaskedModel, linears
from lab.objectives.causal import window_starts
from lab.objectives.long import TiledPositions, waves
from lab.objectives.masked import MaskedObjective, Nearness, combined_distribution, unlikelihood
from lab.recipe import Recipe, write_card
from lab.tokenizers import END, byte_bpe, byte_lengths
from lab.train import Trainer
from tests.runs import Line, toy


@pytest.mark.parametrize("settings", [{"rate": 0.01}, {"rate": 0.01, "muon": 0.02}], ids=["adamw", "muon"])
def test_a_killed_run_goes_on_with_the_same_losses(tmp_path: Path, settings: dict[str, Any]) -> None:
    full = Trainer(toy(optimizer=settings), Line(), tmp_path / "whole", steps=30).run(quiet=True)
    assert len(full) == 30
    assert len(set(full)) == 30

    first = Trainer(toy(optimizer=settings), Line(), tmp_path / "cut", steps=30)
    first.objective.model.train()
    before = [first.step() for _ in range(11)]
    first.save()
    [first.step() for _ in range(4)]  # lost: the process dies here

    second = Trainer(toy(optimizer=settings), Line(), tmp_path / "cut", steps=30)
    assert second.resume()
    assert (second.progress.step, second.progress.tokens) == (11, 176)
    assert before + second.run(quiet=True) == pytest.approx(full, rel=1e-6)


def test_the_budget_is_time_and_its_end_is_reached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = count(0.0, 1.0)
    monkeypatch.setattr(train, "time", SimpleNamespace(monotonic=lambda: next(ticks)))
    trainer = Trainer(toy(optimizer={"rate": 0.01}), Line(), tmp_path)
    losses = trainer.run(quiet=True, save_seconds=1e9)
    assert 40 <= len(losses) <= 60  # a minute of one-second steps, less what the measurements took
    assert optimizers.build(trainer.objective.model, {"rate": 0.01})[0].param_groups[0]["peak"] == 0.01
    assert trainer.used() >= 1.0
    rows = (tmp_path / "curve.csv").read_text(encoding="utf-8").splitlines()
    assert rows[0] == "tokens,steps,minutes,split,measure,value"
    assert {row.split(",")[3] for row in rows[1:]} == {"train", "held-out"}


def test_a_budget_of_tokens_ends_after_them(tmp_path: Path) -> None:
    recipe = dataclasses.replace(toy(optimizer={"rate": 0.01}), tokens=160)
    assert len(Trainer(recipe, Line(), tmp_path).run(quiet=True)) == 10  # 16 tokens a step


def tiny_masked(
    rank: int,
    start: dict[str, Tensor] | None = None,
    cut: dict[str, Tensor] | None = None,
    rows: Tensor | None = None,
) -> tuple[MaskedModel, dict[str, Tensor]]:
    """A masked model on a backbone of random weights, and the backbone."""
    torch.manual_seed(5)
    config = BertConfig(
        vocab_size=20,
        hidden_size=12,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=8,
    )
    state = BertForMaskedLM(config).state_dict()
    backbone = {name: value for name, value in state.items() if name.startswith("bert.")}
    return MaskedModel(config, backbone, rank, 12, start, cut, rows), backbone


@pytest.mark.parametrize("rows", [None, [*range(5, 19)]], ids=["all words", "some words"])
def test_updates_of_full_rank_go_on_where_a_free_stage_stopped(rows: list[int] | None) -> None:
    free, backbone = tiny_masked(0)
    torch.manual_seed(6)
    with torch.no_grad():
        for parameter in free.parameters():
            if parameter.requires_grad:
                parameter.add_(0.1 * torch.randn_like(parameter))
        if rows is not None:
            free.words.lora_B[[word for word in range(20) if word not in rows]] = 0.0
    ids = torch.randint(0, 20, (3, 8))
    mask = torch.rand(3, 8) < 0.4
    bounded, _ = tiny_masked(12, free.whole(), rows=None if rows is None else torch.tensor(rows))
    torch.testing.assert_close(bounded(ids, mask), free(ids, mask), atol=1e-4, rtol=1e-4)
    # and what is shipped is that model again
    shipped = apply(backbone, bounded.difference())
    for name, value in free.whole().items():
        torch.testing.assert_close(shipped[name], value, atol=2e-3, rtol=2e-3)


def test_directions_of_no_curvature_are_cut_first() -> None:
    update = torch.diag(torch.tensor([1.0, 2.0, 3.0]))
    inputs = torch.diag(torch.tensor([100.0, 1.0, 0.0]))  # the third input is always zero
    left, values, right = lowrank.directions(update, (inputs, torch.eye(3)))
    torch.testing.assert_close(left @ right, update, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(left.norm(dim=0), right.norm(dim=1), atol=1e-4, rtol=1e-4)
    assert values.tolist() == sorted(values.tolist(), reverse=True)
    torch.testing.assert_close(left[:, :1] @ right[:1], torch.diag(torch.tensor([1.0, 0.0, 0.0])), atol=1e-4, rtol=1e-4)
    # the same where the third output does not matter to the loss
    left, _, right = lowrank.directions(update, (torch.eye(3), inputs))
    torch.testing.assert_close(left[:, :1] @ right[:1], torch.diag(torch.tensor([1.0, 0.0, 0.0])), atol=1e-4, rtol=1e-4)


def test_moments_are_sums_of_squares_of_inputs_and_gradients() -> None:
    layer = nn.Linear(2, 1, bias=False)
    x = torch.tensor([[[1.0, 2.0], [0.0, 3.0]]])
    moments = lowrank.moments({"layer": layer}, [lambda: (layer(x) * torch.tensor([2.0, 5.0])[:, None]).sum()] * 2)
    inputs, slopes = moments["layer"]
    assert inputs.tolist() == [[2.0, 4.0], [4.0, 26.0]]  # twice [1 2]ᵀ[1 2] + [0 3]ᵀ[0 3]
    assert slopes.tolist() == [[58.0]]  # twice 4 + 25
    assert layer.weight.grad is None


def test_ranks_go_where_a_number_saves_most() -> None:
    values = {"big": torch.tensor([5.0, 4.0, 0.1]), "small": torch.tensor([3.0, 0.2]), "flat": torch.tensor([0.1, 0.1])}
    assert lowrank.allot(values, {"big": 4, "small": 1, "flat": 1}, 10) == {"big": 2, "small": 1, "flat": 1}
    assert lowrank.allot(values, {"big": 4, "small": 1, "flat": 1}, 6) == {"big": 1, "small": 1, "flat": 1}
    assert lowrank.allot(values, {"big": 4, "small": 1, "flat": 1}, 100) == {"big": 3, "small": 2, "flat": 2}


def test_a_cut_of_every_direction_changes_nothing_and_a_smaller_one_keeps_its_budget() -> None:
    free, backbone = tiny_masked(0)
    torch.manual_seed(8)
    ids, mask = torch.randint(0, 20, (3, 8)), torch.rand(3, 8) < 0.4
    with torch.no_grad():
        for layer in linears(free.bert.encoder).values():
            layer.weight.add_(0.1 * torch.randn_like(layer.weight))
    losses = [lambda: nn.functional.cross_entropy(free(ids, mask), ids[mask], reduction="sum")]
    before = free(ids, mask).detach()
    missing = float((tiny_masked(1)[0](ids, mask) - before).detach().norm())  # without any of the update
    for rank in (16, 4):
        cut = free.cut(backbone, rank, losses)
        model, _ = tiny_masked(rank, free.whole(), cut)
        lost = float((model(ids, mask) - before).detach().norm())
        assert lost < (1e-3 if rank == 16 else 0.7) * missing
        taken = sum(value.numel() for value in cut.values())
        assert taken <= rank * sum(sum(layer.weight.shape) for layer in linears(free.bert.encoder).values())


def test_nearness_is_the_cosine_of_mean_states_without_masked_tokens() -> None:
    torch.manual_seed(0)
    encoder = BertModel(
        BertConfig(vocab_size=9, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8)
    ).eval()
    near = Nearness(encoder, 9, 1, 2)
    nothing, second = torch.zeros(1, 3, dtype=torch.bool), torch.tensor([[False, False, True, False]])
    cosine = near.cosines(torch.tensor([[1, 5, 2]]), nothing)[0]
    assert cosine.shape == (9,)
    assert int(cosine.argmax()) == 5
    assert float(cosine[5]) == pytest.approx(1.0, abs=1e-5)
    hidden = [near.cosines(torch.tensor([[1, 5, other, 2]]), second) for other in (3, 7)]
    torch.testing.assert_close(hidden[0], hidden[1])  # what is masked does not count
    shown = near.cosines(torch.tensor([[1, 5, 7, 2]]), torch.zeros_like(second))
    assert float((shown - hidden[1]).abs().max()) > 1e-3


def test_the_combined_distribution() -> None:
    scores = torch.tensor([[0.4, 0.4, 0.2], [0.5, 0.25, 0.25]]).log()
    cosines = torch.tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    distribution = combined_distribution(scores, cosines, math.log(2.0), torch.tensor([[-1, -1], [0, -1]]))
    # 0.4 : 0.8 : 0.2, and with the first word struck out 0.25 : 0.25
    torch.testing.assert_close(distribution, torch.tensor([[2 / 7, 4 / 7, 1 / 7], [0.0, 0.5, 0.5]]))


def test_the_distillation_loss_combines_teacher_and_sentence_encoder() -> None:
    teacher, _ = tiny_masked(0)
    student, _ = tiny_masked(12)
    objective = object.__new__(MaskedObjective)
    objective.model, objective.teacher = student, teacher.eval().requires_grad_(False)
    objective.beta, objective.echo, objective.floor = 3.0, 2.0, 0.05
    torch.manual_seed(4)
    cosines = torch.rand(2, 20)
    objective.nearness = SimpleNamespace(cosines=lambda ids, mask: cosines)  # type: ignore[assignment]
    ids = torch.tensor([[3, 4, 5, 6], [7, 8, 9, 3]])
    mask = torch.tensor([[False, True, False, False], [False, True, True, False]])
    context = torch.tensor([[3, -1, 5, 6], [7, -1, -1, 3]])
    batch = {"ids": ids, "mask": mask, "labels": ids[mask], "context": context}
    rows = [0, 1, 1]  # one masked word in the first text, two in the second
    teacher_targets = combined_distribution(teacher(ids, mask), cosines[rows], 3.0, context[rows])
    logs = student(ids, mask).log_softmax(-1)
    echoes = unlikelihood(logs, context[rows], 0.05)
    assert 0 < echoes.item() < unlikelihood(logs, context[rows]).item()  # the floor lets some through, not all
    expected = -(teacher_targets * logs).sum(-1).mean() + 2.0 * echoes
    torch.testing.assert_close(objective.loss(batch), expected)


def test_unlikelihood_penalizes_unwanted_predictions() -> None:
    logs = torch.tensor([[0.5, 0.25, 0.25], [0.1, 0.2, 0.7]]).log()
    unwanted = torch.tensor([[0, -1], [1, 2]])
    expected = -(math.log(0.5) + math.log(0.8) + math.log(0.3)) / 2
    assert float(unlikelihood(logs, unwanted)) == pytest.approx(expected, rel=1e-5)
    assert float(unlikelihood(logs, torch.full((2, 2), -1))) == 0.0
    assert float(unlikelihood(logs, unwanted, 0.6)) == pytest.approx(-math.log(0.3) / 2, rel=1e-5)
    assert math.isfinite(float(unlikelihood(torch.tensor([[0.0, -50.0]]), torch.tensor([[0]]))))


def test_what_is_left_of_the_rare_words_is_the_context() -> None:
    names = ["[CLS]", "[SEP]", "[PAD]", "[UNK]", "[MASK]", "the", "cat", "dog", "##s"]
    pieces = Vocabulary(SimpleNamespace(get_vocab=lambda: {name: index for index, name in enumerate(names)}))
    rare = np.arange(len(names)) != 5
    ids = [0, 5, 6, 7, 8, 1]
    batch = masking.mask_words(pieces, np.array([ids]), np.ones(len(names)), 0.3, np.random.default_rng(3), rare)
    hidden = batch["mask"][0]
    assert hidden[1:5].any()
    assert not hidden[1:5].all()
    for place, token in enumerate(ids):
        left = token in (6, 7, 8) and not hidden[place]
        assert int(batch["context"][0, place]) == (token if left else -1)


@pytest.mark.parametrize("rows", [None, [1, 3, 4]], ids=["all words", "some words"])
def test_low_rank_embedding_reads_and_scores_with_one_matrix(rows: list[int] | None) -> None:
    torch.manual_seed(0)
    words = LowRankEmbedding(nn.Embedding(7, 5), 2, None if rows is None else torch.tensor(rows))
    with torch.no_grad():
        words.lora_B.copy_(torch.randn_like(words.lora_B))
    matrix = words.weight.clone()
    matrix[slice(None) if rows is None else rows] += words.lora_B @ words.lora_A
    torch.testing.assert_close(words.whole(), matrix)
    torch.testing.assert_close(words(torch.tensor([3, 0])), matrix[[3, 0]])
    hidden = torch.randn(2, 5)
    torch.testing.assert_close(words.logits(hidden), hidden @ matrix.T)


def test_windows_share_no_input() -> None:
    starts = window_starts(103, 10, np.random.default_rng(5))
    ordered = sorted(starts.tolist())
    assert set(np.diff(ordered)) == {10}
    assert ordered[0] < 10
    assert ordered[-1] + 10 < 103


def test_bytes_of_tokens_are_bytes_of_text() -> None:
    tokenizer = byte_bpe(["the cat sat on the mat, naïve café"] * 5, 300)
    text = "A café: the cat “sat”.\n"
    ids = tokenizer.encode(f"{END}{text}").ids
    assert byte_lengths(tokenizer)[ids].sum() == len(text.encode())


class Uniform:
    """A causal model that finds every token equally likely."""

    device = torch.device("cpu")

    def __init__(self, vocabulary: int, positions: int) -> None:
        self.vocabulary = vocabulary
        self.config = SimpleNamespace(n_positions=positions)
        self.longest = 0

    def __call__(self, ids: Tensor) -> SimpleNamespace:
        self.longest = max(self.longest, ids.shape[1])
        return SimpleNamespace(logits=torch.zeros(1, ids.shape[1], self.vocabulary))


class Letters:
    """One token a byte."""

    bos_token_id = 0

    def __call__(self, text: str, **_: bool) -> dict[str, list[int]]:
        return {"input_ids": list(text.encode())}


@pytest.mark.parametrize("length", [1, 7, 8, 9, 100])
def test_bits_per_byte_of_a_uniform_model(length: int) -> None:
    model = Uniform(256, positions=8)
    checkpoint: Any = SimpleNamespace(model=model, tokenizer=Letters())
    assert measures.bits_per_byte(checkpoint, "a" * length) == pytest.approx(math.log2(256))
    assert model.longest <= 8


def test_translation_takes_the_best_reference() -> None:
    outputs = ["The cat sleeps on the chair.", "He has no time today."]
    single_reference = measures.translation(outputs, [["The cat is asleep on a chair."], ["He has no time today."]])
    two_references = measures.translation(
        outputs, [["The cat is asleep on a chair.", "The cat sleeps on the chair."], ["He has no time today."]]
    )
    assert two_references["BLEU"] == pytest.approx(100.0)
    assert single_reference["BLEU"] < 90


def test_repair_is_measured_before_and_after() -> None:
    numbers = measures.repair(["Good day.", "Bye"], ["god day", "Bye."], ["Good day.", "Bye."])
    assert numbers["exact before"] == 50.0
    assert numbers["exact after"] == 50.0
    assert numbers["chrF after"] != numbers["chrF before"]


def test_waves_tell_the_tiles_apart() -> None:
    wave_table = waves(torch.tensor([0, 128, 512, 8192]), 512)
    assert wave_table.shape == (4, 16)
    assert wave_table[0].tolist() == [1.0] * 8 + [0.0] * 8
    # the shortest is as long as a tile, the longest sixteen of them
    assert wave_table[1, [0, 8]].tolist() == pytest.approx([0.0, 1.0], abs=1e-5)
    assert wave_table[2, [0, 8]].tolist() == pytest.approx([1.0, 0.0], abs=1e-5)
    assert wave_table[3, [7, 15]].tolist() == pytest.approx([1.0, 0.0], abs=1e-4)
    assert (wave_table[2] - wave_table[0]).norm() > 1.0


def test_positions_are_tiled() -> None:
    table = TiledPositions(torch.tensor([[1.0], [2.0], [3.0]]))
    assert table(torch.arange(7))[:, 0].tolist() == [1, 2, 3, 1, 2, 3, 1]


def test_card_reads_back(tmp_path: Path) -> None:
    from core.checkpoints.spec import read_card

    made = Recipe(
        "toy",
        "toy",
        7,
        1.0,
        16,
        (),
        card={
            "name": "A “toy”",
            "summary": 'Says "no".',
            "data": ["x"],
            "data_licence": ["CC0"],
            "weaknesses": ["all"],
            "base": "minilm",
            "extra": {"tasks": {"en-fr": "translate: "}},
        },
    )
    stated = [Measure("top-1", 33.25, "%", "ten sentences"), Measure("BLEU", 40.0, "", "pairs")]
    write_card(tmp_path, made, steps=3, tokens=48, measures=stated)
    card = read_card(tmp_path / "card.toml")
    assert (card.name, card.summary, card.base) == ("A “toy”", 'Says "no".', "minilm")
    assert card.measures == tuple(stated)
    assert (card.steps, card.tokens, card.seed, card.licence) == (3, 48, 7, "Apache-2.0")
    assert card.extra["tasks"] == {"en-fr": "translate: "}
