"""CLIP: drawn shapes with captions, and the contrastive loss by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InputEmpty, InputTooLong, InputUnusable
from core.objectives import contrastive
from core.vectors import image_text
from core.vectors.image_text import SIDES, Scene


def test_a_shape_has_its_color_and_stands_on_its_side() -> None:
    for side, (across, down) in SIDES.items():
        image = image_text.draw_scene(Scene("blue", "square", "small", side), np.random.default_rng(1)).astype(int)
        rows, columns = np.nonzero(image[..., 2] - image[..., 0] > 80)
        assert 60 < len(rows) < 250  # a square of about 12 by 12 pixels
        assert np.sign(round((columns.mean() - 24) / 10)) == np.sign(across)
        assert np.sign(round((rows.mean() - 24) / 10)) == np.sign(down)
    first, again = (image_text.sample("seen", 1, 5) for _ in range(2))
    assert first[0] == again[0]
    assert np.array_equal(first[1], again[1])


def test_texts_are_words_of_the_captions_and_an_end() -> None:
    ids = image_text.tokenize(["a RED circle,", "a"])
    assert ids.tolist() == [[*(image_text.WORDS.index(word) + 2 for word in ("a", "red", "circle")), 1], [2, 1, 0, 0]]
    with pytest.raises(InputUnusable, match=r"the word “dog”. It knows: a, at, blue"):
        image_text.tokenize(["a dog"])
    with pytest.raises(InputEmpty):
        image_text.tokenize(["a", " . "])
    with pytest.raises(InputTooLong, match="16 words"):
        image_text.tokenize(["a " * 16])
    with pytest.raises(InputUnusable, match=r"no \{\}"):
        image_text.fill("a picture", "ring")


def test_probabilities_are_those_of_the_library() -> None:
    clip, (_, images) = image_text.model(), image_text.sample("held out", 1, 4)
    classes = ["a red circle", "a ring", "a picture of a blue shape on the left"]
    ids = image_text.tokenize(classes)
    inputs = {"input_ids": ids, "attention_mask": (ids != 0).long(), "pixel_values": image_text.pixels(images)}
    with torch.inference_mode():
        wanted = clip(**inputs).logits_per_image.softmax(-1).numpy()
    assert image_text.zero_shot(clip, images, classes, ["{}"]) == pytest.approx(wanted, abs=1e-5)


ANGLES = st.lists(st.floats(0, 360), min_size=2, max_size=6)


def test_two_pairs_by_hand() -> None:
    """Pairs at 0 and 180 degrees, each text on its image: scores ±1 / τ, so log(1 + e^(-2/τ)) both ways."""
    loss = contrastive.image_text([0, 180], [0, 180], 0.5)
    assert loss.value == pytest.approx(math.log(1 + math.exp(-4)))
    assert loss.similarity == pytest.approx(np.array([[1, -1], [-1, 1]]))
    assert np.abs(loss.gradients).max() < 1e-12


def test_nothing_told_apart_costs_the_logarithm_of_the_batch() -> None:
    assert contrastive.image_text([30] * 4, [30] * 4, 0.07).value == pytest.approx(math.log(4))
    # three points at one place: each has two others, its partner one of them
    assert contrastive.supervised([30] * 3, [0, 0, 1]).value == pytest.approx(2 * math.log(2))


@given(ANGLES, st.floats(0.05, 1.0))
def test_a_step_against_the_gradient_lowers_the_loss(angles: list[float], temperature: float) -> None:
    texts = [(angle + 40) % 360 for angle in angles]
    loss = contrastive.image_text(angles, texts, temperature)
    moved = contrastive.descend(angles, loss.gradients[0], 1e-6)
    assert contrastive.image_text(moved, texts, temperature).value <= loss.value + 1e-12
    assert max(abs(a - b) for a, b in zip(angles, moved, strict=True)) <= 1e-6 + 1e-9
    assert loss.terms.sum() == pytest.approx(loss.value)


@given(ANGLES, st.floats(0.05, 1.0))
def test_turning_everything_changes_nothing(angles: list[float], temperature: float) -> None:
    classes = [i % 2 for i in range(len(angles))]
    loss = contrastive.supervised(angles, classes, temperature)
    turned = contrastive.supervised([angle + 77 for angle in angles], classes, temperature)
    assert turned.value == pytest.approx(loss.value, abs=1e-8)
    assert loss.gradients[0].sum() == pytest.approx(0, abs=1e-8)
