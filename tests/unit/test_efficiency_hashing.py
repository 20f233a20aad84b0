"""Hashing: buckets by hand, who meets whom, shares of full attention; Reformer's pass against the library's."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from core.errors import InputEmpty, InputTooLong, NoAttentionMatrix, OutOfRange
from core.sparse import hashing, reformer
from tests import tiny


@pytest.fixture(scope="module")
def model() -> Any:
    from core.training.objectives.hashed import HashedModel

    torch.manual_seed(0)
    more = {"attn_layers": ["local", "lsh", "lsh"], "num_hashes": 2}
    made = HashedModel(tiny.REFORMER | tiny.sized((8, 8), 8, 4) | more).full.eval()
    made.config.hash_seed = reformer.SEED
    for layer in made.reformer.encoder.layers[1:]:
        layer.attention.self_attention.hash_seed = reformer.SEED
    for value in made.parameters():
        torch.nn.init.normal_(value, std=0.3)
    return made


def text(n: int, rows: int = 1) -> torch.Tensor:
    return torch.randint(2, 258, (rows, n), generator=torch.Generator().manual_seed(n))


def test_buckets_by_hand() -> None:
    rotation = torch.eye(2)[None, :, None, :]  # one head, two wide, one round, four buckets: x, y, -x, -y
    vectors = torch.tensor([[3.0, 1.0], [1.0, 3.0], [-3.0, 1.0], [1.0, -3.0]])[None, None]
    assert hashing.buckets_of(vectors, rotation)[0, 0, 0].tolist() == [0, 1, 2, 3]


def met_by(buckets: list[list[int]], chunk: int) -> list[list[int]]:
    found = hashing.seen(torch.tensor(buckets), chunk)
    return [torch.nonzero(row).flatten().tolist() for row in found]


def test_order_and_meetings_by_hand() -> None:
    buckets = [1, 0, 1, 0, 2, 0]
    assert hashing.order_of(torch.tensor([buckets]), 2).tolist() == [[1, 3, 5, 0, 2, 4]]
    # chunks {1, 3}, {5, 0}, {2, 4}; each sees itself and the one before, the first the last; 1 meets itself alone
    assert met_by([buckets], 2) == [[0], [1], [0], [1, 2], [0, 2], [0, 1, 3]]
    # a seventh position is filled up to eight: chunks {1, 3}, {5, 0}, {2, 4}, {6, -}
    assert met_by([[*buckets, 3]], 2) == [[0], [1], [0], [1], [0, 2], [0, 1, 3], [2, 4]]
    # rounds stand end to end: {0, 1}, {2, 3} and {2, 3}, {0, 1}
    assert met_by([[0, 0, 1, 1]], 2) == [[0], [0], [0, 1], [0, 1, 2]]
    assert met_by([[0, 0, 1, 1], [1, 1, 0, 0]], 1) == [[0], [0], [1], [2]]
    assert met_by([[5, 0, 3]], 3) == [[0], [0], [0, 1]]  # one chunk is not hashed


@pytest.mark.parametrize("n", [4, 13, 16])
def test_heads_at_once_are_each_one_by_itself(n: int) -> None:
    buckets = torch.randint(0, 5, (3, 2, n), generator=torch.Generator().manual_seed(n))  # three heads, two rounds
    vectors = torch.randn(3, n, 8, generator=torch.Generator().manual_seed(n))
    met = hashing.with_itself(hashing.counts(buckets, 4))
    found = hashing.weights(vectors, met)
    for head in range(3):
        order = hashing.order_of(buckets[head], 4).reshape(-1, 4).tolist()
        chunks = [set(chunk) for chunk in order]
        for query in range(n):
            there = [at for at in range(len(chunks)) if query in chunks[at]]
            # before the first chunk of a round comes the last of the round before, which may have the same key
            twice = [sum((key in chunks[at]) + (key in chunks[at - 1]) for at in there) for key in range(query)]
            times = twice if n > 4 else [1] * query
            times += [not any(times)]
            keys = vectors[head, : query + 1] / vectors[head, : query + 1].square().mean(-1, keepdim=True).sqrt()
            shares = torch.tensor(times) * (keys @ vectors[head, query] / 8**0.5).exp()
            assert met[head, query].tolist() == [*times, *[0] * (n - query - 1)]
            torch.testing.assert_close(found[head, query, : query + 1], shares / shares.sum(), atol=1e-5, rtol=1e-4)
            assert not found[head, query, query + 1 :].any()


def test_full_weights_by_hand() -> None:
    # the second vector looks at the first alone, the third at both: keys are (1, 1) times 1 / root 2 and its negative
    vectors = torch.tensor([[1.0, 1.0], [2.0, 2.0], [-1.0, -1.0]])
    weights = hashing.full_weights(vectors)
    assert weights[0].tolist() == pytest.approx([1, 0, 0])
    assert weights[1].tolist() == pytest.approx([1, 0, 0])
    assert weights[2].tolist() == pytest.approx([0.5, 0.5, 0])
    score = math.sqrt(2)
    other = hashing.full_weights(torch.tensor([[1.0, 1.0], [-1.0, -1.0], [1.0, 1.0]]))[2]
    share = math.exp(score) / (math.exp(score) + math.exp(-score))
    assert other.tolist() == pytest.approx([share, 1 - share, 0], abs=1e-5)


def test_two_chunks_catch_everything_and_more_rounds_never_less() -> None:
    torch.manual_seed(0)
    vectors = torch.randn(32, 8)
    weights = hashing.full_weights(vectors)
    shares = []
    for rounds in (1, 2, 4, 8):
        rotation = hashing.rotations(1, 8, 8, 8, 3)[:, :, :rounds]
        buckets = hashing.buckets_of(vectors[None, None], rotation)[0, 0]
        shares.append(float(hashing.caught(weights, hashing.seen(buckets, 4)).mean()))
        whole = hashing.caught(weights, hashing.seen(buckets[:1], 16))
        torch.testing.assert_close(whole, torch.ones(32))
    assert shares == sorted(shares)
    assert shares[0] < shares[-1] < 1


@pytest.mark.parametrize("n", [1, 8, 9, 24, 61, 64])
def test_states_are_the_librarys(model: Any, n: int) -> None:
    ids = text(n, 2)
    with torch.no_grad():
        theirs = model(input_ids=ids, use_cache=False).logits
        state = torch.random.get_rng_state()
        ours = model.lm_head.decoder(reformer.states(model, ids))
        torch.testing.assert_close(ours, theirs, atol=1e-4, rtol=1e-4)
        assert torch.equal(torch.random.get_rng_state(), state)  # nobody else's dice are thrown
        torch.testing.assert_close(reformer.next_scores(model, ids), theirs[:, -1], atol=1e-4, rtol=1e-4)


def test_what_is_shown_is_what_the_library_hashes(model: Any) -> None:
    ids = text(32)
    keep: dict[int, reformer.Hashed] = {}
    reformer.states(model, ids, keep=keep)
    assert set(keep) == {1, 2}
    with torch.no_grad():
        out = model(input_ids=ids, use_cache=True)
    for layer, found in keep.items():
        theirs = out.past_buckets_states.buckets_cache[layer][0]  # (H, r, n), rounds apart by the number of buckets
        assert torch.equal(found.buckets, theirs - 4 * torch.arange(2)[:, None])


def test_surprises_by_hand(model: Any) -> None:
    ids = text(20)
    with torch.no_grad():
        chances = model(input_ids=ids, use_cache=False).logits[0].softmax(-1)
    bits = reformer.surprises(model, ids[0].tolist())
    assert len(bits) == 19
    assert float(bits[4]) == pytest.approx(-math.log2(float(chances[4, ids[0, 5]])), rel=1e-3)
    found = reformer.by_context(model, ids[0].tolist(), (8, 20), 4)
    assert found[1] == pytest.approx(float(bits[-4:].mean()), rel=1e-5)
    assert found[0] == pytest.approx(float(reformer.surprises(model, ids[0, -8:].tolist())[-4:].mean()), rel=1e-5)
    with pytest.raises(OutOfRange):
        reformer.by_context(model, [2, 3], (2,), 2)


def test_layers_run_backwards(model: Any) -> None:
    assert reformer.undone(model, text(30)[0].tolist()) < 1e-4


def test_refusals(model: Any) -> None:
    with pytest.raises(InputEmpty):
        reformer.states(model, text(0))
    with pytest.raises(InputTooLong):
        reformer.states(model, text(65))
    with pytest.raises(OutOfRange):
        reformer.states(model, text(9), rounds=9)
    with pytest.raises(NoAttentionMatrix):
        reformer.shape_of(torch.nn.Module.__new__(type("Other", (), {"config": type("C", (), {"model_type": "bert"})})))
