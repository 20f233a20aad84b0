"""Steering against transformers' own model, with a hook written here and without a cache."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from core import checkpoints
from core.errors import AtlasError
from core.interventions import steering
from core.interventions.steering import ALPHAS, SEEDS, bundled_sets, bundled_words, count_words, random_like, steer
from tests.library import library_model

LAYER = 1
HOOKED = f"transformer.h.{LAYER}"


def hooked(model: Any, change: Any) -> Any:
    """A hook on what a layer of the library's GPT-2 leaves."""

    def hook(_: object, __: object, output: Any) -> Any:
        return (change(output[0]), *output[1:]) if isinstance(output, tuple) else change(output)

    return model.get_submodule(HOOKED).register_forward_hook(hook)


def states(model: Any, tokenizer: Any, texts: str) -> torch.Tensor:
    """(n, w) of all tokens of a set, by the library."""
    noted: list[torch.Tensor] = []

    def note(output: torch.Tensor) -> torch.Tensor:
        noted.append(output[0])
        return output

    handle = hooked(model, note)
    for line in texts.splitlines():
        model(torch.tensor([tokenizer(line, add_special_tokens=False)["input_ids"]]))
    handle.remove()
    return torch.cat(noted)


@torch.inference_mode()
def test_each_token_and_cost_is_that_of_a_hook_on_the_library() -> None:
    """All positions steered in every pass over the whole text, as a cache makes of the new ones alone."""
    checkpoint, sets = checkpoints.load("atlas-gpt-2"), bundled_sets()
    library, tokenizer = library_model(checkpoint.model), checkpoint.tokenizer
    result = steer(checkpoint, sets.prompt, sets.toward, sets.away, LAYER, 2.0, seed=6)
    toward, away = (states(library, tokenizer, texts) for texts in (sets.toward, sets.away))
    vector = toward.mean(0) - away.mean(0)
    assert result.norm == pytest.approx(float(vector.norm()), abs=1e-4)
    assert result.states == pytest.approx(float(torch.cat((toward, away)).norm(dim=-1).mean()), abs=1e-3)
    random = random_like(vector, 6)
    assert float(random.norm()) == pytest.approx(result.norm, abs=1e-4)
    assert abs(float(torch.cosine_similarity(random, vector, 0))) < 0.3
    prompt = tokenizer(sets.prompt, add_special_tokens=False)["input_ids"]
    added = (torch.zeros_like(vector), 2 * vector, 2 * random)
    for written, addition in zip((result.plain, result.steered, result.control), added, strict=True):
        ids = list(written.ids)
        handle = hooked(library, lambda output, addition=addition: output + addition)
        passes = [library(torch.tensor([prompt + ids[:step]])).logits[0, -1] for step in range(16)]
        handle.remove()
        for step, logits in enumerate(passes):
            top = logits.topk(40)
            point = np.random.default_rng((6, step)).random()
            chosen = int((top.values.softmax(-1).double().cumsum(-1) <= point).sum())
            assert int(top.indices[chosen]) == ids[step]
        logs = library(torch.tensor([prompt + ids])).logits[0, len(prompt) - 1 : -1].log_softmax(-1)
        assert written.nats == pytest.approx(-float(logs[range(len(ids)), ids].mean()), abs=1e-3)
        assert written.text == tokenizer.decode(ids)


def test_the_direction_changes_what_is_written_and_a_random_one_does_not() -> None:
    sets = bundled_sets()
    texts = steering.sweep(checkpoints.load("atlas-gpt-2"), sets.prompt, sets.toward, sets.away, LAYER)
    assert len(texts.steered) == len(texts.control) == len(ALPHAS)
    assert {len(row) for row in (*texts.steered, *texts.control)} == {SEEDS}
    zero = ALPHAS.index(0)
    assert [text.ids for text in texts.steered[zero]] == [text.ids for text in texts.control[zero]]
    joy, sorrow = (
        [sum(count_words(text.text, words) for text in row) for row in texts.steered]
        for words in bundled_words().values()
    )
    assert joy[-1] >= 3 * max(joy[zero], 1)
    assert sorrow[0] >= 3 * max(sorrow[zero], 1)
    assert sorrow[-1] == joy[0] == 0
    costs = [sum(text.nats for text in row) / SEEDS for row in texts.steered]
    assert min(costs[0], costs[-1]) > costs[zero] + 0.1


def test_words_are_counted_whole_and_in_any_case() -> None:
    assert count_words("Joy! They were joyful; enjoying her JOY's dance.", bundled_words()["joy"]) == 4
    assert not bundled_words()["joy"] & bundled_words()["sorrow"]


@pytest.mark.parametrize("slug", ["atlas-gpt-neo", "atlas-llama", "atlas-ctrl"])
def test_every_decoder_of_known_layers_is_steered(slug: str) -> None:
    sets = bundled_sets()
    result = steer(checkpoints.load(slug), sets.prompt, sets.toward, sets.away, LAYER, 2.0)
    assert len({result.plain.ids, result.steered.ids, result.control.ids}) == 3


@pytest.mark.parametrize(
    ("slug", "change", "words"),
    [
        ("minilm", {}, "Choose another than MiniLM"),
        ("atlas-t5", {}, "needs a model that"),
        ("atlas-transformer-xl", {}, "cannot be steered here"),
        ("atlas-gpt-2", {"layer": 4}, "has layers 1 to 4, not 5"),
        ("atlas-gpt-2", {"toward": " \n"}, "A set of texts is empty"),
        ("atlas-gpt-2", {"toward": "The same.", "away": "The same."}, "nothing is left to add"),
        ("atlas-gpt-2", {"toward": "A line.\n" * 13}, "at most 12 lines"),
        ("atlas-gpt-2", {"prompt": "word " * 300}, "has positions for"),
    ],
)
def test_what_cannot_be_steered_is_said(slug: str, change: dict[str, Any], words: str) -> None:
    sets = bundled_sets()
    asked = {"prompt": sets.prompt, "toward": sets.toward, "away": sets.away, "layer": LAYER, "alpha": 1.0}
    with pytest.raises(AtlasError, match=words):
        steer(checkpoints.load(slug), **asked | change)
