r"""A tiny CLIP (Radford et al., 2021, arXiv 2103.00020) on drawn shapes: vectors, their cosines, zero-shot classes.

The class of an image x among texts t_1 ... t_k, with the learned temperature :math:`\tau`:

.. math:: p_i = \mathrm{softmax}_i \frac{\cos(f(x), g(t_i))}{\tau}

``python -m lab clip`` trains it (`lab.clip`). Texts are lower-case words, ended by :data:`END`.

Its data are drawn shapes with captions, which follow from a seed. A scene is a shape, its color, its size and its side
of a square image. Each pair of shape and color is one of 36; those of :data:`HELD_OUT`, one for each shape and each
color, are named by no training caption.

Legend: n images of s x s pixels, k texts, d dimensions of the common space.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.errors import InputEmpty, InputTooLong, InputUnusable
from core.lazy import Tensor, torch, transformers
from core.run.model import Module
from core.settings import ASSETS
from core.turns import building, turns

SceneKind = Literal["seen", "held out"]
"""Whether captions of the training name a pair of color and shape."""
SIDE = 48
"""Pixels of an image's side, s."""
COLORS = {
    "red": (214, 48, 49),
    "green": (39, 152, 80),
    "blue": (41, 98, 214),
    "yellow": (236, 200, 40),
    "purple": (142, 68, 173),
    "gray": (120, 124, 130),
}
SHAPES = ("circle", "square", "triangle", "diamond", "cross", "ring")
SIZES = {"small": 7.0, "large": 12.0}
"""Half the width of a shape in pixels."""
SIDES = {"on the left": (-10, 0), "on the right": (10, 0), "at the top": (0, -10), "at the bottom": (0, 10)}
"""Columns and rows from the middle of the image."""
SHIFT, TURN, NOISE = 4.0, 0.3, 15.0
"""Largest shift in pixels, largest turn in radians, standard deviation of the ground's noise."""
HELD_OUT = tuple(zip(COLORS, SHAPES, strict=True))
"""Pairs of color and shape that no training caption names."""
SEEN = tuple(pair for pair in product(COLORS, SHAPES) if pair not in HELD_OUT)
CAPTIONS = (
    "a {color} {shape}",
    "a {size} {color} {shape}",
    "a picture of a {color} {shape}",
    "a picture of a {size} {color} {shape} {side}",
    "a {color} {shape} {side}",
    "a {color} shape {side}",
    "a picture of a {size} {shape} {side}",
    "a {shape}",
    "a {color} shape",
    "a {size} {shape}",
)
"""Templates of the training captions."""
WORDS = tuple(sorted({word for text in (*CAPTIONS, *SIDES, *COLORS, *SHAPES, *SIZES) for word in text.split()}))
WORDS = tuple(word for word in WORDS if "{" not in word)
"""The vocabulary of the captions."""


class Scene(NamedTuple):
    """What an image shows."""

    color: str
    shape: str
    size: str
    side: str

    def caption(self, template: str) -> str:
        """The template with the scene's words."""
        return template.format(**self._asdict())


def scenes(pairs: Sequence[tuple[str, str]], rng: np.random.Generator) -> list[Scene]:
    """Two scenes of each pair of color and shape; they differ in size and side."""
    result = []
    for pair in pairs:
        sizes, sides = rng.permutation([*SIZES]), rng.permutation([*SIDES])
        result += [Scene(*pair, str(size), str(side)) for size, side in zip(sizes, sides[:2], strict=True)]
    return result


def draw_scene(scene: Scene, rng: np.random.Generator, color: NDArray[np.float64] | None = None) -> NDArray[np.uint8]:
    """(s, s, 3) image: the shape with random offset, size and shade, on a light ground with noise.

    ``color`` (red, green, blue) takes the place of the scene's own.
    """
    right, down = (SIDE / 2 + at + rng.uniform(-SHIFT, SHIFT) for at in SIDES[scene.side])
    radius = SIZES[scene.size] + rng.uniform(-1, 1)
    y, x = np.mgrid[:SIDE, :SIDE] + 0.5
    turn = np.exp(1j * rng.uniform(-TURN, TURN))
    at = (x - right + 1j * (y - down)) * turn
    distance = _distance(scene.shape, at.real, at.imag, radius)
    inside = np.clip(0.5 - distance, 0, 1)[..., None]
    shade = np.array(COLORS[scene.color] if color is None else color) + rng.uniform(-22, 22, 3)
    ground = rng.uniform(205, 250) + rng.normal(0, NOISE, (SIDE, SIDE, 1))
    return np.clip(inside * shade + (1 - inside) * ground, 0, 255).astype(np.uint8)


def _distance(shape: str, x: NDArray[np.float64], y: NDArray[np.float64], radius: float) -> NDArray[np.float64]:
    """(s, s) how far each pixel is outside a shape, about in pixels; negative inside."""
    across, along, round_ = np.abs(x), np.abs(y), np.hypot(x, y)
    bar = radius / 3
    distances = {
        "circle": round_ - radius,
        "square": np.maximum(across, along) - 0.85 * radius,
        "triangle": np.maximum((2 * across - y - radius) / 2.2, y - 0.8 * radius),
        "diamond": (across + along - 1.15 * radius) / 1.4,
        "cross": np.minimum(np.maximum(across - bar, along - radius), np.maximum(along - bar, across - radius)),
        "ring": np.abs(round_ - 0.8 * radius) - 0.22 * radius,
    }
    return distances[shape]


def sample(kind: SceneKind, each: int, seed: int) -> tuple[list[Scene], NDArray[np.uint8]]:
    """``2 * each`` scenes of every pair of color and shape, and their (n, s, s, 3) images."""
    rng = np.random.default_rng(seed)
    sampled = [scene for _ in range(each) for scene in scenes(SEEN if kind == "seen" else HELD_OUT, rng)]
    return sampled, np.stack([draw_scene(scene, rng) for scene in sampled])


def one_of_each_shape(kind: SceneKind, seed: int) -> tuple[list[Scene], NDArray[np.uint8]]:
    """New scenes, one of each shape in their order, and their (6, s, s, 3) images."""
    drawn, images = sample(kind, 1, seed)
    order = np.random.default_rng(seed).permutation(len(drawn))
    chosen = {drawn[i].shape: int(i) for i in order}
    numbers = [chosen[shape] for shape in SHAPES]
    return [drawn[i] for i in numbers], images[numbers]


FOLDER = ASSETS / "clip"
END = 1
"""The token whose last state is the text's vector; 0 is padding, 2 the first word."""
MOST_WORDS = 15
PROMPTS = ("{}", "a {}", "a picture of a {}")
"""Prompts whose accuracy is measured; of the last two, training captions have both."""


def tokenize(texts: Sequence[str]) -> Tensor:
    """(k, longest) ids.

    Raises:
        InputEmpty: a text without words.
        InputUnusable: a word that no training caption has.
        InputTooLong: over :data:`MOST_WORDS` words.
    """
    rows = []
    for text in texts:
        words = text.lower().replace(",", " ").replace(".", " ").split()
        if not words:
            raise InputEmpty("A class or a prompt is empty. Type one word or more.")
        if unknown := [word for word in words if word not in WORDS]:
            shown = unknown[0] if len(unknown[0]) <= 30 else f"{unknown[0][:29]}…"
            raise InputUnusable(f"No caption of the training has the word “{shown}”. It knows: {', '.join(WORDS)}.")
        if len(words) > MOST_WORDS:
            raise InputTooLong(f"A text has {len(words)} words; this model reads at most {MOST_WORDS}.")
        rows.append([WORDS.index(word) + 2 for word in words] + [END])
    longest = max(map(len, rows))
    return torch.tensor([row + [0] * (longest - len(row)) for row in rows])


def pixels(images: NDArray[np.uint8]) -> Tensor:
    """(n, 3, s, s) inputs of (n, s, s, 3) images, from -1 to 1."""
    return torch.tensor(images).permute(0, 3, 1, 2).float() / 127.5 - 1


@lru_cache(maxsize=1)
def model() -> Any:
    """The model, shared by all visitors: read-only."""
    with turns.locked(building):
        loaded = transformers.CLIPModel.from_pretrained(
            FOLDER, dtype=torch.float32, local_files_only=True, use_safetensors=True
        )
    return loaded.eval().requires_grad_(False)


def vectors_of_texts(clip: Module, texts: Sequence[str]) -> NDArray[np.float32]:
    """(k, d) unit vectors. Raises as :func:`tokenize`."""
    ids = tokenize(texts)
    pooled = clip.text_model(input_ids=ids, attention_mask=(ids != 0).long()).pooler_output
    return _unit(clip.text_projection(pooled))


def vectors_of_images(clip: Module, images: NDArray[np.uint8]) -> NDArray[np.float32]:
    """(n, d) unit vectors of (n, s, s, 3) images."""
    return _unit(clip.visual_projection(clip.vision_model(pixel_values=pixels(images)).pooler_output))


def _unit(vectors: Tensor) -> NDArray[np.float32]:
    unit: NDArray[np.float32] = torch.nn.functional.normalize(vectors.detach(), dim=-1).numpy()
    return unit


def zero_shot(
    clip: Module, images: NDArray[np.uint8], classes: Sequence[str], prompts: Sequence[str]
) -> NDArray[np.float64]:
    """(n, k) probabilities of the classes; of several prompts, a class's vector is the mean.

    Raises as :func:`tokenize`.
    """
    every = np.stack([vectors_of_texts(clip, [fill(prompt, name) for name in classes]) for prompt in prompts])
    mean = every.mean(0)
    mean /= np.linalg.norm(mean, axis=-1, keepdims=True)
    scores = float(clip.logit_scale.exp()) * vectors_of_images(clip, images) @ mean.T
    chances = np.exp(scores.astype(np.float64) - scores.max(-1, keepdims=True))
    return np.asarray(chances / chances.sum(-1, keepdims=True))


def fill(prompt: str, name: str) -> str:
    """The text of a class.

    Raises:
        InputUnusable: the prompt has no {}.
    """
    if "{}" not in prompt:
        raise InputUnusable("The prompt has no {} for the class. “a picture of a {}” would work.")
    return prompt.replace("{}", name)
