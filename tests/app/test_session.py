"""Results are kept by a model's files: a host who puts others in their place gets the answers of those."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file

from core import session
from core.checkpoints.spec import Checkpoint
from core.doctor import examine
from core.settings import settings
from tests import tiny
from tests.pages import opened, shown


def scale(checkpoint: Checkpoint) -> float:
    return float(checkpoint.model.get_input_embeddings().weight.abs().max())


def test_other_files_of_a_model_give_other_results(tmp_path: Path, use_checkpoints: Callable[[Path], None]) -> None:
    folder = tiny.tiny_bert(tmp_path / "mine")
    use_checkpoints(tmp_path)
    trace, before = session.trace("dir-mine", "The cat sat."), session.computed("", scale, "dir-mine")
    assert session.trace("dir-mine", "The cat sat.") is trace
    file = folder / "model.safetensors"
    save_file({name: 3 * value for name, value in load_file(file).items()}, file, {"format": "pt"})
    assert session.computed("", scale, "dir-mine") == 3 * before
    assert session.trace("dir-mine", "The cat sat.") is not trace


def test_a_page_says_that_the_engine_is_away_and_works_when_it_is_back(
    checkpoint_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as closed:  # bound and not listening: connections are refused
        closed.bind(("127.0.0.1", 0))
        monkeypatch.setenv("ATLAS_ENGINE", "ray")
        monkeypatch.setenv("ATLAS_ENGINE_URL", f"http://127.0.0.1:{closed.getsockname()[1]}")
        settings.cache_clear()
        at = opened("encoder", model="dir-tiny-bert", text="The [MASK] sat on the mat.")
        assert "model engine of this installation is away" in shown(at)
        assert any("is away" in problem for problem in examine().problems)
    monkeypatch.setenv("ATLAS_ENGINE", "process")
    settings.cache_clear()
    at.run()
    assert "is away" not in shown(at)
    monkeypatch.undo()
    settings.cache_clear()
