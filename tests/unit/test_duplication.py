"""The duplication task: a one-layer model with hashed attention, and the stored accuracies by rounds."""

from __future__ import annotations

from functools import partial

import pytest
import torch

from core.efficiency import duplication as stored
from core.training import duplication


def test_a_text_is_0w0w() -> None:
    ids = duplication.texts(3, torch.Generator().manual_seed(1))
    first, second = ids.chunk(2, dim=1)
    assert torch.equal(first, second)
    assert (first[:, 0] == 0).all()
    assert first[:, 1:].min() >= 1
    assert first[:, 1:].max() <= stored.SYMBOLS
    assert not torch.equal(ids[0], ids[1])


def test_hashing_in_one_chunk_is_full_attention_and_no_position_attends_to_a_later_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = duplication.DuplicationModel(1).eval()
    ids = duplication.texts(2, model.random)
    full = model(ids, 0)
    assert not torch.allclose(model(ids, 1), full, atol=1e-3)
    later = ids.clone()
    later[:, 100:] = 1
    assert torch.allclose(model(later, 0)[:, :100], full[:, :100], atol=1e-5)
    monkeypatch.setattr(duplication, "CHUNK", stored.POSITIONS)
    assert torch.allclose(model(ids, 2), full, atol=1e-5)


def test_training_is_a_function_of_the_seed_and_what_is_done_is_not_run_again() -> None:
    one, again, other = (duplication.trained(1, seed, steps=2).positions for seed in (4, 4, 5))
    assert torch.equal(one, again)
    assert not torch.equal(one, other)
    done = [stored.Row(rounds, 0, 0, 1.0, 1, 1.0, "") for rounds in stored.TRAINED]
    assert list(duplication.sweep(done, 1)) == []


def test_a_model_trained_again_leaves_torchs_generator_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duplication, "trained", partial(duplication.trained, steps=2))
    told: list[float] = []
    torch.manual_seed(5)
    found = duplication.repeat(1, lambda share, doing: told.append(share))
    after = torch.rand(1)
    assert list(found) == list(stored.EVALUATED)
    assert told == [0.0]
    torch.manual_seed(5)
    assert torch.equal(after, torch.rand(1))


def test_the_sweep_is_whole_and_more_rounds_help_a_model_trained_with_one() -> None:
    rows = stored.stored()
    runs = {(row.trained, row.evaluated, row.seed) for row in rows}
    seeds = {row.seed for row in rows}
    assert runs == {(one, other, seed) for one in stored.TRAINED for other in stored.EVALUATED for seed in seeds}
    assert len(rows) == len(runs)
    one = [stored.accuracy(1, rounds) for rounds in (1, 2, 4, 8)]
    assert one == sorted(one)
    assert one[0] + 0.05 < one[-1]
    assert stored.accuracy(0, 0) > 0.95 > stored.accuracy(0, 1)
    assert stored.stored(stored.FILE.with_name("none.csv")) == ()
