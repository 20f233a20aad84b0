"""What an architecture of no table tells of its own attention: checked, said, and nobody else's business."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from core.attention import bertviz
from core.attention.ablation.gates import heads_of
from core.attention.architectures import asked
from core.attention.architectures.layout import listed, places
from core.attention.architectures.vectors import each, vectors
from core.attention.capture import capture
from core.attention.trace import AttentionMap
from core.errors import InputUnusable, NoAttentionMatrix
from core.vectors.places import turned
from tests import tinyhosts
from tests.parity.test_attention_unusual import made
from tests.parity.test_vectors import inputs_of, of_the_library
from tests.tinyfamilies import PLAIN, tokenizer_of

SMALL: dict[str, Any] = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 4,
    "intermediate_size": 24,
    "max_position_embeddings": 64,
    "n_routed_experts": 2,
    "first_k_dense_replace": 2,
}


def the_map(name: str, *, vectors: bool = True) -> AttentionMap:
    found = capture(tinyhosts.make(name), PLAIN, vectors=vectors).maps
    assert len(found) == 1
    return found[0]


def test_weights_that_the_calls_do_not_explain_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here the library doubles the scores after all, and nothing that is passed along says so."""
    checkpoint = made("glm4_moe", **SMALL)
    given = inputs_of(checkpoint)
    assert len(each(checkpoint, given)["decoder"]) == 2
    library = sys.modules[type(checkpoint.model).__module__]
    eager = library.eager_attention_forward  # type: ignore[attr-defined]

    def doubled(module: Any, query: Any, *rest: Any, **more: Any) -> Any:
        return eager(module, query * 2, *rest, **more)

    monkeypatch.setattr(library, "eager_attention_forward", doubled)
    with pytest.raises(NoAttentionMatrix, match="whose attention cannot be looked into here"):
        each(checkpoint, given)
    assert capture(checkpoint, PLAIN).decoder is not None


def test_attention_that_asks_for_no_function_is_refused() -> None:
    small = {"d_model": 16, "decoder_layers": 2, "decoder_attention_heads": 2, "decoder_ffn_dim": 24}
    checkpoint = made("trocr", **small, max_position_embeddings=64)
    assert capture(checkpoint, PLAIN).decoder is not None
    for look in (lambda: capture(checkpoint, PLAIN, vectors=True), lambda: heads_of(checkpoint)):
        with pytest.raises(NoAttentionMatrix, match=r"trocr.*cannot be looked into here"):
            look()


def test_the_shared_model_and_the_librarys_functions_stay_as_they_are() -> None:
    checkpoint = tinyhosts.make("decoder gpt_oss")
    model = checkpoint.model
    given = inputs_of(checkpoint)
    before = of_the_library(checkpoint, given)["decoder"]
    configs = [getattr(module, "config", None) for module in model.modules()]
    keys = [set(vars(module)) for module in model.modules()]
    interface = transformers.AttentionInterface()
    functions = {name: interface[name] for name in interface if name != str(asked.NAME)}
    with ThreadPoolExecutor(2) as pool:  # one visitor looks inside while another only reads
        looks = [pool.submit(each, checkpoint, given) for _ in range(4)]
        reads = [pool.submit(of_the_library, checkpoint, given) for _ in range(4)]
        for look, read in zip(looks, reads, strict=True):
            assert len(look.result()["decoder"]) == 2
            np.testing.assert_array_equal(read.result()["decoder"], before)
    for module, config, own in zip(model.modules(), configs, keys, strict=True):
        assert getattr(module, "config", None) is config
        assert set(vars(module)) <= own | {"_output_capturing_hooks_installed"}
        assert config is None or type(config._attn_implementation) is str
    assert {name: interface[name] for name in interface if name != str(asked.NAME)} == functions
    assert transformers.AttentionInterface().get_interface("eager", len) is len


def test_places_are_found_out_once() -> None:
    checkpoint = made("hunyuan_v1_dense", **SMALL)
    assert not listed(checkpoint)
    found = places(checkpoint)
    assert [place.module for place in found["decoder"]] == [f"model.layers.{i}.self_attn" for i in range(2)]
    assert {place.heads for place in found["decoder"]} == {4}
    assert places(checkpoint) is found
    assert places(made("hunyuan_v1_dense", **SMALL)) is not found


def test_what_the_score_is_beside_the_product_is_said() -> None:
    product = "Queries and keys are shown as the scores are made of them, after norms and turns"
    shared, sink = "Several heads share a key", "every head has a sink"
    notes = {name: the_map(f"decoder {name}").note for name in ("gpt_oss", "jais2", "inkling_text", "doge", "gemma3")}
    assert all(note.count(product) == 1 for note in notes.values())
    assert all(note.count(shared) == 1 for note in notes.values())
    assert [name for name, note in notes.items() if sink in note] == ["gpt_oss"]
    assert [name for name, note in notes.items() if "a number for the distance" in note] == ["inkling_text"]
    assert [name for name, note in notes.items() if "which the mask brings" in note] == ["doge"]
    assert "Their product is multiplied by 0.378, not" in notes["gemma3"]  # 7 ** -0.5, where the width is 6
    assert the_map("decoder gpt_oss", vectors=False).note == (
        "Rows sum to less than one: every head has a sink, a learnt number beside the scores that takes a share of the "
        "weight and stands for no token."
    )
    capped = vectors(tinyhosts.make("both t5gemma"), inputs_of(tinyhosts.make("both t5gemma")))
    assert {kind: "between -2 and 2 by a hyperbolic tangent" in one.note for kind, one in capped.items()} == {
        "encoder": True,
        "decoder": True,
        "cross": True,
    }
    assert not any(one.whole for one in capped.values())


def test_heads_of_one_model_may_differ_in_width() -> None:
    """Layers of a Gemma 4 that see all have wider heads; zeros fill up the others and change no product."""
    checkpoint = tinyhosts.make("decoder gemma4_text")
    found = vectors(checkpoint, inputs_of(checkpoint))["decoder"]
    near, far = (met for _, met in each(checkpoint, inputs_of(checkpoint))["decoder"])
    assert (near.query.shape[-1], far.query.shape[-1]) == (6, 8)
    assert found.queries.shape == found.keys.shape == (2, 4, 14, 8)
    assert np.abs(found.queries[0, :, :, :6]).min() > 0
    assert not found.queries[0, :, :, 6:].any()
    np.testing.assert_allclose(
        found.queries[0] @ found.keys[0].transpose(0, 2, 1) * found.factor[0], near.terms["content"], atol=1e-5
    )


def test_the_neuron_view_is_drawn_of_them() -> None:
    trace = capture(tinyhosts.make("decoder llama4_text"), PLAIN, vectors=True)
    page = bertviz.render(trace, "neuron", title="A model")
    assert "window.bertviz_params" in page


def test_queries_before_a_turn_are_not_claimed_to_be_unturned() -> None:
    with pytest.raises(InputUnusable, match="as the scores are made of them alone"):
        turned(tinyhosts.make("decoder gpt_oss"), PLAIN)


def test_layers_of_two_hybrid_kinds_all_have_maps() -> None:
    checkpoint = tinyhosts.make("decoder inkling_text")
    found = the_map("decoder inkling_text", vectors=False)
    with torch.inference_mode():
        ids = checkpoint.tokenizer(PLAIN, return_tensors="pt")["input_ids"]
        expected = checkpoint.model(input_ids=ids, output_attentions=True, use_cache=False).attentions
    np.testing.assert_allclose(found.weights, torch.cat(expected).numpy(), atol=1e-6)
    assert found.note == ""


@pytest.mark.parametrize("name", ["jais2", "glm4_moe"])
def test_a_window_that_the_code_does_not_read_hides_nothing(name: str) -> None:
    found = capture(made(name, **SMALL, sliding_window=5), PLAIN).decoder
    assert found is not None
    n = len(found.query_tokens)
    assert found.weights[0, 0, n - 1, 0] > 0
    np.testing.assert_array_equal(found.computed(0, 0), np.tril(np.ones((n, n), dtype=bool)))


def test_both_sides_of_a_t5gemma_say_what_they_see() -> None:
    checkpoint = tinyhosts.make("both t5gemma")
    trace = capture(checkpoint, PLAIN)  # it starts from the token that begins a text, as the library does
    assert trace.encoder is not None
    assert trace.decoder is not None
    assert trace.decoder.query_tokens[0] == checkpoint.tokenizer.convert_ids_to_tokens(2)
    assert trace.encoder.note == (
        "1 of 2 layers see 5 tokens on each side and compute nothing beyond; the others see the whole text."
    )
    assert trace.encoder.computed(0, 0)[10].nonzero()[0].tolist() == list(range(5, 16))
    assert trace.decoder.note == ""
    assert trace.decoder.computed(1, 0)[10].nonzero()[0].tolist() == list(range(6, 11))
    assert trace.decoder.computed(0, 0)[10].nonzero()[0].tolist() == list(range(11))


def test_a_decoder_that_looks_both_ways_at_once_says_so() -> None:
    """T5Gemma 2 gives its decoder's own keys and those of the encoder one softmax; two maps come of it."""
    half = {**SMALL, "sliding_window": 64, "layer_types": ["sliding_attention", "full_attention"]}
    half["vocab_size"] = len(tokenizer_of("seq2seq-lm"))
    seen = {
        "hidden_size": 16,
        "intermediate_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "image_size": 8,
        "patch_size": 4,
    }
    checkpoint = made("t5gemma2", "seq2seq-lm", encoder={"text_config": half, "vision_config": seen}, decoder=half)
    trace = capture(checkpoint, PLAIN, target="The dog sat on the mat.")
    assert trace.decoder is not None
    assert trace.cross is not None
    sums = trace.decoder.weights.sum(-1) + trace.cross.weights.sum(-1)
    np.testing.assert_allclose(sums, 1.0, atol=1e-5)
    for found in (trace.decoder, trace.cross):
        assert found.note.startswith("One softmax goes over what the decoder wrote and what the encoder read")
    with pytest.raises(NoAttentionMatrix, match="cannot be looked into here"):
        capture(checkpoint, PLAIN, vectors=True)
