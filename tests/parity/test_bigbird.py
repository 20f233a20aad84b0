"""Our BigBird against its own reference, and against transformers, on a tiny random model."""

import copy

import numpy as np
import pytest
import torch
from transformers import BigBirdConfig, BigBirdForMaskedLM

from core.errors import InputEmpty, InputTooLong, NoAttentionMatrix, OutOfRange
from core.patterns import mask
from core.sparse.bigbird import Gather, attended, encode, forward, sparse_attention
from core.sparse.encoder import by_mask, split_heads
from core.sparse.layout import RANDOM as DRAWN
from core.sparse.layout import Sparsity

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
            draws = [np.stack([np.flatnonzero(row == DRAWN) for row in own[1:-1]]) for own in kinds]
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
    with pytest.raises(InputEmpty):
        encode(model, torch.zeros(1, 0, dtype=torch.long), Sparsity())
    with pytest.raises(InputTooLong, match="129 tokens"):
        forward(model, tokens(129), [0], None)
    with pytest.raises(InputTooLong, match="129 tokens"):
        encode(model, torch.tensor([tokens(129)]), Sparsity())
    with pytest.raises(OutOfRange):
        forward(model, tokens(5), [5], None)
    with pytest.raises(NoAttentionMatrix):
        forward(make("original_full").bert, tokens(5), [0], None)


@pytest.mark.parametrize("n", [3, 30, LONG - 3])
def test_encode_gives_the_weights_of_the_mask(model, n):
    sparsity, ids = Sparsity(block_size=BLOCK, random_blocks=RANDOM), torch.tensor([tokens(n)])
    whole = encode(model, ids, sparsity)
    allowed = np.stack([attended(sparsity, n, LAYERS, HEADS, layer).numpy() for layer in range(LAYERS)])
    for layer, head in np.ndindex(LAYERS, HEADS):
        np.testing.assert_array_equal(allowed[layer, head], mask(sparsity.pattern(n, layer, head), n))
        assert not whole[layer][0, head].numpy()[~allowed[layer, head]].any()
    with torch.no_grad():
        own, hidden = model.bert.encoder.layer[0].attention.self, model.bert.embeddings(input_ids=ids)
        query, key, value = (split_heads(part(hidden), HEADS) for part in (own.query, own.key, own.value))
        torch.testing.assert_close(whole[0], by_mask(query, key, value, torch.from_numpy(allowed[0]))[1])


def test_encode_of_every_block_gives_the_matrices_of_transformers():
    reference, ids = make("original_full"), torch.tensor([tokens(20)])
    with torch.no_grad():
        expected = reference(ids, output_attentions=True).attentions
    for own, other in zip(encode(reference, ids, Sparsity(block_size=BLOCK)), expected, strict=True):
        torch.testing.assert_close(own, other, atol=1e-5, rtol=1e-4)
