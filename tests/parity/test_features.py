"""Features against transformers' own model, with the autoencoder and hooks written here."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from core import checkpoints
from core.errors import AtlasError
from core.interventions.features import (
    CONTROLS,
    ENOUGH,
    FOLDER,
    SHOWN,
    autoencoder,
    measured,
    read_features,
    stored,
    switch_off,
    top_texts,
)
from tests.library import library_model

SLUG = "atlas-gpt-2"
TEXT = "The girl who lived there asked who had come, and thanked the king."


@pytest.fixture(scope="module")
def library() -> tuple[Any, Any]:
    checkpoint = checkpoints.load(SLUG)
    return library_model(checkpoint.model), checkpoint.tokenizer


def hooked(model: Any, change: Any) -> Any:
    """A hook on what the layer of the library's GPT-2 leaves."""

    def hook(_: object, __: object, output: Any) -> Any:
        return (change(output[0]), *output[1:]) if isinstance(output, tuple) else change(output)

    return model.transformer.h[measured(SLUG).layer].register_forward_hook(hook)


def by_hand(states: torch.Tensor, feature: int) -> torch.Tensor:
    """(n,) the activations of one feature, from the file."""
    parts = load_file(FOLDER / f"{SLUG}.safetensors")
    value = (states - parts["center"]) @ parts["encoder"][feature].float() + parts["bias"][feature]
    return torch.where(value > parts["threshold"], value, 0.0)


@torch.inference_mode()
def test_the_features_of_a_text_are_those_of_the_states_of_the_library(library: tuple[Any, Any]) -> None:
    model, tokenizer = library
    noted: list[torch.Tensor] = []
    handle = hooked(model, lambda output: noted.append(output[0]) or output)
    model(torch.tensor([tokenizer(TEXT, add_special_tokens=False)["input_ids"]]))
    handle.remove()
    found = read_features(checkpoints.load(SLUG), TEXT)
    assert found.activations.shape == (12, len(found.tokens))
    for feature, values in zip(found.features, found.activations, strict=True):
        assert values == pytest.approx(by_hand(noted[0], feature).numpy(), abs=2e-2)
    strongest = found.activations.max(axis=1)
    assert (strongest[:-1] >= strongest[1:]).all()
    every = torch.stack([by_hand(noted[0], feature).max() for feature in range(measured(SLUG).features)])
    assert sorted(every.topk(12).indices.tolist()) == sorted(found.features)
    assert 0.7 < found.explained < 1


@torch.inference_mode()
def test_ablating_a_feature_subtracts_it_from_every_state_of_the_library(library: tuple[Any, Any]) -> None:
    model, tokenizer = library
    checkpoint = checkpoints.load(SLUG)
    found = read_features(checkpoint, TEXT)
    row = next(row for row, values in enumerate(found.activations) if values.argmax() == 6)  # the second “who”
    feature = found.features[row]
    direction = load_file(FOLDER / f"{SLUG}.safetensors")["decoder"][feature].float()
    position = 6
    off = switch_off(checkpoint, TEXT, feature, position)
    ids = torch.tensor([tokenizer(TEXT, add_special_tokens=False)["input_ids"]])
    before = model(ids).logits[0, position].log_softmax(-1)
    handle = hooked(model, lambda states: states - by_hand(states[0], feature)[:, None] * direction)
    after = model(ids).logits[0, position].log_softmax(-1)
    handle.remove()
    for change in off.changes:
        assert change.before == pytest.approx(math.exp(before[change.id]), abs=1e-4)
        assert change.after == pytest.approx(math.exp(after[change.id]), abs=1e-4)
    bits = float((before.exp() * (before - after)).sum()) / math.log(2)
    assert off.bits == pytest.approx(bits, abs=1e-3)
    assert len(off.control_bits) == CONTROLS
    assert off.bits > 1.5 * sum(off.control_bits) / CONTROLS


def test_a_direction_has_length_1_and_a_feature_that_is_not_active_changes_nothing() -> None:
    learned = autoencoder(SLUG)
    assert learned.decoder.norm(dim=-1).numpy() == pytest.approx(1, abs=2e-3)
    found = read_features(checkpoints.load(SLUG), TEXT, most=400)
    still = next(i for i in range(len(learned.bias)) if i not in found.features)
    off = switch_off(checkpoints.load(SLUG), TEXT, still, 3)
    assert off.bits == pytest.approx(0, abs=1e-6)
    assert max(off.control_bits) == pytest.approx(0, abs=1e-6)


@torch.inference_mode()
def test_a_stored_text_activates_its_feature_as_stored(library: tuple[Any, Any]) -> None:
    """A stored text is a part of its window, so that the model reads less than it did."""
    model, tokenizer = library
    near = []
    for judged in measured(SLUG).judged:
        texts = top_texts(checkpoints.load(SLUG), judged.feature)
        assert [text.activation for text in texts] == sorted((text.activation for text in texts), reverse=True)
        best = texts[0]
        ids = tokenizer(best.before + best.token, add_special_tokens=False)["input_ids"]
        noted: list[torch.Tensor] = []
        handle = hooked(model, lambda output, noted=noted: noted.append(output[0]) or output)
        model(torch.tensor([ids]))
        handle.remove()
        near.append(float(by_hand(noted[0], judged.feature)[-1]) / best.activation)
    assert sorted(near)[len(near) // 4] > 0.5


@torch.inference_mode()
def test_the_loss_with_the_reconstruction_is_near_the_clean_one(library: tuple[Any, Any]) -> None:
    """On the bundled story, which is in no corpus."""
    from core.interventions.heldout import story

    model, tokenizer = library
    known, learned = measured(SLUG), autoencoder(SLUG)
    ids = torch.tensor([tokenizer(story(), add_special_tokens=False, verbose=False)["input_ids"][:120]])

    def loss() -> float:
        logits = model(ids).logits[0, :-1]
        return float(torch.nn.functional.cross_entropy(logits, ids[0, 1:]))

    losses = [loss()]
    for change in (
        lambda states: learned.reconstruct(learned.activations(states)),
        lambda states: learned.center.expand_as(states),
    ):
        handle = hooked(model, change)
        losses.append(loss())
        handle.remove()
    clean, reconstructed, mean = losses
    assert clean < reconstructed < clean + 2 * (known.reconstructed - known.clean) + 0.1
    assert mean > clean + 2


def test_a_third_of_twenty_features_has_a_name() -> None:
    known = measured(SLUG)
    assert len({judged.feature for judged in known.judged}) == 20
    named = [judged for judged in known.judged if judged.named]
    assert len(named) >= 7
    assert all(judged.name for judged in named)
    by_chance = sum(math.comb(SHOWN, right) for right in range(ENOUGH, SHOWN + 1)) / 2**SHOWN
    assert round(1 / by_chance) == 94


@pytest.mark.parametrize(
    ("slug", "feature", "position", "words"),
    [
        ("atlas-llama", 0, 0, "No features are stored for Atlas Llama"),
        (SLUG, 9_999, 0, "There is no feature 9,999: they count from 0 to 2,047"),
        (SLUG, 0, 99, "This text has 15 tokens, not 100"),
    ],
)
def test_what_has_no_feature_is_said(slug: str, feature: int, position: int, words: str) -> None:
    assert stored() == {SLUG}
    with pytest.raises(AtlasError, match=words):
        switch_off(checkpoints.load(slug), TEXT, feature, position)


def test_one_word_has_two_features_of_which_one_tells_its_use() -> None:
    """What the page says of its first text."""
    found = read_features(checkpoints.load(SLUG), TEXT)
    clause, question = (i for i, token in enumerate(found.tokens) if "who" in token)
    both, one = (found.activations[found.features.index(feature)] for feature in (159, 907))
    assert both[clause] == pytest.approx(both[question], rel=0.2)
    assert one[question] == pytest.approx(one[clause] / 2, rel=0.25)
