"""Hashed attention by hand and beside Reformer's own pass; the comparison of sparse and full attention."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from core.checkpoints.spec import Checkpoint
from core.efficiency import samples
from core.efficiency.compare import compare, prepare, token_counter
from core.errors import InputEmpty, InputTooLong, InputUnusable, NoAttentionMatrix, OutOfRange
from core.patterns.layout import Sparsity, cost
from core.run.odd import hashing
from core.sparse import bigbird, reformer
from tests import tiny, tinyfamilies


@pytest.fixture(scope="module")
def model() -> Any:
    from lab.objectives.hashed import HashedModel

    torch.manual_seed(0)
    more = {"attn_layers": ["local", "lsh", "lsh"], "num_hashes": 2}
    made = HashedModel(tiny.REFORMER | tiny.sized((8, 8), 8, 4) | more).full.eval()
    made.config.hash_seed = hashing.SEED
    for layer in made.reformer.encoder.layers[1:]:
        layer.attention.self_attention.hash_seed = hashing.SEED
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
    pairs = reformer.attended(torch.tensor(buckets), chunk)
    return [torch.nonzero(row).flatten().tolist() for row in pairs]


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
    met = hashing.with_itself(hashing.count_shared_rounds(buckets, 4))
    for head in range(3):
        order = hashing.order_of(buckets[head], 4).reshape(-1, 4).tolist()
        chunks = [set(chunk) for chunk in order]
        for query in range(n):
            there = [at for at in range(len(chunks)) if query in chunks[at]]
            # before the first chunk of a round comes the last of the round before, which may have the same key
            twice = [sum((key in chunks[at]) + (key in chunks[at - 1]) for at in there) for key in range(query)]
            times = twice if n > 4 else [1] * query
            times += [not any(times)]
            assert met[head, query].tolist() == [*times, *[0] * (n - query - 1)]


def test_full_weights_by_hand() -> None:
    # the second vector looks at the first alone, the third at both: keys are (1, 1) times 1 / root 2 and its negative
    vectors = torch.tensor([[1.0, 1.0], [2.0, 2.0], [-1.0, -1.0]])
    weights = reformer.full_weights(vectors)
    assert weights[0].tolist() == pytest.approx([1, 0, 0])
    assert weights[1].tolist() == pytest.approx([1, 0, 0])
    assert weights[2].tolist() == pytest.approx([0.5, 0.5, 0])
    score = math.sqrt(2)
    other = reformer.full_weights(torch.tensor([[1.0, 1.0], [-1.0, -1.0], [1.0, 1.0]]))[2]
    share = math.exp(score) / (math.exp(score) + math.exp(-score))
    assert other.tolist() == pytest.approx([share, 1 - share, 0], abs=1e-5)


def test_two_chunks_catch_everything_and_more_rounds_never_less() -> None:
    torch.manual_seed(0)
    vectors = torch.randn(32, 8)
    weights = reformer.full_weights(vectors)
    shares = []
    for rounds in (1, 2, 4, 8):
        rotation = hashing.rotations(1, 8, 8, 8, 3)[:, :, :rounds]
        buckets = hashing.buckets_of(vectors[None, None], rotation)[0, 0]
        shares.append(float(reformer.covered_weight(weights, reformer.attended(buckets, 4)).mean()))
        full = reformer.covered_weight(weights, reformer.attended(buckets[:1], 16))
        torch.testing.assert_close(full, torch.ones(32))
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


def test_what_is_shown_is_what_the_library_hashes(model: Any) -> None:
    ids = text(32)
    keep: dict[int, reformer.Hashed] = {}
    reformer.states(model, ids, record=keep)
    assert set(keep) == {1, 2}
    with torch.no_grad():
        out = model(input_ids=ids, use_cache=True)
    for layer, result in keep.items():
        theirs = out.past_buckets_states.buckets_cache[layer][0]  # (H, r, n), rounds apart by the number of buckets
        assert torch.equal(result.buckets, theirs - 4 * torch.arange(2)[:, None])


def test_surprises_by_hand(model: Any) -> None:
    ids = text(20)
    with torch.no_grad():
        chances = model(input_ids=ids, use_cache=False).logits[0].softmax(-1)
    bits = reformer.surprisals(model, ids[0].tolist())
    assert len(bits) == 19
    assert float(bits[4]) == pytest.approx(-math.log2(float(chances[4, ids[0, 5]])), rel=1e-3)
    surprisals = reformer.by_context(model, ids[0].tolist(), (8, 20), 4)
    assert surprisals[1] == pytest.approx(float(bits[-4:].mean()), rel=1e-5)
    assert surprisals[0] == pytest.approx(float(reformer.surprisals(model, ids[0, -8:].tolist())[-4:].mean()), rel=1e-5)
    with pytest.raises(OutOfRange):
        reformer.by_context(model, [2, 3], (2,), 2)


def test_layers_run_backwards(model: Any) -> None:
    assert reformer.inversion_error(model, text(30)[0].tolist()) < 1e-4


def test_refusals(model: Any) -> None:
    with pytest.raises(InputEmpty):
        reformer.states(model, text(0))
    with pytest.raises(InputTooLong):
        reformer.states(model, text(65))
    with pytest.raises(OutOfRange):
        reformer.states(model, text(9), rounds=9)
    with pytest.raises(NoAttentionMatrix):
        reformer.shape_of(torch.nn.Module.__new__(type("Other", (), {"config": type("C", (), {"model_type": "bert"})})))


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    folder: Path = tiny.tiny_bigbird(tmp_path_factory.mktemp("bigbird"))
    spec = tinyfamilies.spec_of("Tiny", "masked-lm", max_positions=512)
    return Checkpoint(AutoModelForMaskedLM.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder), spec)


def words(text: str) -> int:
    return len(text.split())


@pytest.mark.parametrize("name", samples.SAMPLES)
@pytest.mark.parametrize("length", [64, 300, 1000])
def test_samples_hold_one_clue_and_one_mask_and_fit(name: str, length: int) -> None:
    text = samples.build(name, length, words)
    assert text.count(samples.CLUE) == 1
    assert text.count(samples.MASK) == 1
    assert words(text) <= length - 2
    assert words(text) > length - 60
    assert text == samples.build(name, length, words)


def test_samples_put_the_clue_where_they_say() -> None:
    def share(name: str) -> tuple[float, float]:
        text = samples.build(name, 1000, words)
        return text.index(samples.CLUE) / len(text), text.index(samples.MASK) / len(text)

    assert share("start")[0] == 0
    clue, mask = share("middle")
    assert 0.3 < clue < 0.45
    assert 0.7 < mask < 0.8
    clue, mask = share("near")
    assert mask - clue < 0.05


def test_samples_refuse() -> None:
    with pytest.raises(OutOfRange):
        samples.build("near", 20, words)
    with pytest.raises(OutOfRange):
        samples.build("nowhere", 500, words)


def test_prepare_and_its_refusals(checkpoint: Checkpoint) -> None:
    long = prepare(checkpoint, "The cat [MASK] on the <mask> mat.")
    mask = checkpoint.tokenizer.mask_token_id
    assert [long.ids[i] for i in long.positions] == [mask, mask]
    for text, error in (
        ("", InputEmpty),
        ("\x00 \n", InputEmpty),
        ("No mask here, only </script><script>.", InputUnusable),
        ("[MASK] " * 5, InputUnusable),
        ("the cat sat [MASK] " * 200, InputTooLong),
        ("a" * 100_000, InputTooLong),
    ):
        with pytest.raises(error):
            prepare(checkpoint, text)


def test_only_bigbird_is_compared() -> None:
    with pytest.raises(NoAttentionMatrix, match="bert"):
        compare(prepare(tinyfamilies.make("bert"), "a [MASK]"), Sparsity())


def test_a_whole_comparison(checkpoint: Checkpoint) -> None:
    text = samples.build("near", 400, token_counter(checkpoint))
    long = prepare(checkpoint, text)
    sparsity = Sparsity(block_size=16, random_blocks=1, seed=3)
    told: list[float] = []
    comparison = compare(long, sparsity, k=3, progress=lambda share, doing: told.append(share))

    n, layers, heads = len(long.ids), 2, 2
    assert (comparison.tokens, comparison.layers, comparison.heads, comparison.positions) == (n, layers, heads, 512)
    assert comparison.full.scores == layers * heads * n * n
    by_draw = sum(cost(n, sparsity, layer, head).sparse for layer in range(layers) for head in range(heads))
    assert comparison.sparse.scores == by_draw < comparison.full.scores
    assert comparison.full.layer_bytes == 4 * heads * n * n
    # two n × n matrices at once, the scores and their softmax, and the context of eight numbers a token
    assert 8 * n * n <= comparison.full.peak_bytes <= 8 * n * n + 200 * n
    assert comparison.sparse.peak_bytes < comparison.full.peak_bytes

    (word,) = comparison.masks
    assert word.position == long.positions[0]
    assert "[MASK]" in word.context
    assert 3 <= len(word.answers) <= 6
    full = [answer.probabilities[1] for answer in word.answers]
    assert full == sorted(full, reverse=True)
    p, q = (
        bigbird.forward(checkpoint.model, long.ids, long.positions, how)[0].astype(np.float64)
        for how in (sparsity, None)
    )
    shares = [np.exp(logits) / np.exp(logits).sum() for logits in (p, q)]
    assert word.distance == pytest.approx(np.abs(shares[0] - shares[1]).sum() / 2, abs=1e-6)
    assert 0 < word.distance < 1
    assert told == sorted(told)
    assert told[0] > 0
    assert told[-1] == 1


def test_sparse_with_everything_in_sight_answers_as_full(checkpoint: Checkpoint) -> None:
    long = prepare(checkpoint, "The cat [MASK] on the mat.")
    comparison = compare(long, Sparsity(block_size=16))
    assert comparison.sparse.scores == comparison.full.scores
    assert comparison.masks[0].distance < 1e-5
