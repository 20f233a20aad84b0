"""A text in segments: costs by hand, how far back a key and an influence reach, generation with the memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from core.checkpoints.spec import Checkpoint
from core.errors import InputEmpty, InputTooLong, InputUnusable, OutOfRange
from core.language import segments
from core.language.decoding.reader import Start
from core.language.generate import steps as decode
from core.language.types import Decoding
from tests import tiny
from tests.tinyfamilies import loaded

TEXT = " ".join(tiny.SENTENCES[:6] * 3)


@pytest.fixture(scope="module")
def xl(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    return loaded(tiny.tiny_transformer_xl(tmp_path_factory.mktemp("xl")), "causal-lm")


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    return loaded(tiny.tiny_transformer_xl(tmp_path_factory.mktemp("short"), memory=6), "causal-lm")


def ids_of(checkpoint: Checkpoint, count: int) -> list[int]:
    return [0, *checkpoint.tokenizer(TEXT, verbose=False)["input_ids"]][:count]


def whole(checkpoint: Checkpoint, ids: list[int]) -> torch.Tensor:
    """(n, V) log-probabilities of one pass."""
    with torch.no_grad():
        return checkpoint.model(torch.tensor([ids])).logits[0].log_softmax(-1)


def test_with_a_memory_that_covers_all_segments_cost_what_one_pass_costs(xl: Checkpoint) -> None:
    ids = ids_of(xl, 90)
    logs = whole(xl, ids[:-1])
    expected = -logs[torch.arange(89), torch.tensor(ids[1:])].double().numpy() / np.log(2)
    for segment in (8, 13, 64, 100):
        np.testing.assert_allclose(segments.costs(xl.model, ids, segment=segment), expected, atol=1e-4)


def test_without_memory_each_segment_begins_anew(xl: Checkpoint) -> None:
    ids = ids_of(xl, 41)
    found = segments.costs(xl.model, ids, segment=10, memory=0)
    for begin in range(0, 40, 10):
        logs = whole(xl, ids[begin : begin + 10])
        expected = [-float(logs[i, ids[begin + i + 1]]) / np.log(2) for i in range(10)]
        np.testing.assert_allclose(found[begin : begin + 10], expected, atol=1e-4)
    with_memory = segments.costs(xl.model, ids, segment=10)
    np.testing.assert_allclose(with_memory[:10], found[:10], atol=1e-5)
    assert np.abs(with_memory[10:] - found[10:]).max() > 0.01


def test_a_memory_can_be_made_shorter(xl: Checkpoint, short: Checkpoint) -> None:
    short.model.load_state_dict(xl.model.state_dict())
    ids = ids_of(xl, 60)
    cut = segments.costs(xl.model, ids, segment=8, memory=6)
    np.testing.assert_allclose(cut, segments.costs(short.model, ids, segment=8), atol=1e-5)


def test_how_far_back_keys_and_influence_reach(short: Checkpoint) -> None:
    ids = ids_of(short, 40)
    seen = segments.weights(short.model, ids, segment=8, memory=6)
    assert seen.shape == (2, 40, 40)
    back = np.arange(40)[:, None] - np.arange(40)[None, :]
    place = np.arange(40)[:, None] % 8
    expected = (back >= 0) & (back <= place + 6)  # its own segment so far, and six more
    for layer in seen:
        assert (layer == expected).all()
    # the last token is the 8th of its segment: 7 + 6 back; the key there is remembered from the segment before, where
    # it was the 3rd, and had itself 2 + 6 tokens before it
    assert segments.influence(seen) == (13, 13 + 8)


def test_influence_by_hand() -> None:
    seen = np.zeros((2, 5, 5), dtype=bool)
    seen[1, 4, 2] = True
    seen[0, 2, 1] = seen[0, 4, 0] = True
    assert segments.influence(seen) == (2, 4)


def test_what_has_no_influence_changes_nothing(short: Checkpoint) -> None:
    ids = ids_of(short, 40)
    seen = segments.weights(short.model, ids, segment=8, memory=6)
    reach = segments.influence(seen)[-1]
    for place, felt in ((39 - reach, True), (39 - reach - 1, False)):
        changed = list(ids)
        changed[place] = (ids[place] + 7) % 90 + 1
        a, b = (segments.costs(short.model, [*row, 5], segment=8)[-1] for row in (ids, changed))
        assert bool(abs(a - b) > 1e-7) is felt


def test_reading(xl: Checkpoint) -> None:
    found = segments.compare(xl, TEXT, segment=16, memory=32)
    assert len(found.tokens) == len(found.with_memory) == len(found.without)
    assert found.tokens[0].text == "The"
    np.testing.assert_allclose(found.with_memory[:16], found.without[:16], atol=1e-5)
    assert found.furthest_key == (47, 47)
    assert (found.segment, found.memory) == (16, 32)


@pytest.mark.parametrize("prompt", [5, 70])
def test_generation_with_the_memory_is_that_of_the_whole_context(xl: Checkpoint, prompt: int) -> None:
    ids = ids_of(xl, prompt)
    steps = list(decode(xl, Start(tuple(ids)), Decoding(max_new_tokens=12)))
    written = list(ids)
    for step in steps:
        logs = whole(xl, written)[-1]
        assert step.token.id == int(logs.argmax())
        assert step.token.probability == pytest.approx(float(logs.max().exp()), rel=1e-3)
        written.append(step.token.id)
    assert len(steps) == 12


def test_beams_carry_their_own_memories(xl: Checkpoint) -> None:
    ids = ids_of(xl, 5)
    best = list(decode(xl, Start(tuple(ids)), Decoding("beam", beams=3, max_new_tokens=5)))[-1]
    written = list(ids)
    score = 0.0
    for token in best.ids:
        score += float(whole(xl, written)[-1, token])
        written.append(token)
    assert best.beams[0][1] == pytest.approx(score, abs=1e-3)


def test_refusals_are_sentences(xl: Checkpoint) -> None:
    with pytest.raises(OutOfRange, match="1 to 96"):
        segments.compare(xl, TEXT, memory=97)
    with pytest.raises(OutOfRange, match="8 to 256"):
        segments.compare(xl, TEXT, segment=1)
    with pytest.raises(InputEmpty):
        segments.compare(xl, " ")
    with pytest.raises(InputTooLong):
        segments.compare(xl, "a b c d e f g " * 300)
    from transformers import GPT2Config, GPT2LMHeadModel

    gpt: Any = GPT2LMHeadModel(GPT2Config(vocab_size=60, n_embd=8, n_layer=1, n_head=1))
    with pytest.raises(InputUnusable, match="no memory"):
        segments.compare(Checkpoint(gpt, xl.tokenizer, xl.spec), TEXT)
