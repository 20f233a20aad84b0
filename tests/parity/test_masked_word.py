"""What Home opens with is stored: it is what the model computes, and counts for these files and this text alone."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from core import checkpoints
from core.attention.masked_word import MODEL_FILES, OPENS_WITH, read_masked_word, stored


def test_the_stored_masked_word_is_what_the_model_computes() -> None:
    checkpoint = checkpoints.load(checkpoints.first("home")[0])
    kept, live = stored(checkpoint.spec, OPENS_WITH), read_masked_word(checkpoint, OPENS_WITH)
    assert kept is not None
    assert kept.weights == pytest.approx(live.weights, abs=1e-4)
    assert kept.probabilities == pytest.approx(live.probabilities, abs=1e-4)
    assert replace(kept, weights=(), probabilities=()) == replace(live, weights=(), probabilities=())


@pytest.mark.parametrize("name", MODEL_FILES)
def test_nothing_is_stored_for_other_files_or_another_text(name: str, tmp_path: Path) -> None:
    spec = checkpoints.get(checkpoints.first("home")[0])
    for file in MODEL_FILES:
        shutil.copy(Path(spec.location, file), tmp_path)
    copied = replace(spec, location=str(tmp_path))
    assert stored(copied, OPENS_WITH) is not None
    assert stored(copied, OPENS_WITH.replace("oven", "fire")) is None
    with (tmp_path / name).open("ab") as file:
        file.write(b" ")
    assert stored(copied, OPENS_WITH) is None
    (tmp_path / name).unlink()
    assert stored(copied, OPENS_WITH) is None
