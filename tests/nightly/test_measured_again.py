"""Stored runs of fine-tuning and stored points of compression are measured again; every offered model is trained."""

from __future__ import annotations

from typing import Any

import pytest

from core import checkpoints
from core.attention.roles.treebank import SHIPPED, read_treebank
from core.finetuning import record, trainable
from core.finetuning.examples import TEN, parse, ready
from core.finetuning.setup import Setup, baselines, usual_rate
from core.finetuning.train import fine_tune
from core.studies import results
from core.table import measured
from core.vectors.precomputed import rows_of
from core.vectors.probing import FOLDER
from lab import compress, duplication
from lab.compress import Compressed, Compression
from lab.probes import probe, read_words
from lab.record import trained
from tests.unit.test_finetuning import LINES


@pytest.mark.parametrize("slug", [spec.slug for spec in checkpoints.available() if spec.ready and trainable(spec)])
def test_each_offered_model_can_be_trained(slug: str) -> None:
    checkpoint = checkpoints.load(slug)
    pooling: Any = "last" if checkpoint.spec.offers("continues") else "first"
    setup: Any = Setup(trained="lora", pooling=pooling, epochs=1)
    *_, last = fine_tune(checkpoint, parse(LINES), setup)
    assert last.probabilities.sum(1) == pytest.approx(1, abs=1e-4)


def test_pretraining_is_worth_more_than_random_weights_and_frozen_features() -> None:
    """The lesson of the page as it opens, with the baselines that could beat it."""
    checkpoint, data = checkpoints.load("atlas-bert"), ready("topic")
    setup = Setup(rate=usual_rate("all"))
    runs = {"fine-tuned": setup, **baselines(setup)}
    last = {name: [*fine_tune(checkpoint, data, run)][-1] for name, run in runs.items()}
    accuracy = {name: epoch.accuracy for name, epoch in last.items()}
    assert accuracy["fine-tuned"] >= max(accuracy["head"], accuracy["random"], data.majority) + 0.05, accuracy
    for name, run in runs.items():
        stored = record.stored("atlas-bert", "topic", run)
        assert [epoch.last for epoch in stored] == [False] * 15 + [True]
        # another processor rounds differently, and so may end elsewhere
        assert stored[-1].accuracy == pytest.approx(accuracy[name], abs=0.13), name
        assert stored[-1].parameters == last[name].parameters


def test_ten_sentences_are_enough_again() -> None:
    """What the page opens with, trained again."""
    again = trained(checkpoints.load(checkpoints.first(record.OPENS_WITH[TEN])[0]), TEN)
    last = {run: float(again[f"{TEN}.{run}.accuracy"][-1]) for run in record.runs(TEN)}
    assert last["chosen"] > 0.9
    assert last["head"] <= last["chosen"] - 0.05
    assert last["random"] < 0.5


def test_the_stored_points_are_measured_again() -> None:
    points = {(point.model, point.recipe): point for point in measured(results("compression"), Compressed)}
    for recipe in (Compression(), Compression(pruned=50, bits=4), Compression(pruned=30, heads=50, layers=1, bits=8)):
        again = compress.measure(checkpoints.load("atlas-bert"), recipe)
        stored = points["atlas-bert", recipe]
        assert again.stored_bytes == pytest.approx(stored.stored_bytes, rel=1e-4)
        assert again.memory_bytes == stored.memory_bytes
        assert again.bits_per_token == pytest.approx(stored.bits_per_token, abs=0.02)
        assert again.accuracy == pytest.approx(stored.accuracy, abs=0.02)
        assert 0 < again.fastest <= again.seconds <= again.slowest


def test_a_model_of_the_duplication_task_is_trained_again() -> None:
    """Many steps enlarge the differences of rounding."""
    model = duplication.trained(0, 0)
    rows = [
        row for row in measured(results("duplication"), duplication.RoundsResult) if (row.trained, row.seed) == (0, 0)
    ]
    assert {row.evaluated: duplication.accuracy(model, row.evaluated) for row in rows} == pytest.approx(
        {row.evaluated: row.accuracy for row in rows}, abs=0.05
    )


def test_stored_probes_are_learned_again() -> None:
    words = read_words(checkpoints.load("atlas-distilbert"), list(read_treebank(SHIPPED)))
    rows, *_ = probe(words, "speech")
    stored = [row for row in rows_of(FOLDER / "atlas-distilbert.csv") if row["task"] == "speech"]
    for row, again in zip(stored, rows, strict=True):
        expected = [int(count) for name, count in row.items() if name != "task"]
        # another processor rounds differently, so that a few words are on the other side
        assert list(again[1:]) == pytest.approx(expected, abs=4)
