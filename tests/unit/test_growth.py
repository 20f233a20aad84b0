"""What the cache saves: the same scores both ways, medians by turns, and models that keep nothing."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from core import checkpoints
from core.checkpoints.registry import bundled_root
from core.efficiency.growth import TURNS, caches, lengths, measure
from core.errors import InputUnusable
from core.figures.lines import timing_lines
from core.language.decoding.draft import generate_with_draft, plain
from core.language.decoding.reader import Reader
from core.language.generate import prompt_ids
from core.theme import BLUE, LIGHT
from tests.parity.test_generate import DECODERS, PROMPT, REWRITERS, random_checkpoint

IDS = [(7 * i + 3) % 120 for i in range(40)]


def test_lengths_are_even_and_end_where_they_should() -> None:
    assert lengths(200) == (8, 32, 56, 80, 104, 128, 152, 176, 200)
    assert lengths(10) == (8, 9, 10)
    assert lengths(5) == (5,)
    assert lengths(0) == (1,)


@pytest.mark.parametrize("name", [name for name in (*DECODERS, *REWRITERS) if name != "openai-gpt"])
def test_both_ways_give_the_same_scores(name: str) -> None:
    model: Any = random_checkpoint(name, 0).model
    source = PROMPT if name in REWRITERS else None
    assert caches(model)
    reader = Reader(model, source)
    reader.read(torch.tensor([IDS[:9]]))
    one = reader.replay(torch.tensor([IDS[9:10]]))()
    assert torch.allclose(one, Reader(model, source, cached=False).read(torch.tensor([IDS[:10]])), atol=1e-4)
    # nothing was remembered of it
    other = reader.read(torch.tensor([IDS[9:10]]))
    assert torch.allclose(one, other, atol=1e-5)


def test_medians_of_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock by hand: with the cache a token takes 1, 1, 1, ..., without it 5, and once 50."""
    checkpoint = random_checkpoint("gpt2", 0)
    ticks = []
    for turn in range(TURNS + 1):
        ticks += [0.0, 1.0, 1.0 + (50.0 if turn == 3 else 5.0)]
    now = 0.0
    times = []
    for first in range(0, len(ticks), 3):
        times += [now + ticks[first], now + ticks[first + 1], now + ticks[first + 2]]
        now = times[-1]
    clock = iter(times * 2)
    counts, read = set(), Reader.read
    monkeypatch.setattr(Reader, "read", lambda self, ids: (counts.add(ids.shape[1]), read(self, ids))[1])
    first, second = measure(checkpoint, IDS, (8, 20), clock=lambda: next(clock))
    assert (first.tokens, second.tokens) == (8, 20)
    assert (first.cached, first.whole, first.times) == (1.0, 5.0, 5.0)
    assert first.whole_range == (5.0, 50.0)
    assert counts - {1} == {8, 9, 12, 21}, "what the cache has is not read again"
    without, cached = timing_lines([first, second], 40, BLUE, theme=LIGHT).data
    assert (list(without.y), list(cached.y)) == ([5000, 5000], [1000, 1000])
    assert (without.error_y.array[0], without.error_y.arrayminus[0], cached.error_y.array[0]) == (45_000, 0, 0)


def test_a_model_without_a_cache_gets_a_sentence() -> None:
    checkpoint = random_checkpoint("openai-gpt", 0)
    assert not caches(checkpoint.model)
    with pytest.raises(InputUnusable, match="has no KV cache"):
        measure(checkpoint, IDS, (8,))


def test_it_can_be_stopped_after_any_point() -> None:
    found = measure(random_checkpoint("gpt2", 0), IDS, lengths(39))
    assert next(found).tokens == 8
    found.close()  # type: ignore[attr-defined]


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
    ids = prompt_ids(large, prompt)
    found = generate_with_draft(large, small, ids, 40)
    assert list(found.ids) == plain(large, ids, 40)
    assert found.passes_per_token < 0.7
