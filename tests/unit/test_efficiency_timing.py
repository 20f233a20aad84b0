"""Timing a forward pass: what is read, what is counted, what is kept."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from core import checkpoints, session
from core.efficiency import timing
from core.errors import InputUnusable


@pytest.mark.parametrize("slug", ["dir-tiny-bert", "dir-tiny-gpt2", "dir-tiny-t5", "dir-tiny-bigbird"])
def test_each_kind_is_timed_over_32_tokens(slug: str, checkpoint_dir: Path) -> None:
    told: list[float] = []
    found = timing.measure(checkpoints.load(slug), lambda share, doing: told.append(share))
    assert found.tokens == 32
    assert found.runs in (9, 3)  # three on a machine that is very busy
    assert 0 < found.fastest <= found.seconds <= found.slowest
    assert found.threads >= 1
    assert told == sorted(told)


def test_warming_up_is_not_counted(monkeypatch: pytest.MonkeyPatch, checkpoint_dir: Path) -> None:
    spent = iter([9.0, 0.5, *[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]])
    monkeypatch.setattr(timing, "_seconds", lambda model, ids: next(spent))
    found = timing.measure(checkpoints.load("dir-tiny-gpt2"))
    assert (found.fastest, found.seconds, found.slowest, found.runs) == (0.1, 0.5, 0.9, 9)


def test_a_slow_model_is_passed_three_times(monkeypatch: pytest.MonkeyPatch, checkpoint_dir: Path) -> None:
    spent = iter([9.0, 2.0, 2.0, 4.0, 3.0])
    monkeypatch.setattr(timing, "_seconds", lambda model, ids: next(spent))
    found = timing.measure(checkpoints.load("dir-tiny-gpt2"))
    assert (found.seconds, found.runs) == (3.0, 3)


def test_a_model_that_wants_more_than_a_text_gets_a_sentence(checkpoint_dir: Path) -> None:
    loaded = checkpoints.load("dir-tiny-gpt2")

    def forward(pixels: Any) -> None: ...

    strange: Any = SimpleNamespace(
        model=SimpleNamespace(
            forward=forward, config=SimpleNamespace(model_type="vit", is_encoder_decoder=False), device="cpu"
        ),
        tokenizer=loaded.tokenizer,
        spec=loaded.spec,
    )
    with pytest.raises(InputUnusable, match="cannot be timed"):
        timing.measure(strange)


def test_times_are_kept_for_the_same_files_and_measured_again_on_request(
    monkeypatch: pytest.MonkeyPatch, checkpoint_dir: Path
) -> None:
    calls: list[str] = []

    def measured(checkpoint: Any, progress: Any) -> timing.Timing:
        calls.append(checkpoint.spec.slug)
        return timing.Timing(len(calls), 1, 1, 1, 32, 1)

    monkeypatch.setattr(timing, "measure", measured)
    session.results.clear()
    spec = checkpoints.get("dir-tiny-bert")

    def quiet(share: float, doing: str) -> None: ...

    assert session.timed(spec) is None
    first = session.timing(spec.slug, quiet)
    assert session.timing(spec.slug, quiet) is first
    assert session.timed(spec) is first
    assert session.timing(spec.slug, quiet, again=True).seconds == 2
    monkeypatch.setattr("core.checkpoints.sizes.state_of", lambda spec: (("other", 1, 1),))
    assert session.timed(spec) is None
    assert session.timing(spec.slug, quiet).seconds == 3
