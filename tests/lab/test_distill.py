"""Distillation and widths: the loss by hand, sweeps that resume, and whether the stored runs are complete."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from core.errors import AtlasError, OutOfRange
from core.finetuning.examples import Example
from core.studies import results
from core.table import measured
from lab import sweeps
from lab.distill import DistillationRow, distill, loss, student_of
from lab.files import append
from lab.sweeps import ALPHAS, BOTTLENECKS, RANKS, TEMPERATURES, Width
from tests.unit.test_finetuning import LINES, parse, tiny_bert

NONE = torch.zeros(0, 2)


def test_the_loss_by_hand() -> None:
    """Student (2/3, 1/3) and teacher (4/5, 1/5) at T = 1; at T = 2 the square roots, normalized."""
    student, teacher = torch.tensor([[math.log(2), 0.0]]), torch.tensor([[math.log(4), 0.0]])
    goal = torch.tensor([1])
    task = math.log(3)
    assert float(loss(student, goal, None, NONE, 1, 5)) == pytest.approx(task)
    divergence = 0.8 * math.log(0.8 / (2 / 3)) + 0.2 * math.log(0.2 / (1 / 3))
    assert float(loss(None, goal, student, teacher, 0, 1)) == pytest.approx(divergence)
    p, q = 2 / 3, math.sqrt(2) / (1 + math.sqrt(2))
    soft = 4 * (p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q)))
    assert float(loss(student, goal, student, teacher, 0.25, 2)) == pytest.approx(0.25 * task + 0.75 * soft, abs=1e-6)
    assert float(loss(None, goal, teacher, teacher, 0, 3)) == pytest.approx(0, abs=1e-6)


def test_a_student_is_smaller_and_learns_from_the_teacher_alone() -> None:
    teacher = tiny_bert()
    student = student_of(teacher)
    config: Any = student.model.config
    assert (config.hidden_size, config.num_hidden_layers) == (32, 1)
    data = parse(LINES)
    texts = [example.text for example in (*data.train, *data.held_out)]
    scores = torch.tensor([[4.0, -4.0] if "cat" in text else [-4.0, 4.0] for text in texts])

    def run(alpha: float, soft: torch.Tensor) -> list[Any]:
        return list(distill(student, data, texts, soft, alpha, 2, 0, steps=40))

    learned = run(0.0, scores)
    assert learned[-1].accuracy == 1.0
    assert [row.step for row in learned] == [20, 40]
    assert run(0.0, -scores)[-1].accuracy == 0.0, "the labels do not count at α = 0"
    assert run(1.0, -scores) == run(1.0, scores), "nor the teacher at α = 1"
    assert run(0.0, scores) == learned, "the same seed gives the same run"
    with pytest.raises(OutOfRange):
        run(1.5, scores)


def examples(count: int) -> list[Example]:
    return [Example("a" if n % 2 else "b", f"{'cat' if n % 2 else 'dog'} {n}") for n in range(count)]


def test_a_sweep_runs_what_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sweeps, "HELD_OUT", 10)
    monkeypatch.setattr(sweeps, "LABELED", 8)
    monkeypatch.setattr(sweeps, "OPINIONS", 8)
    monkeypatch.setattr(sweeps, "TEACHER", replace(sweeps.TEACHER, epochs=1))
    monkeypatch.setattr(sweeps, "EPOCHS", dict.fromkeys(sweeps.EPOCHS, 1))
    monkeypatch.setattr(sweeps, "BOTTLENECKS", (2,))
    monkeypatch.setattr(sweeps, "RANKS", (2,))
    monkeypatch.setattr(sweeps, "ALPHAS", (0.5, 1.0))
    monkeypatch.setattr(sweeps, "distill", lambda *a: distill(*a, steps=2))
    checkpoint, texts = tiny_bert(), examples(60)
    file = tmp_path / "runs.csv"

    def runs() -> list[Any]:
        done = measured(file, DistillationRow)
        steps = list(sweeps.sweep_distillation(checkpoint, texts, done, 1))
        for rows in steps:
            append(rows, file)
        return steps

    full = runs()
    assert [(rows[-1].model, rows[-1].alpha, rows[-1].temperature) for rows in full] == [
        *(("student", 0.5, t) for t in TEMPERATURES),
        ("student", 1.0, 1),
        ("majority", 0.0, 1),
    ]
    assert runs() == []
    lines = file.read_text().splitlines()
    file.write_text("\n".join(lines[:3]) + "\n")  # killed after two runs
    resumed = runs()
    assert [rows[-1].loss for rows in resumed] == pytest.approx([rows[-1].loss for rows in full[2:]], rel=1e-4)
    trained = list(sweeps.sweep_widths(checkpoint, texts, (), 1))
    assert [(rows[0].trained, rows[0].size) for rows in trained] == [
        ("head", 0),
        ("adapters", 2),
        ("lora", 2),
        ("all", 0),
    ]
    assert list(sweeps.sweep_widths(checkpoint, texts, [rows[0] for rows in trained], 1)) == []


def test_the_sets_of_a_corpus(tmp_path: Path) -> None:
    for name in sweeps.KINDS.values():
        lines = ["=== A title of six whole words", "Too short.", *[f"{name} one two three four {n}" for n in range(9)]]
        (tmp_path / name).write_text("\n".join([*lines, lines[-1]]) + "\n", encoding="utf-8")
    kinds = sweeps.kinds(tmp_path)
    assert sorted({example.label for example in kinds}) == ["encyclopedia", "everyday", "story"]
    assert len(kinds) == len(set(kinds)) == 27
    rows = [f"{'positive' if n % 2 else 'negative'}\tThe soup was hot and number {n}." for n in range(8)]
    (tmp_path / "reviews.tsv").write_text("\n".join([*rows, rows[0], "positive\tGood."]) + "\n", encoding="utf-8")
    assert {example.label for example in sweeps.opinions(tmp_path)} == {"positive", "negative"}
    assert len(sweeps.opinions(tmp_path)) == 8
    data, remaining = sweeps.drawn(kinds, 4, seed=1, held_out=5)
    assert (len(data.train), len(data.held_out), len(remaining)) == (4, 5, 18)
    assert not {*data.train, *remaining} & set(data.held_out)
    assert sweeps.drawn(kinds, 4, seed=2, held_out=5)[0].held_out == data.held_out
    with pytest.raises(AtlasError, match="are needed"):
        sweeps.drawn(kinds, 20, seed=1, held_out=5)


def test_the_stored_runs_are_complete() -> None:
    steps = measured(results("distillation"), DistillationRow)
    seeds = {row.seed for row in steps if row.model == "majority"}
    assert len(seeds) >= 3
    settings = {(alpha, t) for alpha in ALPHAS[:-1] for t in TEMPERATURES} | {(1.0, 1)}
    last = {(row.alpha, row.temperature, row.seed): row.accuracy for row in steps if row.step == 100}
    assert set(last) == {(*setting, seed) for setting in settings for seed in seeds}
    widths = {(row.trained, row.size, row.seed) for row in measured(results("widths"), Width)}
    trained = {("head", 0), ("all", 0), *(("adapters", n) for n in BOTTLENECKS), *(("lora", n) for n in RANKS)}
    assert widths == {(*entry, seed) for entry in trained for seed in range(5)}
