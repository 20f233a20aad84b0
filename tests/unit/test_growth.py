"""The KV cache and drafts: the same scores both ways, counted tokens, and what has no cache."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

import numpy as np
import pytest
import torch

from core import checkpoints
from core.checkpoints.registry import bundled_root
from core.efficiency.growth import caches, check, computed
from core.errors import InputUnusable
from core.figures.decoding import cache_map
from core.language import starts
from core.language.decoding.draft import generate_with_draft, plain
from core.language.decoding.reader import Reader
from core.theme import LIGHT
from tests.parity.test_generate import DECODERS, PROMPT, REWRITERS, random_checkpoint

IDS = [(7 * i + 3) % 120 for i in range(40)]


@pytest.mark.parametrize("name", [name for name in (*DECODERS, *REWRITERS) if name != "openai-gpt"])
def test_both_ways_give_the_same_scores(name: str) -> None:
    model: Any = random_checkpoint(name, 0).model
    source = PROMPT if name in REWRITERS else None
    assert caches(model)
    reader = Reader(model, source)
    reader.next_logits(torch.tensor([IDS[:9]]))
    replayed = reader.replay(torch.tensor([IDS[9:10]]))()
    assert torch.allclose(
        replayed, Reader(model, source, cached=False).next_logits(torch.tensor([IDS[:10]])), atol=1e-4
    )
    # nothing was remembered of it
    other = reader.next_logits(torch.tensor([IDS[9:10]]))
    assert torch.allclose(replayed, other, atol=1e-5)


def test_the_tokens_that_pass_through_the_layers_are_counted() -> None:
    """Generated one by one, with the cache and without, and counted before the first block."""
    checkpoint = random_checkpoint("gpt2", 0)
    seen: list[int] = []
    model: Any = checkpoint.model
    hook = model.transformer.h[0].register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0].shape[1]))
    for cached in (True, False):
        seen.clear()
        reader = Reader(model, cached=cached)
        for token in range(12):
            reader.next_logits(torch.tensor([[token]]))
        assert sum(seen) == computed(12, cached=cached) == (12 if cached else 78)
    hook.remove()


def test_a_query_is_dropped_and_keys_and_values_stay() -> None:
    figure = cache_map(("a", "b", "c"), 2, theme=LIGHT)
    map_, texts = figure.data
    assert list(map_.y) == ["query", "key", "value"]
    assert np.nan_to_num(map_.z, nan=-1).tolist() == [[0, 1, -1], [2, 3, -1], [4, 5, -1]]
    assert list(texts.text) == ["–", "new", "", "kept", "new", "", "kept", "new", ""]
    colors = [color for _, color in map_.colorscale][::2]
    assert (colors[1], colors[3], colors[5]) == (LIGHT.query, LIGHT.key, LIGHT.value)
    assert LIGHT.hatch in unquote(figure.layout.images[0].source), "what is not computed yet looks like a value"


def test_a_model_without_a_cache_gets_a_sentence() -> None:
    checkpoint = random_checkpoint("openai-gpt", 0)
    assert not caches(checkpoint.model)
    with pytest.raises(InputUnusable, match="has no KV cache"):
        check(checkpoint)


def test_it_is_a_tenth_of_the_model_and_has_the_same_vocabulary() -> None:
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
    ids = starts.prompt(large, prompt).ids
    result = generate_with_draft(large, small, ids, 40)
    assert list(result.ids) == plain(large, ids, 40)
    assert result.passes_per_token < 0.7
