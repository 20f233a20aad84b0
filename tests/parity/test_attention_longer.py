"""Encoders that read long texts in windows and blocks: their maps, made anew over the whole text from hidden states."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from torch import Tensor

from core.attention.architectures.vectors import scores, vectors
from core.attention.capture import capture, capture_pair
from core.attention.trace import AttentionMap
from core.checkpoints.spec import Checkpoint
from core.efficiency.timing import measure
from core.errors import NoAttentionMatrix
from core.language import losses_pairs, translate
from core.language.decode import banned_ids, without
from core.language.tasks import tasks
from core.language.types import Decoding
from core.objectives import denoising
from tests import tinyhosts
from tests.parity.test_attention_unusual import made

TEXT = " The cat sat on the mat and looked at the dog."
LONG = [name for name in tinyhosts.HOSTS if name.split("-")[0] in ("both led", "both longt5", "both pegasus_x")]
BLOCKS = "both bigbird_pegasus"


def drawn(checkpoint: Checkpoint, times: int) -> tuple[Tensor, AttentionMap]:
    text = (TEXT * times).strip()
    found = capture(checkpoint, text, target="A dog.").encoder
    assert found is not None
    return checkpoint.tokenizer(text, return_tensors="pt")["input_ids"], found


def split(states: Tensor, heads: int) -> Tensor:
    """(n, w) to (H, n, d)."""
    return states.unflatten(-1, (heads, -1)).transpose(0, 1)


def seen_of(name: str, config: Any, layer: int, n: int) -> Tensor:
    """(n, n) from the definitions of windows and blocks, token by token."""
    seen = torch.zeros(n, n, dtype=torch.bool)
    for i in range(n):
        for j in range(n):
            if "led" in name:
                seen[i, j] = abs(i - j) <= config.attention_window[layer] // 2
            elif "longt5" in name:
                seen[i, j] = abs(i - j) <= config.local_radius
            else:
                moved = config.block_size // 2 if config.stagger_local_blocks and layer % 2 == 1 else 0
                seen[i, j] = (i + moved) // config.block_size == (j + moved) // config.block_size
    return seen


def others(name: str, model: Any, layer: int, reads: Tensor, held: Tensor, n: int) -> tuple[Tensor, Tensor]:
    """(s, w) states of the keys that stand for no token, and (H, n, s) what is added to their scores."""
    heads = model.config.num_attention_heads
    if "pegasus" in name:
        return held, torch.zeros(heads, n, len(held))
    own = model.encoder.block[layer].layer[0].TransientGlobalSelfAttention
    count = n // own.global_block_size
    blocks = torch.clamp(torch.arange(n) // own.global_block_size, max=count - 1)  # a last one that is not full joins
    summed = torch.stack([reads[blocks == block].sum(0) for block in range(count)])
    first = model.encoder.block[0].layer[0].TransientGlobalSelfAttention
    apart = torch.arange(count)[None] - blocks[:, None]
    buckets = first._relative_position_bucket(
        apart, True, first.relative_attention_num_buckets, first.relative_attention_max_distance
    )
    return own.global_input_layer_norm(summed), first.global_relative_attention_bias(buckets).permute(2, 0, 1)


@pytest.mark.parametrize("name", LONG)
@pytest.mark.parametrize("times", [1, 3])
def test_maps_are_full_attention_with_what_is_not_seen_left_out(name: str, times: int) -> None:
    checkpoint = tinyhosts.make(name)
    model: Any = copy.deepcopy(checkpoint.model)
    ids, found = drawn(checkpoint, times)
    n = ids.shape[1]
    held: list[Tensor] = []
    if "pegasus" in name:
        for block in model.model.encoder.layers:
            block.self_attn.register_forward_pre_hook(
                lambda _, __, given: held.append(given["global_hidden_states"][0]), with_kwargs=True
            )
    reader = model.get_encoder()
    with torch.inference_mode():
        states = reader(input_ids=ids, output_hidden_states=True).hidden_states
        for layer in range(found.layers):
            reads = states[layer][0, :n]
            if "longt5" in name:
                part = reader.block[layer].layer[0]
                own = next(child for child in part.children() if hasattr(child, "q"))
                reads, (query, key), scale = part.layer_norm(reads), (own.q, own.k), 1.0
            elif "led" in name:
                own = reader.layers[layer].self_attn.longformer_self_attn
                query, key, scale = own.query, own.key, own.head_dim**-0.5
            else:
                own = reader.layers[layer].self_attn
                reads = reader.layers[layer].self_attn_layer_norm(reads)
                query, key, scale = own.q_proj, own.k_proj, own.head_dim**-0.5
            queries, keys = (split(one(reads), found.heads) for one in (query, key))
            total = queries @ keys.mT * scale
            if "longt5" in name:
                first = next(child for child in reader.block[0].layer[0].children() if hasattr(child, "q"))
                apart = torch.arange(n)[None] - torch.arange(n)[:, None]
                buckets = first._relative_position_bucket(
                    apart, True, first.relative_attention_num_buckets, first.relative_attention_max_distance
                )
                total = total + first.relative_attention_bias(buckets).permute(2, 0, 1)
            total = total.masked_fill(~seen_of(name, model.config, layer, n), float("-inf"))
            if "summaries" in name or "pegasus" in name:
                more, bias = others(name, model, layer, reads, held[layer] if held else reads, n)
                far = split(key(more), found.heads)
                total = torch.cat([total, queries @ far.mT * scale + bias], dim=-1)
            expected = total.softmax(-1)[..., :n].numpy()
            np.testing.assert_allclose(found.weights[layer], expected, atol=1e-5)
            np.testing.assert_array_equal(found.computed(layer, 0), seen_of(name, model.config, layer, n).numpy())


@pytest.mark.parametrize("name", LONG)
@pytest.mark.parametrize("times", [1, 3])
def test_scores_give_the_maps_up_to_what_goes_to_no_token(name: str, times: int) -> None:
    checkpoint = tinyhosts.make(name)
    ids, found = drawn(checkpoint, times)
    given = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "decoder_input_ids": torch.tensor([[1, 7, 9]])}
    made_of = scores(checkpoint, given)["encoder"]
    shares = found.weights / found.weights.sum(-1, keepdims=True)
    np.testing.assert_allclose(torch.tensor(made_of).softmax(-1).numpy(), shares, atol=1e-5)
    computed = [[found.computed(layer, head) for head in range(found.heads)] for layer in range(found.layers)]
    np.testing.assert_array_equal(np.isfinite(made_of), np.array(computed))


@pytest.mark.parametrize("times", [1, 3])
def test_bigbird_pegasus_mixes_its_values_by_these_weights(times: int) -> None:
    checkpoint = tinyhosts.make.__wrapped__(BLOCKS)  # its own: a pass over a short text switches the model that it runs
    ids, found = drawn(checkpoint, times)
    assert checkpoint.model.model.encoder.attention_type == "block_sparse"  # the shared model is not switched
    n = ids.shape[1]
    assert (times == 1) == (found.allowed is None)
    assert found.note.startswith("Blocks of 4 tokens") == (times == 3)
    model: Any = copy.deepcopy(checkpoint.model)
    values: list[Tensor] = []
    mixes: list[Tensor] = []
    for layer in model.model.encoder.layers:
        layer.self_attn.self.value.register_forward_hook(lambda _, __, back: values.append(back[0, :n]))
        layer.self_attn.output.register_forward_pre_hook(lambda _, given: mixes.append(given[0][0, :n]))
    with torch.inference_mode():
        model.model.encoder(input_ids=ids)
    for weights, value, mixed in zip(found.weights, values, mixes, strict=True):
        again = (torch.tensor(weights) @ split(value, found.heads)).transpose(0, 1).flatten(1)
        torch.testing.assert_close(again, mixed, atol=1e-4, rtol=1e-4)
    if times == 3:
        with pytest.raises(NoAttentionMatrix, match="up to 28 tokens"):
            capture(checkpoint, TEXT * times, target="A dog.", vectors=True)


def test_what_a_bigbird_pegasus_read_before_does_not_change_its_map() -> None:
    checkpoint = tinyhosts.make.__wrapped__(BLOCKS)  # its own: a pass over a short text switches the model that it runs
    _, before = drawn(checkpoint, 3)
    switched = copy.deepcopy(checkpoint.model)
    switched.model.encoder.set_attention_type("original_full")  # as the library does on a short text
    _, after = drawn(Checkpoint(switched, checkpoint.tokenizer, checkpoint.spec), 3)
    np.testing.assert_array_equal(before.weights, after.weights)


def test_a_shared_bigbird_pegasus_stays_as_it_is_whatever_is_asked_of_it() -> None:
    """The library would switch it to full attention on the first short text, and its long answers would be others."""
    checkpoint = tinyhosts.make.__wrapped__(BLOCKS)
    encoder = checkpoint.model.model.encoder
    task, long = tasks(checkpoint)[0].slug, (TEXT * 3).strip()

    def written(text: str) -> list[tuple[float, ...]]:
        steps = translate.rewrite(checkpoint, text, task, Decoding(max_new_tokens=4))
        return [tuple(one.probability for one in step.alternatives) for step in steps]

    before = written(long)
    ids = checkpoint.tokenizer(long, return_tensors="pt")["input_ids"]
    assert ids.shape[1] > 28
    with torch.inference_mode():  # the library's own pass over a long text, by the model as it was made
        start = torch.tensor([list(translate.prepare(checkpoint, long, task).prompt)])
        logits = copy.deepcopy(checkpoint.model)(input_ids=ids, decoder_input_ids=start).logits[0, -1]
    first = next(iter(translate.rewrite(checkpoint, long, task, Decoding(max_new_tokens=1))))
    expected = without(logits[None].clone(), banned_ids(checkpoint.model))[0].softmax(-1)
    assert first.token.probability == pytest.approx(float(expected[first.token.id]), abs=1e-6)
    written(TEXT.strip())
    translate.align(checkpoint, translate.prepare(checkpoint, TEXT.strip(), task), [5, 6])
    words = checkpoint.tokenizer.convert_ids_to_tokens(ids[0, :8].tolist())
    losses_pairs.of_written(checkpoint, denoising.corrupt([words], np.random.default_rng(0), ("mask",)))
    measure(checkpoint)
    assert encoder.attention_type == "block_sparse"
    assert written(long) == before
    whole = copy.deepcopy(checkpoint)
    whole.model.model.encoder.set_attention_type("original_full")
    with torch.inference_mode():
        other = whole.model(input_ids=ids, decoder_input_ids=start).logits[0, -1]
    assert not torch.allclose(other, logits, atol=1e-4), "there is nothing to tell apart"


@pytest.mark.parametrize("name", [*LONG, BLOCKS])
def test_what_it_writes_on_its_own_has_three_maps(name: str) -> None:
    checkpoint = tinyhosts.make(name)
    trace = capture(checkpoint, TEXT.strip())
    assert [found.kind for found in trace.maps] == ["encoder", "decoder", "cross"]
    ids = checkpoint.tokenizer(TEXT.strip())["input_ids"]
    again = capture_pair(checkpoint, ids, [1], [5, 6], vectors=True)
    assert again.encoder is not None
    np.testing.assert_array_equal(trace.encoder.weights, again.encoder.weights)  # type: ignore[union-attr]


def test_notes_say_which_keys_are_left_out() -> None:
    given = {"input_ids": torch.tensor([[5, 6, 7, 1]]), "decoder_input_ids": torch.tensor([[0]])}
    assert "global tokens have some, too" in vectors(tinyhosts.make("both pegasus_x"), given)["encoder"].note
    assert "summaries of blocks have some" in vectors(tinyhosts.make("both longt5-summaries"), given)["encoder"].note


def test_funnels_map_has_the_layers_whose_rows_are_tokens() -> None:
    checkpoint = made(
        "funnel",
        "masked-lm",
        block_sizes=[2, 1, 1],
        block_repeats=[1, 2, 1],
        num_decoder_layers=2,
        d_model=16,
        n_head=2,
        d_head=8,
        d_inner=24,
        pad_token_id=0,
    )
    text = (TEXT * 2).strip()
    found = capture(checkpoint, text).encoder
    assert found is not None
    assert found.weights.shape[0] == 4
    assert found.note == (
        "Layers 1 to 2 here are the first block's; layers 3 to 4 are the decoder's. Between them 3 layers have one "
        "state for several tokens, and no map of tokens."
    )
    ids = checkpoint.tokenizer(text, return_tensors="pt")
    assert isinstance(checkpoint.model, transformers.FunnelForMaskedLM)
    with torch.inference_mode():
        every = checkpoint.model(**ids, output_attentions=True).attentions
    n = ids["input_ids"].shape[1]
    square = [layer for layer in every if layer.shape[-2:] == (n, n)]
    assert len(every) == 7
    np.testing.assert_array_equal(found.weights, torch.cat(square).numpy())
    np.testing.assert_allclose(found.weights.sum(-1), 1.0, atol=1e-5)


def test_a_funnels_layer_that_runs_twice_has_its_queries_and_keys_each_time() -> None:
    checkpoint = made(
        "funnel",
        "masked-lm",
        block_sizes=[2, 1],
        block_repeats=[2, 1],
        num_decoder_layers=1,
        d_model=16,
        n_head=2,
        d_head=8,
        d_inner=24,
        pad_token_id=0,
    )
    ids = checkpoint.tokenizer(TEXT.strip(), return_tensors="pt")["input_ids"]
    segments = (torch.arange(ids.shape[1]) > 4).long()[None]
    segments[:, 0] = 2  # as its tokeniser marks the first token
    given = {"input_ids": ids, "token_type_ids": segments, "attention_mask": torch.ones_like(ids)}
    with torch.inference_mode():
        every = checkpoint.model(**given, output_attentions=True).attentions
    expected = torch.cat([*every[:4], every[-1]]).numpy()
    found = scores(checkpoint, given)["encoder"]
    np.testing.assert_allclose(torch.tensor(found).softmax(-1).numpy(), expected, atol=1e-5)
    assert np.abs(found[0] - found[1]).max() > 1e-2
