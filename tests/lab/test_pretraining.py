"""Encoders pretrained with several objectives for the page: what is trained, what is measured, what is counted."""

from __future__ import annotations

import dataclasses
import shutil
from itertools import pairwise
from pathlib import Path

import pytest
from torch.utils.flop_counter import FlopCounterMode

from core.attention.roles.treebank import SHIPPED
from core.finetuning.setup import Setup
from core.studies import results
from core.table import measured
from lab import pretraining
from lab.objectives import build
from lab.pretraining import OBJECTIVES, PRETRAINED, Pretrained
from tests import tinycorpus


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(pretraining, "STATE", tmp_path / "state")
    monkeypatch.setattr(pretraining, "LABELED", 20)
    monkeypatch.setattr(pretraining, "HELD_OUT", 10)
    monkeypatch.setattr(pretraining, "TRIALS", 2)
    monkeypatch.setattr(pretraining, "COUNTED", 3)
    monkeypatch.setattr(pretraining, "PROBED", Setup("head", epochs=3))
    monkeypatch.setattr(pretraining, "TUNED", Setup("all", epochs=2, rate=1e-3))
    tinycorpus.write(tmp_path)
    (tmp_path / "lines.txt").rename(tmp_path / "dialogue.txt")
    (tmp_path / "treebank").mkdir()
    for name in pretraining.TREEBANK.values():
        shutil.copyfile(SHIPPED, tmp_path / name)
    return tmp_path


def test_a_sweep_trains_and_tags_what_is_missing(corpus: Path) -> None:
    start, masked, replaced = Pretrained("", 0, 0), Pretrained("masked", 3000, 0), Pretrained("replaced", 3000, 0)
    untrained, *trained = pretraining.sweep([start, masked, replaced], [], corpus)
    for rows in (untrained, *trained):
        assert [row.trial for row in rows] == [0, 1]
        assert all(0 < row.accuracy < 1 and 0 < row.tuned < 1 for row in rows)
    assert [row.operations > 0 for row in (untrained[0], trained[0][0], trained[1][0])] == [False, True, True]
    assert list(pretraining.sweep([start, masked], [*untrained, *trained[0]], corpus)) == []
    assert not [path for path in (corpus / "state" / "pretraining").iterdir() if path.name != "text"], (
        "no state is left"
    )


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_operations_are_those_that_torch_counts(objective: str, corpus: Path) -> None:
    recipe = pretraining.recipe_of(Pretrained(objective, 1000, 0))
    recipe = dataclasses.replace(recipe, step_tokens=512)
    trained = build(recipe, corpus, corpus / "state" / "pretraining" / "data")
    batches = [trained.batch(step) for step in range(pretraining.COUNTED)]
    with FlopCounterMode(display=False) as counter:
        for batch in batches:
            trained.loss(batch)
    expected = 3 * counter.get_total_flops() / sum(map(trained.size, batches))
    assert pretraining.operations(trained) == pytest.approx(expected, rel=0.01)


def test_the_stored_runs_are_complete() -> None:
    rows = measured(results("pretraining"), Pretrained)
    points = {("", 0), *((name, tokens) for name in OBJECTIVES[:2] for tokens in PRETRAINED)}
    assert {(row.objective, row.tokens) for row in rows if row.seed == 0} >= points
    by_tokens = sorted({(row.tokens, row.operations) for row in rows if row.objective == "masked"})
    assert all(big[1] > small[1] for small, big in pairwise(by_tokens))
    detection = sorted({(row.tokens, row.learned) for row in rows if row.objective == "replaced" and row.seed == 0})
    assert all(learned > 0.6 for _, learned in detection), "the discriminator learns its task"
