"""Queries and keys taken out of every family: the softmax of the scores made of them is what the model attends to."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from core.attention.capture import capture
from core.attention.scores import scores_by_layer
from core.checkpoints.spec import Checkpoint
from core.errors import NoAttentionMatrix
from core.language.inputs import Inputs
from core.language.permuted import streams
from core.patterns import ranks
from tests import tinyfamilies
from tests.library import library_model

IDS = torch.randint(5, 100, (1, 14), generator=torch.Generator().manual_seed(1))
FAMILIES = [*tinyfamilies.FAMILIES]
DIRECT = [name for name in FAMILIES if name not in ("longformer", "reformer")]


def inputs_of(checkpoint: Checkpoint) -> dict[str, Any]:
    """One row for any family; two segments and a language where there are some."""
    config = checkpoint.model.config
    inputs: dict[str, Any] = {"input_ids": IDS, "attention_mask": torch.ones_like(IDS)}
    if config.model_type in ("bert", "electra", "albert", "xlnet"):
        inputs["token_type_ids"] = (torch.arange(IDS.shape[1]) > 8).long()[None]
    if config.model_type == "xlm":
        inputs["langs"] = torch.full_like(IDS, 2)
    if config.is_encoder_decoder:
        inputs["decoder_input_ids"] = IDS[:, 3:10]
    return inputs


def scores(checkpoint: Checkpoint, given: dict[str, Any]) -> dict[str, Any]:
    """(L, H, Q, K) by kind of attention, minus infinity where no key may be attended to."""
    read = scores_by_layer(Inputs(checkpoint, given, ()))
    return {
        kind: np.stack([attention_scores.score.numpy() for _, attention_scores in layers])
        for kind, layers in read.items()
    }


def softmax(found: Any) -> Any:
    return torch.tensor(found).softmax(-1).numpy()


def of_the_library(checkpoint: Checkpoint, given: dict[str, Any]) -> dict[str, Any]:
    """(L, H, Q, K) weights by kind, as transformers returns them."""
    with torch.inference_mode():
        out = library_model(checkpoint.model)(**given, output_attentions=True)
    if checkpoint.model.config.is_encoder_decoder:
        kept = {"encoder": out.encoder_attentions, "decoder": out.decoder_attentions, "cross": out.cross_attentions}
    elif "target_mapping" in given:
        rows = given["target_mapping"][0].argmax(-1)
        kept = {
            "decoder": [entry for entry, _ in out.attentions],
            "query": [entry[:, :, rows] for _, entry in out.attentions],
        }
    else:
        kept = {"decoder" if checkpoint.spec.kind == "causal-lm" else "encoder": out.attentions}
    return {kind: torch.cat(tuple(layers)).numpy() for kind, layers in kept.items()}


@pytest.mark.parametrize("name", DIRECT)
def test_the_softmax_of_the_scores_is_what_the_model_attends_to(name: str) -> None:
    checkpoint = tinyfamilies.make(name)
    inputs = inputs_of(checkpoint)
    expected = of_the_library(checkpoint, inputs)
    recomputed = scores(checkpoint, inputs)
    assert recomputed.keys() == expected.keys()
    for kind, weights in expected.items():
        assert recomputed[kind].shape == weights.shape
        np.testing.assert_allclose(softmax(recomputed[kind]), weights, atol=1e-5)


@pytest.mark.parametrize("name", ["big_bird", "longformer"])
@pytest.mark.parametrize("times", [1, 4])
def test_sparse_families_are_read_as_their_maps_are_drawn(name: str, times: int) -> None:
    checkpoint = tinyfamilies.make(name)
    text = " ".join([tinyfamilies.PLAIN] * times)
    encoded = dict(checkpoint.tokenizer(text, return_tensors="pt"))
    drawn = capture(checkpoint, text).encoder
    score = scores(checkpoint, encoded)["encoder"]
    np.testing.assert_allclose(softmax(score), drawn.weights, atol=1e-5)
    assert (times == 1 and name == "big_bird") == (drawn.allowed is None)
    allowed = True if drawn.allowed is None else drawn.allowed
    np.testing.assert_array_equal(np.isfinite(score), np.broadcast_to(allowed, score.shape))


def test_a_long_text_of_a_transformer_xl_is_read_in_segments_as_its_map_is_drawn() -> None:
    checkpoint = tinyfamilies.make("xlnet-left")
    text = " ".join([tinyfamilies.PLAIN] * 9)
    drawn = capture(checkpoint, text, vectors=True).decoder
    n = len(drawn.query_tokens)
    assert n > 64 + 32
    encoded = {"input_ids": checkpoint.tokenizer(text, return_tensors="pt")["input_ids"]}
    assert drawn.queries.shape == drawn.keys.shape == (2, 2, n, 8)
    score = scores(checkpoint, encoded)["decoder"]
    np.testing.assert_allclose(softmax(score), drawn.weights, atol=1e-5)
    assert np.isfinite(score)[0, 0, -1].sum() < n


def test_the_streams_of_xlnet_have_the_kinds_and_rows_of_their_maps() -> None:
    checkpoint = tinyfamilies.make("xlnet")
    trace = capture(checkpoint, tinyfamilies.PLAIN)
    ids = checkpoint.tokenizer(tinyfamilies.PLAIN, return_tensors="pt")["input_ids"]
    places = [i for i, single in enumerate(ids[0].tolist()) if single not in checkpoint.tokenizer.all_special_ids]
    inputs = {"input_ids": ids, **streams(ids, ranks(places, ids.shape[1]), places)}
    recomputed = scores(checkpoint, inputs)
    for kind, drawn in (("decoder", trace.decoder), ("query", trace.query)):
        assert recomputed[kind].shape == drawn.weights.shape
        np.testing.assert_allclose(softmax(recomputed[kind]), drawn.weights, atol=1e-5)


def test_xlnets_query_stream_has_queries_of_its_own_and_the_contents_keys() -> None:
    checkpoint = tinyfamilies.make("xlnet")
    length = IDS.shape[1]
    hidden, where = torch.zeros(1, length, length), torch.zeros(1, 2, length)
    hidden[:, :, [4, 9]] = 1
    where[0, 0, 4] = where[0, 1, 9] = 1
    inputs = inputs_of(checkpoint) | {"perm_mask": hidden, "target_mapping": where}
    recomputed, expected = scores(checkpoint, inputs), of_the_library(checkpoint, inputs)
    for kind in ("decoder", "query"):
        np.testing.assert_allclose(softmax(recomputed[kind]), expected[kind], atol=1e-5)
    both = scores_by_layer(Inputs(checkpoint, inputs, ()))
    for (_, query), (_, content) in zip(both["query"], both["decoder"], strict=True):
        np.testing.assert_array_equal(query.key, content.key)
        assert query.query.shape == (2, 2, 8)
        assert not np.allclose(query.query, content.query[:, [4, 9]])


def test_a_memory_gives_keys_before_the_first_token() -> None:
    checkpoint = tinyfamilies.make("xlnet-left")
    with torch.inference_mode():
        before = checkpoint.model(input_ids=IDS[:, :6], use_mems=True).mems
    inputs = {"input_ids": IDS[:, 6:], "mems": before}
    score = scores(checkpoint, inputs)["decoder"]
    assert score.shape[2:] == (8, 14)
    np.testing.assert_allclose(softmax(score), of_the_library(checkpoint, inputs)["decoder"], atol=1e-5)


def test_grouped_queries_share_keys() -> None:
    for _, layer in scores_by_layer(Inputs(tinyfamilies.make("llama"), {"input_ids": IDS}, ()))["decoder"]:
        assert layer.query.shape == layer.key.shape == (4, 14, 4)
        np.testing.assert_array_equal(layer.key[0], layer.key[1])
        assert not np.allclose(layer.key[1], layer.key[2])


def test_queries_of_bert_by_hand() -> None:
    checkpoint = tinyfamilies.make("bert")
    inputs = inputs_of(checkpoint)
    with torch.inference_mode():
        states = library_model(checkpoint.model)(**inputs, output_hidden_states=True).hidden_states
    for layer, (_, found) in enumerate(scores_by_layer(Inputs(checkpoint, inputs, ()))["encoder"]):
        attention: Any = checkpoint.model.bert.encoder.layer[layer].attention.self
        for head in range(2):
            rows = slice(8 * head, 8 * head + 8)
            for part, got in ((attention.query, found.query), (attention.key, found.key)):
                expected = states[layer][0] @ part.weight[rows].T + part.bias[rows]
                np.testing.assert_allclose(got[head], expected.numpy(), atol=1e-5)


def test_what_has_no_queries_is_refused_in_a_sentence() -> None:
    checkpoint = tinyfamilies.make("bert")
    checkpoint.model.config.model_type = "fnet"
    del checkpoint.model._plan
    with pytest.raises(NoAttentionMatrix, match="no attention matrix: FNet mixes"):
        scores_by_layer(Inputs(checkpoint, {"input_ids": IDS}, ()))
