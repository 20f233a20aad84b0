"""Attention of an architecture without a row, read at its own calls: checked, said, and nobody else's business."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from core.attention import bertviz
from core.attention.ablation.ablate import Head, HeadMask, heads_of, switch_off
from core.attention.ablation.question import Reader, ask
from core.attention.architectures.hooks import NAME, register_attention_hook
from core.attention.architectures.layout import listed
from core.attention.architectures.recording import private_twin
from core.attention.architectures.vectors import attention_layers, each, vectors
from core.attention.capture import capture
from core.attention.trace import AttentionMap
from core.checkpoints.spec import Checkpoint
from core.errors import InputUnusable, NoAttentionMatrix
from core.vectors.positions import rotary_vectors
from tests import tinyhosts
from tests.parity.test_ablate import mutilated
from tests.parity.test_vectors import inputs_of, of_the_library, scores, softmax
from tests.tinyfamilies import PLAIN, answer_of, text_for

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


def made(name: str, **settings: Any) -> Checkpoint:
    return tinyhosts.build(f"decoder {name}", "causal-lm", SMALL | settings)


def check_scores(checkpoint: Checkpoint) -> None:
    given = inputs_of(checkpoint)
    expected, found = of_the_library(checkpoint, given), scores(checkpoint, given)
    assert found.keys() == expected.keys()
    for kind, weights in expected.items():
        assert found[kind].shape == weights.shape
        assert np.abs(weights - 1 / weights.shape[-1]).max() > 1e-3  # there is something to tell apart
        beside = sinks_of(checkpoint, kind)
        for score, sinks, own in zip(found[kind], beside, weights, strict=True):
            with_sink = np.concatenate([score, np.broadcast_to(sinks, (*score.shape[:2], 1))], axis=-1)
            np.testing.assert_allclose(softmax(with_sink)[..., :-1], own, atol=1e-5)
        assert any(np.isfinite(sinks).any() for sinks in beside) == bool((weights.sum(-1) < 0.99).any())


def sinks_of(checkpoint: Checkpoint, kind: Any) -> list[Any]:
    """(H, 1, 1) for each layer what the model itself keeps beside a row's scores; minus infinity where nothing is.

    A Granite with windows has sinks, too, which make its heads' values smaller and not their weights.
    """
    found = []
    for layer in attention_layers(checkpoint)[kind]:
        own = getattr(checkpoint.model.get_submodule(layer.module), "sinks", None)
        within = own is not None and checkpoint.model.config.model_type != "granite_swa"
        found.append(own.numpy()[:, None, None] if within else np.full((layer.heads, 1, 1), -np.inf))
    return found


def check_maps(checkpoint: Checkpoint) -> None:
    seq2seq = checkpoint.spec.kind == "seq2seq-lm"
    trace = capture(checkpoint, PLAIN, target="The dog sat on the mat." if seq2seq else None, vectors=True)
    assert len(trace.maps) == (3 if seq2seq else 1)
    for found in trace.maps:
        assert found.queries is not None
        assert found.keys is not None
        assert found.queries.shape[:3] == found.weights.shape[:3]
        assert found.keys.shape[:3] == (*found.weights.shape[:2], found.weights.shape[3])
        if "Rows sum to less than one" in found.note:
            assert any(np.isfinite(one).any() for one in sinks_of(checkpoint, found.kind))
            assert (found.weights.sum(-1) < 0.99).any()
            assert found.weights.sum(-1).max() < 1 + 1e-4
        else:
            np.testing.assert_allclose(found.weights.sum(-1), 1.0, atol=1e-4)
        for layer in range(found.layers):
            for head in range(found.heads):
                np.testing.assert_array_equal(found.weights[layer, head] > 0, found.computed(layer, head))


def check_heads(checkpoint: Checkpoint) -> None:
    question = ask(checkpoint, text_for(checkpoint))
    every = heads_of(checkpoint)
    last = set().union(*(alike(checkpoint, head) for head in {head.kind: head for head in every}.values()))
    off = [set(), alike(checkpoint, every[1]), last, set(every)]
    reader = Reader(question)
    HeadMask(reader.model, checkpoint).ablate(off)
    found = reader.answers(len(off))
    for row, heads in enumerate(off):
        expected = answer_of(mutilated(checkpoint, heads), question)
        torch.testing.assert_close(found[row], expected, atol=2e-4, rtol=1e-4)
        assert row == 0 or not torch.allclose(found[row], found[0], atol=1e-4), "nothing was switched off"
    assert switch_off(checkpoint, text_for(checkpoint), every[:1]).bits >= 0


def alike(checkpoint: Checkpoint, head: Head) -> set[Head]:
    """A head of one layer, and the same of all layers that are this module once more: its columns serve them all."""
    layers = attention_layers(checkpoint)[head.kind]
    return {head._replace(layer=i) for i, one in enumerate(layers) if one.module == layers[head.layer].module}


@pytest.mark.parametrize("name", ["encoder nomic_bert", "decoder gpt_oss", "both t5gemma"])
def test_maps_scores_and_heads_are_the_librarys(name: str) -> None:
    check_scores(tinyhosts.make(name))
    check_maps(tinyhosts.make(name))
    check_heads(tinyhosts.make(name))


def the_map(name: str, *, vectors: bool = True) -> AttentionMap:
    found = capture(tinyhosts.make(name), PLAIN, vectors=vectors).maps
    assert len(found) == 1
    return found[0]


def test_weights_that_the_calls_do_not_explain_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here the library doubles the scores after all, and nothing that is passed along says so."""
    checkpoint = made("glm4_moe")
    given = inputs_of(checkpoint)
    assert len(each(checkpoint, given)["decoder"]) == 2
    library = sys.modules[type(checkpoint.model).__module__]
    eager = library.eager_attention_forward  # type: ignore[attr-defined]

    def doubled(module: Any, query: Any, *rest: Any, **more: Any) -> Any:
        return eager(module, query * 2, *rest, **more)

    monkeypatch.setattr(library, "eager_attention_forward", doubled)
    with pytest.raises(NoAttentionMatrix, match="queries, keys and heads cannot be read here"):
        each(checkpoint, given)
    assert capture(checkpoint, PLAIN).decoder is not None


def test_attention_that_asks_for_no_function_is_refused() -> None:
    small = {"d_model": 16, "decoder_layers": 2, "decoder_attention_heads": 2, "decoder_ffn_dim": 24}
    checkpoint = tinyhosts.build("decoder trocr", "causal-lm", small | {"max_position_embeddings": 64})
    assert capture(checkpoint, PLAIN).decoder is not None
    for look in (lambda: capture(checkpoint, PLAIN, vectors=True), lambda: heads_of(checkpoint)):
        with pytest.raises(NoAttentionMatrix, match=r"trocr.*cannot be read here"):
            look()


def test_the_shared_model_and_the_librarys_functions_stay_as_they_are() -> None:
    checkpoint = tinyhosts.make("decoder gpt_oss")
    model = checkpoint.model
    given = inputs_of(checkpoint)
    before = of_the_library(checkpoint, given)["decoder"]
    configs = [getattr(module, "config", None) for module in model.modules()]
    keys = [set(vars(module)) for module in model.modules()]
    interface = transformers.AttentionInterface()
    functions = {name: interface[name] for name in interface if name != NAME}
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
    assert {name: interface[name] for name in interface if name != NAME} == functions
    assert transformers.AttentionInterface().get_interface("eager", len) is len


def test_a_hook_leaves_the_configurations_within_a_configuration_alone() -> None:
    """Naming a function in a configuration names it in those of its parts, which are the shared model's."""
    own: Any = private_twin(tinyhosts.make("decoder qwen3"))
    module = own.model.layers[0].self_attn
    whole = transformers.Gemma3Config(attn_implementation="eager")
    module.config = whole
    register_attention_hook(module, "here", lambda _: None)
    assert module.config._attn_implementation == NAME
    assert whole._attn_implementation == whole.text_config._attn_implementation == "eager"


def test_places_are_found_out_once() -> None:
    checkpoint = made("hunyuan_v1_dense")
    assert not listed(checkpoint)
    found = attention_layers(checkpoint)
    assert [place.module for place in found["decoder"]] == [f"model.layers.{i}.self_attn" for i in range(2)]
    assert {place.heads for place in found["decoder"]} == {4}
    assert attention_layers(checkpoint) is found
    assert attention_layers(made("hunyuan_v1_dense")) is not found


def test_what_the_score_is_beside_the_product_is_said() -> None:
    product = "Queries and keys are shown as they enter the scores, after norms and rotations"
    shared, sink = "Several heads share a key", "every head has a sink"
    notes = {name: the_map(f"decoder {name}").note for name in ("gpt_oss", "gemma2", "qwen3")}
    assert all(note.count(product) == 1 for note in notes.values())
    assert all(note.count(shared) == 1 for note in notes.values())
    assert [name for name, note in notes.items() if sink in note] == ["gpt_oss"]
    assert "Their product is multiplied by 0.378, not" in notes["gemma2"]  # 7 ** -0.5, where the width is 6
    assert the_map("decoder gpt_oss", vectors=False).note == (
        "Rows sum to less than one: every head has a sink, a learned score that takes a share of the "
        "weight and belongs to no token."
    )
    distances = vectors(tinyhosts.make("both umt5"), inputs_of(tinyhosts.make("both umt5")))
    assert "one more term, a number for the distance" in distances["encoder"].note
    capped = vectors(tinyhosts.make("both t5gemma"), inputs_of(tinyhosts.make("both t5gemma")))
    assert {kind: "between -2 and 2 by a hyperbolic tangent" in one.note for kind, one in capped.items()} == {
        "encoder": True,
        "decoder": True,
        "cross": True,
    }
    assert not any(one.whole for one in capped.values())


def test_the_neuron_view_is_drawn_of_them() -> None:
    trace = capture(tinyhosts.make("decoder phi3"), PLAIN, vectors=True)
    page = bertviz.render(trace, "neuron", title="A model")
    assert "window.bertviz_params" in page


def test_queries_before_a_turn_are_not_claimed_to_be_unturned() -> None:
    with pytest.raises(InputUnusable, match="not before they are rotated"):
        rotary_vectors(tinyhosts.make("decoder gpt_oss"), PLAIN)


@pytest.mark.parametrize("name", ["jais2", "glm4_moe"])
def test_a_window_that_the_code_does_not_read_hides_nothing(name: str) -> None:
    found = capture(made(name, sliding_window=5), PLAIN).decoder
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
        "1 of 2 layers attend to 5 tokens on each side and compute nothing beyond; the others attend to the whole text."
    )
    assert trace.encoder.computed(0, 0)[10].nonzero()[0].tolist() == list(range(5, 16))
    assert trace.decoder.note == ""
    assert trace.decoder.computed(1, 0)[10].nonzero()[0].tolist() == list(range(6, 11))
    assert trace.decoder.computed(0, 0)[10].nonzero()[0].tolist() == list(range(11))
