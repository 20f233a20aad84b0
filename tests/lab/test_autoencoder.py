"""An autoencoder of states that are made of known directions, its top texts, and windows of a small corpus."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from core import checkpoints
from core.errors import AtlasError
from core.interventions.features import FOLDER, Autoencoder, Measured
from lab import features
from lab import recipe as recipes
from tests import tinycorpus


def test_directions_that_states_are_made_of_are_found_again() -> None:
    """64 directions in 32 dimensions, three of them in a state."""
    random = np.random.default_rng(0)
    made = random.normal(size=(64, 32))
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    amounts = np.zeros((20_000, 64))
    for row in amounts:
        row[random.choice(64, 3, replace=False)] = random.uniform(2, 4, 3)
    learned = features.learn((amounts @ made + 5).astype(np.float16), features=96, active=3, steps=900)
    assert learned.decoder.norm(dim=-1).numpy() == pytest.approx(1, abs=1e-5)
    cosines = torch.from_numpy(made).float() @ learned.decoder.T
    assert (cosines.amax(1) > 0.9).float().mean() > 0.8
    held = (amounts[:2000] @ made + 5).astype(np.float16)
    share, counts, active = features.explained(learned, held)
    assert share > 0.8
    assert 2 < active < 5
    assert counts.sum() == pytest.approx(active * 2000)


def test_the_most_active_window_comes_first_with_its_token_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two features that read a dimension each: of three windows the second has the largest value, at token 40."""
    learned = Autoencoder(torch.eye(2), torch.zeros(2), torch.zeros(2), 0.5, torch.eye(2), torch.zeros(2))
    states = np.zeros((3, features.LENGTH, 2), np.float16)
    states[0, 2, 0], states[1, 40, 0], states[2, 5, 0] = 3, 9, 0.25
    ids = np.arange(3 * features.LENGTH, dtype=np.uint16).reshape(3, -1)
    monkeypatch.setattr(features, "TEXTS", 3)
    found = features.top_texts(learned, states, ids)
    assert found["strength"].tolist() == [[9, 3, 0], [0, 0, 0]]
    first, second = found["texts"][0, :2].tolist()
    assert first[found["at"][0, 0]] == features.LENGTH + 40
    assert first == [*range(features.LENGTH + 40 - features.BEFORE, features.LENGTH + 40 + features.AFTER + 1)]
    assert second[found["at"][0, 1]] == 2
    assert second[-1] == -1  # near the start there are fewer tokens before


def test_windows_start_with_a_line_and_the_sides_share_none(tmp_path: Path) -> None:
    corpus = tinycorpus.write(tmp_path)
    checkpoint, recipe = checkpoints.load("atlas-gpt-2"), recipes.load("atlas-gpt-2")
    train, held = (features.windows(recipe, corpus, checkpoint, held_out=side) for side in (False, True))
    assert train.shape[1] == held.shape[1] == features.LENGTH
    assert len(train) > 3 * len(held)
    lines = {line[:20] for line in (corpus / "stories.txt").read_text().splitlines()}
    for ids in (*train[:5], *held):
        assert checkpoint.tokenizer.decode(ids.tolist()).lstrip()[:20] in lines
    with pytest.raises(AtlasError, match="too small"):
        features.windows(recipe, tinycorpus.write(tmp_path, books=2), checkpoint, held_out=True)


def test_the_loss_is_the_mean_surprisal_of_the_next_token() -> None:
    """An autoencoder that explains all leaves the loss as it is."""
    checkpoint = checkpoints.load("atlas-gpt-2")
    model: Any = checkpoint.model
    width = model.config.hidden_size
    far = torch.full((width,), 1e4)  # so that no value is below the threshold
    whole = Autoencoder(torch.eye(width), far, torch.zeros(width), 0.0, torch.eye(width), -far)
    ids = np.random.default_rng(0).integers(5, 6000, (2, features.LENGTH)).astype(np.uint16)
    found = features.loss(checkpoint, whole, ids)
    rows = torch.from_numpy(ids.astype(np.int64))
    with torch.inference_mode():
        own = float(model(input_ids=rows, labels=rows).loss)
    assert found.clean == pytest.approx(own, abs=1e-3)
    assert found.reconstructed == pytest.approx(own, abs=1e-1)
    assert found.mean > 0


def test_the_command_writes_what_the_page_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"STEPS": 3, "WINDOWS": 8, "TEXTS": 2, "MEASURED": 2}.items():
        monkeypatch.setattr(features, name, value)
    monkeypatch.setattr(features.learn, "__defaults__", (64, 16, 3))
    features.cli_features("atlas-gpt-2", tinycorpus.write(tmp_path, books=100), tmp_path)
    known = Measured.model_validate(tomllib.loads((tmp_path / "atlas-gpt-2.toml").read_text()))
    assert (known.features, known.trained, known.judged) == (64, 8 * features.LENGTH, ())
    ours, shipped = (load_file(folder / "atlas-gpt-2.safetensors") for folder in (tmp_path, FOLDER))
    assert {name: part.dtype for name, part in ours.items()} == {name: part.dtype for name, part in shipped.items()}
    assert {name: part.dim() for name, part in ours.items()} == {name: part.dim() for name, part in shipped.items()}
