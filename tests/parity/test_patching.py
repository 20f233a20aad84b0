"""Patching against transformers' own models, with hooks written here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from core import checkpoints
from core.errors import InputUnusable
from core.interventions.pairs import pairs_of
from core.interventions.patching import Cell, Kind, States, patch_cell, patch_grid
from core.language.makers import inputs
from tests.library import library_model

LAYERS = {
    "minilm": "bert.encoder.layer.{}",
    "atlas-gpt-2": "transformer.h.{}",
    "atlas-t5": "encoder.block.{}",
}
PAIRS = {"minilm": "attraction", "atlas-gpt-2": "because", "atlas-t5": "article"}
ADDED = {
    "minilm": "bert.encoder.layer.{}.attention.output.dense",
    "atlas-gpt-2": "transformer.h.{}.attn.c_proj",
    "atlas-t5": "encoder.block.{}.layer.0.SelfAttention.o",
}


def logits(model: Any, tensors: dict[str, Any], path: str, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """The library's logits while what a module returns is changed."""

    def hook(_: object, __: object, output: Any) -> Any:
        return (change(output[0]), *output[1:]) if isinstance(output, tuple) else change(output)

    handle = model.get_submodule(path).register_forward_hook(hook)
    with torch.inference_mode():
        found = model(**tensors).logits[0]
    handle.remove()
    return found


@pytest.mark.parametrize("slug", LAYERS)
@pytest.mark.parametrize("part", ["resid", "attn"])
def test_a_share_is_that_of_a_hook_on_the_library(slug: str, part: States) -> None:
    checkpoint = checkpoints.load(slug)
    pair = pairs_of(checkpoint.spec)[PAIRS[slug]]
    more: dict[str, Any] = {"answers": pair.answers, "step": pair.step}
    grid = patch_grid(checkpoint, pair.first, pair.second, part, **more)
    texts = [inputs(checkpoint, text, step=pair.step) for text in (pair.first, pair.second)]
    library = library_model(checkpoint.model)
    row, at = divmod(int(grid.recovered[1:].argmax()), grid.recovered.shape[1])
    row += 1
    path = (LAYERS if part == "resid" else ADDED)[slug].format(row - (part == "resid"))
    states: list[torch.Tensor] = []

    def noted(state: torch.Tensor) -> torch.Tensor:
        states.append(state.clone())
        return state

    whole = [logits(library, text.tensors, path, noted)[text.position] for text in texts]

    def patched(state: torch.Tensor) -> torch.Tensor:
        state = state.clone()
        state[0, at] = states[0][0, at]
        return state

    after = logits(library, texts[1].tensors, path, patched)[texts[1].position]
    tokenizer = checkpoint.tokenizer
    ids = [
        int(row.argmax()) if not word else tokenizer(f" {word}", add_special_tokens=False)["input_ids"][0]
        for word, row in zip(pair.answers, whole, strict=True)
    ]
    first, second, third = (float(row[ids[0]] - row[ids[1]]) for row in (*whole, after))
    assert grid.differences == pytest.approx((first, second), abs=1e-3)
    assert grid.recovered[row, at] == pytest.approx((third - second) / (first - second), abs=1e-3)
    assert grid.recovered[row, at] > 0.05
    cell = Cell(row, at)
    once = patch_cell(
        checkpoint, pair.first, pair.second, part, "decoder" if slug == "atlas-gpt-2" else "encoder", cell, **more
    )
    assert once.difference == pytest.approx(third, abs=1e-3)
    top = int(after.argmax())
    assert {change.id: change.after for change in once.changes}[top] == pytest.approx(
        float(after.softmax(-1)[top]), abs=1e-3
    )


def test_embeddings_and_the_last_state_carry_all_of_the_difference() -> None:
    """Before the first layer at the word that differs, after the last where the head reads."""
    for slug in ("minilm", "atlas-gpt-2"):
        checkpoint = checkpoints.load(slug)
        pair = list(pairs_of(checkpoint.spec).values())[-1]
        grid = patch_grid(checkpoint, pair.first, pair.second, "resid", answers=pair.answers)
        (differing,) = grid.differing
        assert grid.recovered[0, differing] == pytest.approx(1, abs=1e-3)
        assert grid.recovered[-1, grid.position] == pytest.approx(1, abs=1e-3)
        assert abs(grid.recovered[0].sum() - grid.recovered[0, differing]) < 1e-3
        if grid.causal:
            assert abs(grid.recovered[:, :differing]).max() < 1e-5


@pytest.mark.parametrize(
    ("first", "second", "answers", "words"),
    [
        ("The dogs [MASK] happy.", "The dogs and cats [MASK] happy.", ("", ""), "tokens"),
        ("The dog [MASK] happy.", "The dog [MASK] happy.", ("", ""), "same answer"),
        ("The dogs [MASK] happy.", "The dog [MASK] happy.", ("antidisestablishment", ""), "tokens of this model"),
    ],
)
def test_what_cannot_be_compared_is_refused(first: str, second: str, answers: tuple[str, str], words: str) -> None:
    with pytest.raises(InputUnusable, match=words):
        patch_grid(checkpoints.load("minilm"), first, second, answers=answers)


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_heads_of_an_encoder_decoder_are_patched_on_both_sides_of_the_bridge(kind: Kind) -> None:
    checkpoint = checkpoints.load("atlas-t5")
    grid = patch_grid(checkpoint, "The girl sleeps.", "The boy sleeps.", "heads", kind)
    assert grid.recovered.shape == (checkpoint.model.config.num_layers, checkpoint.model.config.num_heads)
    assert abs(grid.recovered).max() > 0.05 or kind == "decoder"


@pytest.mark.parametrize(
    "slug", [spec.slug for spec in checkpoints.available() if spec.source == "bundled" and spec.offers("rewrites")]
)
def test_the_first_example_stays_at_its_word_in_every_encoder(slug: str) -> None:
    """All of the difference but what is in the output so far; of bytes, each letter has a part."""
    checkpoint = checkpoints.load(slug)
    pair = next(iter(pairs_of(checkpoint.spec).values()))
    grid = patch_grid(checkpoint, pair.first, pair.second, step=pair.step)
    at_word = grid.recovered[:, list(grid.differing)]
    assert at_word.max(1) == pytest.approx(1, abs=0.03) or (slug == "atlas-byt5" and at_word.max(1).min() > 0.7)
    cross = patch_grid(checkpoint, pair.first, pair.second, "attn", "cross", step=pair.step)
    assert cross.causal
    assert abs(cross.recovered[:, :-1]).max() < cross.recovered[:, -1].max()


def test_examples_of_one_model_are_not_offered_to_others() -> None:
    offered = {slug: [*pairs_of(checkpoints.get(slug))] for slug in ("atlas-t5", "atlas-bart", "atlas-byt5")}
    assert offered == {"atlas-t5": ["noun", "article"], "atlas-bart": ["noun"], "atlas-byt5": ["letter"]}


@pytest.mark.parametrize("slug", ["minilm", "atlas-xlm", "atlas-byt5", "atlas-t5"])
def test_every_example_that_is_offered_changes_the_answer(slug: str) -> None:
    checkpoint = checkpoints.load(slug)
    for pair in pairs_of(checkpoint.spec).values():
        grid = patch_grid(checkpoint, pair.first, pair.second, answers=pair.answers, step=pair.step)
        assert not np.isnan(grid.recovered).any(), pair.slug


@pytest.mark.parametrize("slug", ["atlas-xlnet", "atlas-reformer"])
def test_two_streams_are_refused(slug: str) -> None:
    with pytest.raises(InputUnusable, match="cannot be patched here: its layers carry two streams"):
        patch_grid(checkpoints.load(slug), "The dogs [MASK] happy.", "The dog [MASK] happy.")
