"""The comparison of sparse and full attention: samples, preparation, distances, and one whole run on a tiny model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from core.checkpoints.spec import Checkpoint
from core.efficiency import samples
from core.efficiency.compare import LongText, compare, prepare, token_counter
from core.errors import InputEmpty, InputTooLong, InputUnusable, NoAttentionMatrix, OutOfRange
from core.sparse import bigbird
from core.sparse.layout import Sparsity, cost
from tests import tiny, tinyfamilies


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
    assert [long.ids[i] for i in long.masks] == [mask, mask]
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
        compare(tinyfamilies.make("bert"), LongText((1, 2, 3), (1,), ""), Sparsity())


def test_a_whole_comparison(checkpoint: Checkpoint) -> None:
    text = samples.build("near", 400, token_counter(checkpoint))
    long = prepare(checkpoint, text)
    sparsity = Sparsity(block_size=16, random_blocks=1, seed=3)
    told: list[float] = []
    found = compare(checkpoint, long, sparsity, k=3, progress=lambda share, doing: told.append(share))

    n, layers, heads = len(long.ids), 2, 2
    assert (found.tokens, found.layers, found.heads, found.positions) == (n, layers, heads, 512)
    assert found.full.scores == layers * heads * n * n
    by_draw = sum(cost(n, sparsity, layer, head).sparse for layer in range(layers) for head in range(heads))
    assert found.sparse.scores == by_draw < found.full.scores
    assert found.full.layer_bytes == 4 * heads * n * n
    # two n × n matrices at once, the scores and their softmax, and the context of eight numbers a token
    assert 8 * n * n <= found.full.peak_bytes <= 8 * n * n + 200 * n
    assert found.sparse.peak_bytes < found.full.peak_bytes
    assert found.sparse.seconds >= found.sparse.attention_seconds > 0
    assert found.full.passes in (1, 3)

    (word,) = found.masks
    assert word.position == long.masks[0]
    assert "[MASK]" in word.context
    assert 3 <= len(word.answers) <= 6
    full = [answer.probabilities[1] for answer in word.answers]
    assert full == sorted(full, reverse=True)
    p, q = (
        bigbird.forward(checkpoint.model, long.ids, long.masks, how).logits[0].astype(np.float64)
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
    found = compare(checkpoint, long, Sparsity(block_size=16))
    assert found.sparse.scores == found.full.scores
    assert found.masks[0].distance < 1e-5
