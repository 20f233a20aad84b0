r"""A tiny CLIP (Radford et al., 2021, arXiv 2103.00020) on drawn shapes: vectors, their cosines, zero-shot classes.

The class of an image x among texts t_1 ... t_k, with the learned temperature :math:`\tau`:

.. math:: p_i = \mathrm{softmax}_i \frac{\cos(f(x), g(t_i))}{\tau}

``python -m core clip`` trains it (`core.training.clip`). Texts are lower-case words, ended by :data:`END`.

Legend: n images of s x s pixels, k texts, d dimensions of the common space.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.errors import InputEmpty, InputTooLong, InputUnusable
from core.lazy import Tensor, torch, transformers
from core.settings import ASSETS
from core.vectors.drawn import WORDS

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
    loaded = transformers.CLIPModel.from_pretrained(FOLDER, local_files_only=True, use_safetensors=True)
    return loaded.float().eval().requires_grad_(False)


def vectors_of_texts(clip: Any, texts: Sequence[str]) -> NDArray[np.float32]:
    """(k, d) unit vectors. Raises as :func:`tokenize`."""
    ids = tokenize(texts)
    pooled = clip.text_model(input_ids=ids, attention_mask=(ids != 0).long()).pooler_output
    return _unit(clip.text_projection(pooled))


def vectors_of_images(clip: Any, images: NDArray[np.uint8]) -> NDArray[np.float32]:
    """(n, d) unit vectors of (n, s, s, 3) images."""
    return _unit(clip.visual_projection(clip.vision_model(pixel_values=pixels(images)).pooler_output))


def _unit(vectors: Tensor) -> NDArray[np.float32]:
    unit: NDArray[np.float32] = torch.nn.functional.normalize(vectors.detach(), dim=-1).numpy()
    return unit


def zero_shot(
    clip: Any, images: NDArray[np.uint8], classes: Sequence[str], prompts: Sequence[str]
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
