"""Threads of a computation: one for a small model, all for others, and the host's number for both."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch import nn

from core import settings
from core.checkpoints import memory
from core.checkpoints.spec import Checkpoint, CheckpointSpec


@pytest.fixture(autouse=True)
def three_at_first(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    before = torch.get_num_threads()
    monkeypatch.setattr(memory, "all_threads", None)
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)
    settings.settings.cache_clear()


def checkpoint(size: int) -> Checkpoint:
    """A model of ``size`` bytes whose weights take no room."""
    spec = CheckpointSpec("one", "one", None, "encoder", "masked-lm", "directory", "a test", "", True)
    return Checkpoint(nn.Linear(size // 4, 1, bias=False, device="meta"), None, spec)  # type: ignore[arg-type]


@pytest.mark.parametrize("usable", [8, 2])
def test_a_small_model_takes_one_thread_and_a_larger_one_all(usable: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "processors", lambda: usable)
    memory.set_threads(checkpoint(memory.SMALL))
    assert torch.get_num_threads() == 1
    memory.set_threads(checkpoint(memory.SMALL + 4))
    assert torch.get_num_threads() == min(3, usable)


def test_the_host_sets_one_number_for_both(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATLAS_THREADS", "2")
    settings.settings.cache_clear()
    for size in (4, memory.SMALL + 4):
        memory.set_threads(checkpoint(size))
        assert torch.get_num_threads() == 2
