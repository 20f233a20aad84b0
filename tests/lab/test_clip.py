"""The tiny CLIP: held-out scenes, its recipe and its card."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import safe_open

from core.checkpoints.spec import read_card
from core.vectors import image_text
from core.vectors.image_text import COLORS, HELD_OUT, SEEN, SHAPES
from lab import clip as training
from lab import recipe as recipes


@pytest.fixture(scope="module")
def objective() -> training.ImageTextObjective:
    return training.ImageTextObjective(recipes.load("recipe", image_text.FOLDER), Path(), Path("a/b/c"))


def test_each_color_and_each_shape_is_held_out_once_and_in_no_batch(objective: training.ImageTextObjective) -> None:
    assert len(SEEN) + len(HELD_OUT) == 36
    assert sorted(color for color, _ in HELD_OUT) == sorted(COLORS)
    assert sorted(shape for _, shape in HELD_OUT) == sorted(SHAPES)
    names = {number + 2: word for number, word in enumerate(image_text.WORDS)}
    rows = [[names.get(token, "") for token in row] for row in objective.batch(3)["ids"].tolist()]
    assert not [row for row in rows if any(color in row and shape in row for color, shape in HELD_OUT)]
    assert any("green" in row and "circle" in row for row in rows)


def test_the_recipe_builds_the_committed_model(objective: training.ImageTextObjective) -> None:
    with safe_open(image_text.FOLDER / "model.safetensors", "pt") as file:
        stored = {name: (file.get_slice(name).get_shape(), file.get_slice(name).get_dtype()) for name in file.keys()}  # noqa: SIM118
    made = {name: [*value.shape] for name, value in objective.model.state_dict().items() if "position_ids" not in name}
    assert {name: shape for name, (shape, _) in stored.items()} == made
    assert {kind for _, kind in stored.values()} == {"F16"}
    batch = objective.batch(2)
    assert all(torch.equal(value, objective.batch(2)[name]) for name, value in batch.items())
    assert float(objective.loss(batch).detach()) == pytest.approx(
        np.log(len(batch["ids"])), rel=0.15
    )  # of random guessing


def test_the_card_states_what_the_weights_give_and_the_baselines() -> None:
    stated = {
        (measure.name, measure.on): measure.value for measure in read_card(image_text.FOLDER / "card.toml").measures
    }
    for kind, (each, seed, on) in training.MEASURED.items():
        images = image_text.sample(kind, each, seed)
        for prompt in image_text.PROMPTS:
            accuracies = training.accuracy(image_text.model(), *images, [prompt])
            assert accuracies == pytest.approx(stated[prompt, on], abs=0.5)
            assert accuracies > 5 * stated["chance", on]
        assert stated["{}", on] < stated["a {}", on]  # no caption of the training is so short
