"""Trains and measures the tiny CLIP: ``python -m lab clip``, from the recipe in ``assets/clip``.

A batch holds two images of each color and shape of the training, of other sizes and sides, so that many captions fit
more than one of its images, as on the web, and three images of each shape in any color, which the caption leaves out.
Such an image may come near a held-out pair, which no caption names; without them, held-out pairs were right in 79%.

Measured among the captions of all 36 pairs, on new images of the pairs of the training and of those held out. The
baseline has no texts: it takes the color of the training image whose color is nearest, and the shape of the one whose
gray pixels are nearest, each by itself, so that it can name a new pair.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from core.checkpoints.spec import Measure
from core.lazy import transformers
from core.vectors import image_text
from core.vectors.image_text import CAPTIONS, COLORS, SEEN, SHAPES, SIDES, SIZES, Scene
from lab import models
from lab import recipe as recipes
from lab.objective import Batch, Objective, Share
from lab.train import STATE, Trainer

MEASURED: dict[image_text.SceneKind, tuple[int, int, str]] = {
    "held out": (20, 0, "240 images of the 6 color-shape pairs held out from training"),
    "seen": (4, 3, "240 new images of the 30 color-shape pairs of the training"),
}
"""Twos of images of each pair, their seed, and what the card says of them."""
COLORLESS = ("a {shape}", "a {size} {shape}", "a picture of a {size} {shape} {side}")
"""Templates of an image whose color has no name."""
UNNAMED = 3
"""Images of each shape, in each batch, in a color that no caption names."""
KNOWN = 100
"""Twos of training images of each pair that the baseline has."""
PAIRS = [f"{color} {shape}" for color, shape in product(COLORS, SHAPES)]


class ImageTextObjective(Objective):
    """The contrastive loss of drawn images and captions."""

    def prepare_data(self) -> None:
        self.held_out = image_text.sample("held out", 4, seed=1)

    def new_model(self) -> Any:
        words = self.recipe.model["text_config"] | {"vocab_size": len(image_text.WORDS) + 2}
        return transformers.CLIPModel(models.new_config(self.recipe.model, text_config=words))

    def batch(self, step: int) -> Batch:
        rng = np.random.default_rng([self.recipe.seed, 1, step])
        scenes = image_text.scenes(SEEN, rng)
        texts = [scene.caption(CAPTIONS[int(rng.integers(len(CAPTIONS)))]) for scene in scenes]
        images = [image_text.draw_scene(scene, rng) for scene in scenes]
        for shape in SHAPES * UNNAMED:
            scene = Scene("", shape, str(rng.choice([*SIZES])), str(rng.choice([*SIDES])))
            images.append(image_text.draw_scene(scene, rng, rng.uniform(20, 230, 3)))
            texts.append(scene.caption(COLORLESS[int(rng.integers(len(COLORLESS)))]))
        return {"ids": image_text.tokenize(texts), "pixels": image_text.pixels(np.stack(images))}

    def loss(self, batch: Batch) -> Tensor:
        """CLIP's loss in nats."""
        inputs = {"input_ids": batch["ids"], "pixel_values": batch["pixels"]}
        loss: Tensor = self.model(**inputs, attention_mask=(batch["ids"] != 0).long(), return_loss=True).loss
        return loss

    def measure(self) -> dict[str, float]:
        return {f"accuracy, {prompt}": accuracy(self.model, *self.held_out, [prompt]) for prompt in image_text.PROMPTS}


def accuracy(clip: Any, scenes: Sequence[Scene], images: NDArray[np.uint8], prompts: Sequence[str]) -> float:
    """Images in percent whose color and shape have the highest probability among all pairs."""
    best = image_text.zero_shot(clip, images, PAIRS, prompts).argmax(-1)
    right = [PAIRS[i] == f"{scene.color} {scene.shape}" for i, scene in zip(best, scenes, strict=True)]
    return Share(sum(right), len(right))


def apart(scenes: Sequence[Scene], images: NDArray[np.uint8]) -> float:
    """Accuracy in percent of the nearest training images by mean color and by gray pixels."""
    known_scenes, seen = image_text.sample("seen", KNOWN, seed=2)

    def color(of: NDArray[np.uint8]) -> NDArray[np.float64]:
        """The mean color of each image's most colored or darkest tenth of pixels."""
        flat = of.reshape(len(of), -1, 3).astype(float)
        ground = np.median(flat, axis=1, keepdims=True)
        far = np.abs(flat - ground).sum(-1).argsort(1)[:, -flat.shape[1] // 10 :]
        return np.asarray(np.take_along_axis(flat, far[..., None], 1).mean(1))

    def gray(of: NDArray[np.uint8]) -> NDArray[np.float64]:
        levels = of.mean(-1).reshape(len(of), -1)
        levels -= levels.mean(1, keepdims=True)
        return np.asarray(levels / levels.std(1, keepdims=True))

    def nearest(features: Any) -> list[Scene]:
        ours, theirs = features(images), features(seen)
        squares = (ours**2).sum(1)[:, None] - 2 * ours @ theirs.T + (theirs**2).sum(1)[None]
        return [known_scenes[i] for i in squares.argmin(1)]

    both = zip(scenes, nearest(color), nearest(gray), strict=True)
    return Share(sum(s.color == c.color and s.shape == g.shape for s, c, g in both), len(scenes))


def measures(clip: Any) -> Iterator[Measure]:
    """The rows of the card, with the baselines."""
    for kind, (each, seed, on) in MEASURED.items():
        images = image_text.sample(kind, each, seed)
        rows = {"chance": 100 / len(PAIRS), "nearest color and nearest pixels": apart(*images)}
        rows |= {prompt: accuracy(clip, *images, [prompt]) for prompt in image_text.PROMPTS}
        rows["mean of the prompts"] = accuracy(clip, *images, image_text.PROMPTS)
        for name, value in rows.items():
            yield Measure(name, round(value, 1), "%", on, n=getattr(value, "n", 0))


def train(state: Path, *, steps: int | None = None) -> Trainer:
    """Train to the end of the recipe's budget, or resume."""
    recipe = recipes.load("recipe", image_text.FOLDER)
    trainer = Trainer(recipe, ImageTextObjective(recipe, Path(), state / "data"), state, steps=steps)
    trainer.resume()
    trainer.run()
    return trainer


def cli_clip(state: Path = STATE / "atlas-clip") -> None:
    """Train, and write the weights and the card."""
    trainer = train(state)
    models.ship_model(trainer.objective.model, image_text.FOLDER)
    image_text.model.cache_clear()
    rows, done = list(measures(image_text.model())), trainer.progress
    recipes.write_card(image_text.FOLDER, trainer.recipe, steps=done.step, tokens=done.tokens, measures=rows)
    print(*(f"{row.name}: {row.value}{row.unit}, {row.on}" for row in rows), f"{done.minutes:.1f} minutes", sep="\n")
