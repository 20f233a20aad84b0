"""Masks against those that transformers makes, and reach against models: who changes when one token does."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from transformers import (
    GPTNeoConfig,
    GPTNeoModel,
    LongformerConfig,
    LongformerModel,
    MistralConfig,
    MistralModel,
    XLNetConfig,
    XLNetModel,
    masking_utils,
)

from core import patterns
from core.attention.masks.axes import numbered, one_text
from core.attention.masks.board import build_board, levels, receptive_field
from core.attention.masks.kinds import parse_mask
from core.patterns import (
    Mask,
    Pattern,
    causal,
    content_stream,
    full,
    mask,
    padding,
    query_stream,
    segments,
    window,
)

N = 16


def theirs(function: Callable[..., torch.Tensor], n: int = N) -> NDArray[np.bool_]:
    """A mask function of transformers as a matrix."""
    query, key = torch.meshgrid(torch.arange(n), torch.arange(n), indexing="ij")
    zero = torch.zeros((), dtype=torch.long)
    return np.asarray(torch.as_tensor(function(zero, zero, query, key)).expand(n, n).numpy(), dtype=np.bool_)


@pytest.mark.parametrize(
    ("pattern", "function"),
    [
        (full, masking_utils.bidirectional_mask_function),
        (causal, masking_utils.causal_mask_function),
        (window(4, 0), masking_utils.sliding_window_causal_mask_function(5)),
        (window(3), masking_utils.sliding_window_bidirectional_mask_function(3)),
        (segments(5, 0), masking_utils.chunked_causal_mask_function(5, torch.zeros(1, dtype=torch.long))),
        (padding(11), masking_utils.padding_mask_function(torch.arange(N)[None] < 11)),
    ],
    ids=["full", "causal", "sliding window", "window both ways", "segments without memory", "padding"],
)
def test_predicates_are_those_of_the_library(pattern: Pattern, function: Callable[..., torch.Tensor]) -> None:
    assert (mask(pattern, N) == theirs(function)).all()


def xlnet(**more: object) -> XLNetModel:
    torch.manual_seed(0)
    return XLNetModel(XLNetConfig(vocab_size=30, d_model=16, n_layer=2, n_head=2, d_inner=16, **more)).eval()


@pytest.mark.parametrize("memory", [0, 3, 4])
def test_segments_with_memory_are_xlnets(memory: int) -> None:
    size, number = 4, 2
    made = xlnet().create_mask(size, memory).numpy() == 0  # (queries, memory + segment), 1 where masked
    rows = slice(number * size, (number + 1) * size)
    columns = slice(number * size - memory, (number + 1) * size)
    assert (mask(segments(size, memory), 3 * size)[rows, columns] == made).all()


def test_the_two_streams_are_where_xlnet_puts_weights() -> None:
    n, order = 6, (4, 1, 3, 0)
    rank = patterns.ranks(order, n)
    with torch.inference_mode():
        out = xlnet()(
            input_ids=torch.arange(n)[None] + 5,
            perm_mask=torch.from_numpy(patterns.perm_mask(rank))[None].float(),
            target_mapping=torch.eye(n)[None],
            output_attentions=True,
            use_mems=False,
        )
    for layer in out.attentions:  # two streams a layer, each (1, heads, queries, keys)
        content, query = (stream.reshape(-1, n, n).numpy() for stream in layer)
        assert ((content > 1e-9).any(0) == mask(content_stream(order, n), n)).all()
        assert ((query > 1e-9).any(0) == mask(query_stream(order, n), n)).all()


def changed(model: torch.nn.Module, n: int, **more: torch.Tensor) -> Mask:
    """(n, n) whether the output at a row changes when the token of a column does."""
    ids = torch.arange(n)[None] % 20 + 5
    zeros = np.zeros((n, n), dtype=np.bool_)
    with torch.inference_mode():
        before = model(input_ids=ids, **more).last_hidden_state[0]
        for place in range(n):
            other = ids.clone()
            other[0, place] = 28
            after = model(input_ids=other, **more).last_hidden_state[0]
            zeros[:, place] = ((after - before).abs().amax(-1) > 1e-9).numpy()
    return zeros


def model(kind: type, config: object) -> torch.nn.Module:
    torch.manual_seed(0)
    made = kind(config).double().eval()
    with torch.no_grad():  # larger weights, so that little is lost on the way
        for parameter in made.parameters():
            parameter.mul_(3)
    return made  # type: ignore[no-any-return]


SMALL = {"vocab_size": 30, "hidden_size": 8, "intermediate_size": 8, "max_position_embeddings": 64}
ENCODER = SMALL | {"num_attention_heads": 2}


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_reach_is_what_a_longformer_has(layers: int) -> None:
    config = LongformerConfig(**ENCODER, num_hidden_layers=layers, attention_window=4, pad_token_id=1)
    made = model(LongformerModel, config)
    alone = torch.zeros(1, N, dtype=torch.long)
    assert (changed(made, N, global_attention_mask=alone) == receptive_field(_levels("window-2-2"), layers)).all()
    first = alone.clone()
    first[0, 0] = 1
    with_global = patterns.mask(patterns.union(window(2), patterns.global_at([0])), N)
    joined = receptive_field(levels(with_global), layers)
    assert (changed(made, N, global_attention_mask=first) == joined).all()
    assert joined.all() == (layers > 1)


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_reach_is_what_a_decoder_with_a_window_has(layers: int) -> None:
    window = {"num_key_value_heads": 2, "sliding_window": 3, "attn_implementation": "eager"}
    made = model(MistralModel, MistralConfig(**ENCODER, num_hidden_layers=layers, **window))
    assert (changed(made, N) == receptive_field(_levels("window-2-0"), layers)).all()


def test_local_layers_reach_what_their_window_reaches() -> None:
    local = {"num_layers": 2, "num_heads": 2, "window_size": 3, "attention_types": [[["local"], 2]]}
    made = model(GPTNeoModel, GPTNeoConfig(**SMALL, **local))
    assert (changed(made, N) == receptive_field(_levels("window-2-0"), 2)).all()


def _levels(word: str) -> NDArray[np.int16]:
    return levels(build_board(parse_mask(word), one_text(numbered(N))).allowed)
