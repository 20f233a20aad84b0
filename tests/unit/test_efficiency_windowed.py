"""Window attention: by hand, block by block against the mask, and Longformer's pass against the library's."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from core.sparse.encoder import by_mask
from core.sparse.longformer import states
from core.sparse.windowed import allowed, by_blocks


@pytest.fixture(scope="module")
def model() -> Any:
    from transformers import LongformerConfig, LongformerForMaskedLM

    torch.manual_seed(0)
    config = LongformerConfig(
        vocab_size=50,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=129,
        pad_token_id=0,
        attention_window=8,
        type_vocab_size=1,
    )
    made = LongformerForMaskedLM(config).eval()
    for value in made.parameters():
        torch.nn.init.normal_(value, std=0.3)  # far enough from uniform that a wrong mask shows
    return made


def test_pattern_by_hand() -> None:
    one, no = True, False
    assert allowed(4, 1).tolist() == [[one, one, no, no], [one, one, one, no], [no, one, one, one], [no, no, one, one]]
    assert allowed(4, 1, (0,)).tolist() == [[one] * 4, [one] * 3 + [no], [one] * 4, [one, no, one, one]]


def test_weights_by_hand() -> None:
    # keys 0, ln 2, ln 4 and queries of 1: the middle token weighs them 1 : 2 : 4, the first one its two 1 : 2
    query = torch.ones(1, 1, 3, 1)
    key = torch.tensor([1.0, 2.0, 4.0]).log().view(1, 1, 3, 1)
    value = torch.tensor([7.0, 70.0, 700.0]).view(1, 1, 3, 1)
    found = by_blocks(query, key, value, 1)[0, 0, :, 0].tolist()
    assert found == pytest.approx([(7 + 140) / 3, (7 + 140 + 2800) / 7, (140 + 2800) / 6])
    globally = by_blocks(query, key, value, 1, (0,))[0, 0, 2, 0].item()
    assert globally == pytest.approx((7 + 140 + 2800) / 7)


@pytest.mark.parametrize(("n", "side"), [(1, 4), (5, 2), (16, 4), (37, 4), (37, 64)])
@pytest.mark.parametrize("global_at", [(), (0,), (0, 3, 4)])
def test_blocks_give_what_the_mask_gives(n: int, side: int, global_at: tuple[int, ...]) -> None:
    chosen = tuple(at for at in global_at if at < n)
    torch.manual_seed(0)
    query, key, value = torch.randn(3, 2, 3, n, 8).unbind()
    expected, weights = by_mask(query, key, value, allowed(n, side, chosen))
    found = by_blocks(query, key, value, side, chosen)
    others = [at for at in range(n) if at not in chosen]
    torch.testing.assert_close(found[:, :, others], expected[:, :, others])
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 3, n))
    if side >= n and not chosen:  # a window as wide as the text is full attention
        full = torch.softmax(query @ key.transpose(-1, -2) / math.sqrt(8), -1) @ value
        torch.testing.assert_close(found, full)


@pytest.mark.parametrize("n", [3, 16, 41])
@pytest.mark.parametrize("global_at", [(), (0,), (0, 2)])
def test_states_are_the_librarys(model: Any, n: int, global_at: tuple[int, ...]) -> None:
    torch.manual_seed(1)
    ids = torch.randint(5, 50, (2, n))
    mask = torch.zeros_like(ids)
    mask[:, list(global_at)] = 1
    with torch.no_grad():
        theirs = model.longformer(
            input_ids=ids, attention_mask=torch.ones_like(ids), global_attention_mask=mask if global_at else None
        ).last_hidden_state
        torch.testing.assert_close(states(model, ids, global_at), theirs, atol=1e-5, rtol=1e-4)


def test_a_far_word_reaches_a_token_through_a_global_one_only(model: Any) -> None:
    ids = torch.randint(5, 50, (1, 40))
    other = ids.clone()
    other[0, 39] = 5 + (int(ids[0, 39]) - 4) % 45
    with torch.no_grad():
        for global_at, reaches in (((), False), ((0,), True)):
            same = torch.allclose(states(model, ids, global_at)[0, 10], states(model, other, global_at)[0, 10])
            assert same is not reaches, global_at


def test_layers_with_windows_of_their_own_keep_them() -> None:
    from core.sparse import longformer
    from tests import tinyfamilies

    model = tinyfamilies.make("longformer", attention_window=[4, 8]).model
    ids = torch.arange(5, 30)
    with torch.inference_mode():
        expected = model.lm_head(longformer.states(model, ids[None]))[0, [3, 20]]
    found = torch.from_numpy(longformer.forward(model, ids.tolist(), (3, 20)).logits)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)
    kept = longformer.encode(model, ids[None]).attentions
    assert [int((weights[0, 0, 12] > 0).sum()) for weights in kept] == [1 + 5, 1 + 9]
