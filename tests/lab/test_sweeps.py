"""Stored sweeps of tiny trainings: each by hand, complete, and gone on with."""

from __future__ import annotations

import random
from copy import deepcopy
from pathlib import Path

import pytest
import torch

from core import checkpoints
from core.interventions.heldout import story
from core.studies import results
from core.table import measured
from lab import duplication, scaling
from lab.noise import GROUP, WINDOW, Noise, live, measure
from lab.scaling import BATCHES, RATES, SIZES, TOKENS, ScalingRun
from tests import tinycorpus


def test_a_text_is_0w0w() -> None:
    ids = duplication.texts(3, torch.Generator().manual_seed(1))
    first, second = ids.chunk(2, dim=1)
    assert torch.equal(first, second)
    assert (first[:, 0] == 0).all()
    assert first[:, 1:].min() >= 1
    assert first[:, 1:].max() <= duplication.SYMBOLS
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
    monkeypatch.setattr(duplication, "CHUNK", duplication.POSITIONS)
    assert torch.allclose(model(ids, 2), full, atol=1e-5)


def test_training_is_a_function_of_the_seed_and_what_is_done_is_not_run_again() -> None:
    first, again, other = (duplication.trained(1, seed, steps=2).positions for seed in (4, 4, 5))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    done = [duplication.RoundsResult(rounds, 0, 0, 1.0, 1, 1.0, "") for rounds in duplication.TRAINED]
    assert list(duplication.runs(done, None, 1)) == []


def test_the_stored_runs_of_duplication_are_complete() -> None:
    rows = measured(results("duplication"), duplication.RoundsResult)
    runs = {(row.trained, row.evaluated, row.seed) for row in rows}
    seeds = {row.seed for row in rows}
    expected = {(n, other, seed) for n in duplication.TRAINED for other in duplication.EVALUATED for seed in seeds}
    assert runs == expected
    assert len(rows) == len(runs)


def test_the_stored_decoders_are_complete() -> None:
    runs = measured(results("scaling"), ScalingRun)
    assert {((run.layers, run.width), run.tokens) for run in runs} == {(size, n) for size in SIZES for n in TOKENS}
    swept = measured(results("batches"), ScalingRun)
    assert {(run.batch, run.rate) for run in swept} == {(batch, rate) for batch in BATCHES for rate in RATES}


def test_a_sweep_trains_what_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(scaling, "STATE", tmp_path / "state")
    corpus = tinycorpus.write(tmp_path)
    wanted = [ScalingRun(1, 16, 1024, 256, rate, 0) for rate in (1e-3, 3e-2)]
    (slow,), (fast,) = scaling.sweep(wanted, [], corpus)
    assert fast.loss < slow.loss < 7
    assert fast.parameters == 12 * 16**2 + 13 * 16 + 2 * 16
    assert list(scaling.sweep(wanted, [slow], corpus)) == [[fast]], "the same seed gives the same run"
    assert not list((tmp_path / "state" / "scaling").glob("tmp*")), "no state is left"


def test_the_noise_scale_by_hand() -> None:
    """Gradients (2, 0) and (2, 2): |G|² = g₁ · g₂ = 4; their variance is 2, so windows of 10 tokens give 5."""
    weights = torch.zeros(2, requires_grad=True)
    gradients = [torch.tensor(row) for row in ([2.0, 0.0], [2.0, 2.0], [3.0, 0.0], [3.0, 2.0], [9.0, 9.0])]
    losses = [lambda g=g: (g * weights).sum() for g in gradients]
    first, both = measure([weights], losses, 10, 2)
    assert (first.signals, first.noises) == ((4.0,), (2.0,))
    assert first.scale == 5
    assert first.interval is None, "one group has no spread"
    assert both.scale == pytest.approx(10 * 4 / 13)
    scale = both.scale or 0
    assert both.interval == pytest.approx((scale / 2.25, scale * 2.25)), "each group alone gives 5 and 20/9"
    assert Noise(10, (-1.0, 0.5), (2.0, 2.0)).scale is None, "no common direction"


def test_a_live_models_noise_is_that_of_its_own_loss() -> None:
    checkpoint = checkpoints.load("atlas-gpt-2")
    model = deepcopy(checkpoint.model).requires_grad_(True)
    ids = checkpoint.tokenizer(story(), add_special_tokens=False, verbose=False)["input_ids"]
    windows = torch.tensor(ids).unfold(0, WINDOW + 1, WINDOW)
    order = random.Random(0).sample(range(len(windows)), len(windows))[:GROUP]
    losses = [lambda at=at: model(windows[at, None], labels=windows[at, None]).loss for at in order]
    by_hand = next(measure(list(model.parameters()), losses, WINDOW, GROUP))
    assert next(live(checkpoint)).noises == pytest.approx(by_hand.noises, rel=1e-3)
