"""Speculative decoding: the text of the large model alone, with rounds that add up."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from core.checkpoints.spec import Checkpoint
from core.errors import InputUnusable, OutOfRange
from core.language.decoding.draft import Drafted, Round, drafted, expected, plain, speed_up
from tests import tiny
from tests.parity.test_generate import PROMPT, _spec


def model(seed: int, width: int, ends: int | None = None, size: int = 120) -> Checkpoint:
    torch.manual_seed(seed)
    config = GPT2Config(
        vocab_size=size, n_embd=width, n_layer=2, n_head=2, n_positions=64, initializer_range=0.6, bos_token_id=0,
        eos_token_id=ends, attn_implementation="eager",
    )  # fmt: skip
    found: Any = GPT2LMHeadModel(config).eval()
    return Checkpoint(found, tiny.bytelevel_tokenizer(), _spec())


def noisy(large: Checkpoint, amount: float) -> Checkpoint:
    """A draft that often agrees: the large model with noise on its weights."""
    torch.manual_seed(5)
    small = model(1, 24)
    state = {
        name: value + amount * value.std() * torch.randn_like(value) if value.is_floating_point() and value.dim() > 1
        else value
        for name, value in large.model.state_dict().items()
    }  # fmt: skip
    small.model.load_state_dict(state)
    return small


@pytest.mark.parametrize("ahead", [1, 3, 6])
@pytest.mark.parametrize("ends", [None, 7])
def test_greedy_text_is_the_same_and_rounds_add_up(ahead: int, ends: int | None) -> None:
    seen = set()
    for seed in range(4):
        large = model(seed, 24, ends)
        for draft in (noisy(large, 0.0), noisy(large, 0.05), noisy(large, 0.3), model(9, 8)):
            found = drafted(large, draft, PROMPT, 20, ahead=ahead)
            assert list(found.ids) == plain(large.model, PROMPT, 20)
            for one in found.rounds:
                assert len(one.drafted) <= ahead
                assert one.written[: one.accepted] == one.drafted[: one.accepted]
                assert len(one.written) == one.accepted + 1
                seen.add((one.accepted == 0, one.accepted == ahead))
            assert found.passes_per_token == len(found.rounds) / len(found.ids)
    assert {(True, False), (False, True)} <= seen, "else all was accepted, or all rejected"


def test_a_draft_like_the_large_model_is_always_accepted() -> None:
    large = model(2, 24)
    found = drafted(large, noisy(large, 0.0), PROMPT, 20, ahead=4)
    assert found.rate == 1
    assert found.passes == 4  # 20 tokens in rounds of 4 + 1


def test_models_that_visitors_share_stay_as_they_were() -> None:
    large, small = model(0, 24), model(3, 8)
    before = small.model.generation_config.to_dict(), large.model.generation_config.to_dict()
    drafted(large, small, PROMPT, 12, ahead=5)
    drafted(large, small, PROMPT, 12, ahead=2, temperature=0.8, seed=1)
    assert before == (small.model.generation_config.to_dict(), large.model.generation_config.to_dict())
    assert "_get_candidate_generator" not in vars(large.model)


def test_the_seed_decides_and_other_dice_stay_as_they_were() -> None:
    large = model(0, 24)
    small = noisy(large, 0.3)
    torch.manual_seed(123)
    expected_next = torch.rand(1)
    torch.manual_seed(123)
    one = drafted(large, small, PROMPT, 16, temperature=1.0, seed=4)
    assert torch.equal(torch.rand(1), expected_next)
    assert drafted(large, small, PROMPT, 16, temperature=1.0, seed=4) == one
    assert len({drafted(large, small, PROMPT, 16, temperature=1.0, seed=seed).ids for seed in range(4)}) > 1


def test_sampled_tokens_are_distributed_as_the_large_models() -> None:
    large, small = model(0, 24, size=12), model(3, 8, size=12)
    with torch.inference_mode():
        chances = (large.model(torch.tensor([PROMPT])[:, :1]).logits[0, -1] / 2).softmax(-1)
    counts = Counter(drafted(large, small, PROMPT[:1], 2, ahead=1, temperature=2.0, seed=s).ids[0] for s in range(600))
    for token, chance in enumerate(chances.tolist()):
        assert counts[token] / 600 == pytest.approx(chance, abs=4 * (chance * (1 - chance) / 600) ** 0.5 + 0.002)


def test_a_visitor_can_stop_after_any_round() -> None:
    class Stopped(Exception):
        pass

    seen: list[Drafted] = []

    def told(now: Drafted) -> None:
        seen.append(now)
        if len(seen) == 2:
            raise Stopped

    with pytest.raises(Stopped):
        drafted(model(0, 24), model(3, 8), PROMPT, 20, told=told)
    assert [one.passes for one in seen] == [1, 2]


def test_numbers_by_hand() -> None:
    found = Drafted((Round((1, 2, 3), 1, (1, 9)), Round((4, 5, 6), 3, (4, 5, 6, 7)), Round((8,), 0, (2,))))
    assert found.ids == (1, 9, 4, 5, 6, 7, 2)
    assert (found.accepted, found.checked) == (4, 2 + 3 + 1)
    assert found.passes_per_token == pytest.approx(3 / 7)
    assert expected(0.5, 2) == pytest.approx(1.75)  # 1 + 1/2 + 1/4
    assert expected(0.0, 4) == 1
    assert expected(1.0, 4) == 5
    assert speed_up(0.5, 2, 0.25) == pytest.approx(1.75 / 1.5)
    assert Drafted((Round((), 0, (3,)),)).rate is None


def test_what_is_refused() -> None:
    with pytest.raises(OutOfRange):
        drafted(model(0, 24), model(3, 8), PROMPT, 20, ahead=0)
    with pytest.raises(InputUnusable, match="other tokens"):
        drafted(model(0, 24), model(3, 8, size=99), PROMPT, 20)
