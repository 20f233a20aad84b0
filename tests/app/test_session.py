"""Results are kept by a model's files: a host who puts others in their place gets the answers of those."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from safetensors.torch import load_file, save_file

from core import session
from core.checkpoints.spec import Checkpoint
from tests import tiny


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
