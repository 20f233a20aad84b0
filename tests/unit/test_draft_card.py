"""The draft model that is bundled with Atlas GPT-2: its card states what is measured, and it changes no text."""

from __future__ import annotations

import pytest

from core import checkpoints
from core.checkpoints.registry import bundled_root, get, part_of
from core.language.decoding.draft import drafted, plain
from core.language.generate import prompt_ids
from core.training import evaluate
from core.training import recipe as recipes


def test_its_card_states_what_is_measured() -> None:
    card = part_of(get("atlas-gpt-2"), "draft").card
    assert card is not None
    stated = {(m.name, m.on): m.value for m in card.measures}
    found = evaluate.evaluate("atlas-gpt-2-draft")
    assert {m.name for m in found} == {"bits per byte", "drafted tokens accepted", "passes per token"}
    for measure in found:
        near = {"bits per byte": 0.01, "drafted tokens accepted": 2.0, "passes per token": 0.02}[measure.name]
        assert stated[measure.name, measure.on] == pytest.approx(measure.value, abs=near)


def test_its_card_is_that_of_its_recipe() -> None:
    card = part_of(get("atlas-gpt-2"), "draft").card
    recipe = recipes.load("atlas-gpt-2-draft")
    assert card is not None
    assert (card.recipe, card.seed, card.summary) == (recipe.slug, recipe.seed, recipe.card["summary"])
    assert list(card.weaknesses) == recipe.card["weaknesses"]


def test_it_is_a_tenth_of_the_model_and_speaks_of_the_same_tokens() -> None:
    large, small = checkpoints.load("atlas-gpt-2"), checkpoints.load("atlas-gpt-2", "draft")
    assert large.spec.card is not None
    assert small.spec.name == "Atlas GPT-2's draft" != large.spec.name
    assert small.model.num_parameters() == 509_696
    assert 9 < large.model.num_parameters() / small.model.num_parameters() < 10
    assert small.tokenizer.get_vocab() == large.tokenizer.get_vocab()
    assert (bundled_root() / "atlas-gpt-2" / "draft" / "model.safetensors").stat().st_size < 1_100_000


@pytest.mark.parametrize("prompt", ["Once upon a time there was a little girl who", "The old man opened the door"])
def test_it_changes_no_text_and_halves_the_passes(prompt: str) -> None:
    large, small = checkpoints.load("atlas-gpt-2"), checkpoints.load("atlas-gpt-2", "draft")
    ids = prompt_ids(large, prompt)
    found = drafted(large, small, ids, 40)
    assert list(found.ids) == plain(large, ids, 40)
    assert found.passes_per_token < 0.7
