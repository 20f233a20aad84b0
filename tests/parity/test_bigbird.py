"""Our BigBird against its own reference, and against transformers, on a tiny random model."""

import copy
import importlib
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from transformers import BigBirdConfig, BigBirdForMaskedLM

from core.errors import InputEmpty, InputTooLong, NoAttentionMatrix, OutOfRange
from core.language.fill_mask import predict_together, probabilities
from core.language.fill_mask import prepare as prepare_masks
from core.patterns import mask
from core.patterns.layout import RANDOM as DRAWN
from core.patterns.layout import Sparsity
from core.run.odd.blocks import attended
from core.run.odd.sparse import Gather, sparse_attention
from core.run.prepare import prepare
from core.run.run import run
from core.sparse.bigbird import forward
from core.sparse.encoder import by_mask
from tests import tinyfamilies

BLOCK, RANDOM = 4, 2
LONG = 96  # 24 blocks: well above (5 + 2 r) = 9
LAYERS, HEADS = 2, 2


def make(attention_type="block_sparse"):
    torch.manual_seed(0)
    config = BigBirdConfig(
        vocab_size=50,
        hidden_size=16,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        intermediate_size=32,
        max_position_embeddings=128,
        block_size=BLOCK,
        num_random_blocks=RANDOM,
        attention_type=attention_type,
    )
    model = BigBirdForMaskedLM(config).eval()
    with torch.no_grad():  # larger weights, so that attention is far from uniform
        for parameter in model.parameters():
            parameter.mul_(4)
    return model


@pytest.fixture(scope="module")
def model():
    return make()


def tokens(n, seed=1):
    return torch.randint(5, 50, (n,), generator=torch.Generator().manual_seed(seed)).tolist()


@pytest.mark.parametrize("n", [1, 4, 30, 96])
@pytest.mark.parametrize(
    "sparsity",
    [
        Sparsity(block_size=4),
        Sparsity(block_size=8, window=5, global_blocks=1, random_blocks=1, seed=9),
        Sparsity(block_size=4, window=1, global_blocks=0, random_blocks=2),
        Sparsity(block_size=4, window=3, global_blocks=4, random_blocks=0),
        Sparsity(block_size=4, window=15),
    ],
)
def test_gathered_blocks_equal_the_dense_mask(n, sparsity):
    query, key, value = torch.randn(3, n, 8, generator=torch.Generator().manual_seed(n)) * 2
    allowed = torch.from_numpy(mask(sparsity.pattern(n, layer=1, head=3), n))
    expected, _ = by_mask(query, key, value, allowed)
    torch.testing.assert_close(sparse_attention(query, key, value, Gather(sparsity, n, 1, 3)), expected)


def test_full_equals_transformers_full_attention():
    reference, ids = make("original_full"), tokens(LONG - 3)
    with torch.no_grad():
        expected = reference(torch.tensor([ids])).logits[0].numpy()
    np.testing.assert_allclose(forward(reference, ids, range(len(ids)), None), expected, atol=2e-5)


@pytest.mark.parametrize("n", [LONG, LONG - 3])
def test_sparse_equals_transformers_with_the_same_random_blocks(n):
    """In evaluation the library's random blocks are all block 0; given ours, it computes what we compute."""
    library, ids, sparsity = make(), tokens(n), Sparsity(block_size=BLOCK, random_blocks=RANDOM, seed=2)
    ours = forward(library, ids, range(n), sparsity)
    with torch.no_grad():
        all_block_zero = library(torch.tensor([ids])).logits[0].numpy()
        for index, layer in enumerate(library.bert.encoder.layer):
            kinds = [sparsity.kinds(n, index, head) for head in range(HEADS)]
            draws = [np.stack([np.flatnonzero(row == DRAWN) for row in kind[1:-1]]) for kind in kinds]
            layer.attention.self._bigbird_block_rand_mask_with_head = lambda draws=draws, **_: draws
        expected = library(torch.tensor([ids])).logits[0].numpy()
    assert library.bert.attention_type == "block_sparse"
    np.testing.assert_allclose(ours, expected, atol=2e-5)
    assert np.abs(ours - all_block_zero).max() > 1e-2


def test_the_library_switches_for_good_and_we_do_not(model):
    """Short, long, short on one shared instance give what fresh instances give, and leave the instance as it was."""
    sparsity = Sparsity(block_size=BLOCK, random_blocks=RANDOM, seed=4)
    before = copy.deepcopy(model.state_dict())
    for n in (12, LONG, 12, LONG):
        for chosen in (sparsity, None):
            shared = forward(model, tokens(n), range(n), chosen)
            fresh = forward(make(), tokens(n), range(n), chosen)
            np.testing.assert_array_equal(shared, fresh)
    assert model.bert.attention_type == "block_sparse"
    assert {type(layer.attention.self).__name__ for layer in model.bert.encoder.layer} == {
        "BigBirdBlockSparseAttention"
    }
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())

    library = make()
    with torch.no_grad():
        long_first = library(torch.tensor([tokens(LONG)])).logits
        library(torch.tensor([tokens(12)]))
        long_again = library(torch.tensor([tokens(LONG)])).logits
    assert library.bert.attention_type == "original_full"  # why the module exists
    assert (long_first - long_again).abs().max() > 1e-2


def test_progress_is_told_and_may_stop(model):
    layers = []
    forward(model, tokens(20), [0], None, progress=lambda done, total: layers.append((done, total)))
    assert layers == [(1, LAYERS), (2, LAYERS)]

    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        forward(model, tokens(20), [0], None, progress=stop)


def test_refusals(model):
    with pytest.raises(InputEmpty):
        forward(model, [], [], None)
    with pytest.raises(InputTooLong, match="129 tokens"):
        forward(model, tokens(129), [0], None)
    with pytest.raises(OutOfRange):
        forward(model, tokens(5), [5], None)
    with pytest.raises(NoAttentionMatrix):
        forward(make("original_full").bert, tokens(5), [0], None)


@pytest.mark.parametrize("n", [3, 30, LONG - 3])
def test_the_mask_of_a_layer_is_the_pattern(n):
    sparsity = Sparsity(block_size=BLOCK, random_blocks=RANDOM)
    for layer in range(LAYERS):
        allowed = attended(sparsity, n, layer, HEADS).numpy()
        for head in range(HEADS):
            np.testing.assert_array_equal(allowed[head], mask(sparsity.pattern(n, layer, head), n))


def prepared(attention_type="block_sparse"):
    model = make(attention_type)
    prepare(model, ("encoder",))
    return model


def test_an_ordinary_pass_is_the_gathered_one_at_any_length_and_leaves_the_instance():
    model = prepared()
    before = model.bert.attention_type, [type(module) for module in model.modules()]
    for n in (12, LONG, 1, LONG - 3, 12):
        ids = tokens(n)
        with torch.no_grad():
            result = model(torch.tensor([ids]), torch.ones(1, n)).logits[0].numpy()
        np.testing.assert_allclose(result, forward(make(), ids, range(n), Sparsity.of(model.config)), atol=2e-5)
    assert (model.bert.attention_type, [type(module) for module in model.modules()]) == before


@pytest.mark.parametrize(
    ("name", "lengths", "sparse"),
    [
        ("big_bird", (1,), False),
        ("big_bird", (63,), True),
        ("big_bird", (96, 96), True),
        ("big_bird", (97, 41, 6), False),
        ("longformer", (3,), False),
        ("longformer", (7,), True),
        ("longformer", (30, 30), True),
        ("longformer", (30, 9, 2), False),
    ],
)
def test_without_a_run_the_numbers_are_those_of_a_recorded_pass(name, lengths, sparse, monkeypatch):
    model = tinyfamilies.make(name).model
    ids = torch.tensor([[*tokens(n, seed=n), *[0] * (max(lengths) - n)] for n in lengths]) % model.config.vocab_size
    inputs = {"input_ids": ids, "attention_mask": torch.tensor([[1] * n + [0] * (max(lengths) - n) for n in lengths])}
    recorded = run(model, inputs, keep={"pattern"})
    expected = recorded.output.logits
    module = importlib.import_module({"big_bird": "core.run.odd.blocks", "longformer": "core.run.odd.window"}[name])
    rows = Mock(wraps=module.attend)
    monkeypatch.setattr(module, "attend", rows)
    with torch.inference_mode():
        logits = model(**inputs).logits
    assert rows.called is not sparse
    for row, n in enumerate(lengths):
        torch.testing.assert_close(logits[row, :n], expected[row, :n], atol=1e-5, rtol=1e-5)


def test_a_padded_text_has_the_blocks_of_its_own_length():
    model = prepared()
    texts = [tokens(n, seed=n) for n in (LONG, 41, 6)]
    ids = torch.tensor([[*text, *[0] * (LONG - len(text))] for text in texts])
    seen = torch.tensor([[1] * len(text) + [0] * (LONG - len(text)) for text in texts])
    with torch.no_grad():
        together = model(ids, seen).logits
        for row, text in enumerate(texts):
            torch.testing.assert_close(
                together[row, : len(text)], model(torch.tensor([text])).logits[0], atol=2e-5, rtol=1e-5
            )


def test_a_configuration_with_full_attention_has_it():
    ids = torch.tensor([tokens(LONG)])
    with torch.no_grad():
        logits, expected = prepared("original_full")(ids).logits, make("original_full")(ids).logits
    torch.testing.assert_close(logits, expected, atol=2e-5, rtol=1e-5)


@pytest.mark.parametrize("name", ["big_bird", "longformer"])
def test_predictions_of_a_batch_are_those_of_each_text_and_of_the_whole_pass(name):
    checkpoint = tinyfamilies.make(name)
    typed = ("A [MASK].", " ".join([tinyfamilies.PLAIN] * 4) + " [MASK]")
    together = predict_together(checkpoint, [(text, 5, ()) for text in typed])
    for text, (found,) in zip((prepare_masks(checkpoint, text) for text in typed), together, strict=True):
        ids = torch.tensor([text.ids])
        with torch.no_grad():
            logits = checkpoint.model(input_ids=ids, attention_mask=torch.ones_like(ids)).logits
        expected = logits[0, text.positions[0]].softmax(-1)
        np.testing.assert_allclose(found.probabilities, expected[list(found.ids)], atol=1e-5)
        torch.testing.assert_close(probabilities(text)[0], expected, atol=1e-5, rtol=1e-4)
