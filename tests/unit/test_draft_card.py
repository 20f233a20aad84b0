"""The draft model that is bundled with Atlas GPT-2: its card states what is measured, and it changes no text."""

from __future__ import annotations

import pytest

from core import checkpoints
from core.checkpoints.registry import bundled_root
from core.language.decoding.draft import drafted, plain
from core.language.generate import prompt_ids


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
