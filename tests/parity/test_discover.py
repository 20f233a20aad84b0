"""Architectures without a row whose modules call our attention: found, compared with the library, or left alone."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from core.attention.ablation.ablate import ablate_heads, heads_of, without
from core.attention.ablation.question import ask
from core.attention.capture import capture
from core.attention.layers import plan_of
from core.attention.scores import attention_layers, scores_by_layer
from core.checkpoints.spec import Checkpoint
from core.errors import InputUnusable, NoAttentionMatrix
from core.language.inputs import Inputs
from core.language.makers import inputs
from core.run.attend import NAME
from core.vectors.positions import rotary_vectors
from tests import tinyhosts
from tests.library import library_model
from tests.parity.test_ablate import mutilated
from tests.parity.test_vectors import inputs_of, of_the_library, scores, softmax
from tests.tinyfamilies import BART, PLAIN, answer_of, text_for


def check_scores(checkpoint: Checkpoint) -> None:
    inputs = inputs_of(checkpoint)
    expected, recomputed = of_the_library(checkpoint, inputs), scores(checkpoint, inputs)
    assert recomputed.keys() == expected.keys()
    for kind, weights in expected.items():
        assert recomputed[kind].shape == weights.shape
        assert np.abs(weights - 1 / weights.shape[-1]).max() > 1e-3  # there is something to tell apart
        for layer, score, weight in zip(attention_layers(checkpoint)[kind], recomputed[kind], weights, strict=True):
            sinks = getattr(checkpoint.model.get_submodule(layer.module), "sinks", None)
            sink = np.full((layer.heads, 1, 1), -np.inf) if sinks is None else sinks.numpy()[:, None, None]
            with_sink = np.concatenate([score, np.broadcast_to(sink, (*score.shape[:2], 1))], axis=-1)
            np.testing.assert_allclose(softmax(with_sink)[..., :-1], weight, atol=1e-5)


def check_maps(checkpoint: Checkpoint) -> None:
    seq2seq = checkpoint.spec.kind == "seq2seq-lm"
    trace = capture(checkpoint, PLAIN, target="The dog sat on the mat." if seq2seq else None, vectors=True)
    assert len(trace.maps) == (3 if seq2seq else 1)
    for attention_map in trace.maps:
        assert attention_map.queries.shape[:3] == attention_map.weights.shape[:3]
        assert attention_map.keys.shape[:3] == (*attention_map.weights.shape[:2], attention_map.weights.shape[3])
        sums = attention_map.weights.sum(-1)
        if "Rows sum to less than one" in attention_map.note:
            assert sums.min() < 0.99
            assert sums.max() < 1
        else:
            np.testing.assert_allclose(sums, 1.0, atol=1e-4)
        seen = (
            True
            if attention_map.allowed is None
            else np.broadcast_to(attention_map.allowed, attention_map.weights.shape)
        )
        np.testing.assert_array_equal(attention_map.weights > 0, seen)


def check_heads(checkpoint: Checkpoint) -> None:
    question = inputs(checkpoint, text_for(checkpoint), step=0)
    every = heads_of(checkpoint)
    off = [set(), {every[1]}, set({head.kind: head for head in every}.values()), set(every)]
    logs = ask(question, len(off), edits=without(checkpoint, off)).logs
    for row, heads in enumerate(off):
        expected = answer_of(mutilated(checkpoint, heads), question)
        torch.testing.assert_close(logs[row], expected, atol=2e-4, rtol=1e-4)
        assert row == 0 or not torch.allclose(logs[row], logs[0], atol=1e-4), "nothing was switched off"
    assert ablate_heads(checkpoint, text_for(checkpoint), every[:1]).bits >= 0


@pytest.mark.parametrize("name", ["encoder nomic_bert", "decoder gpt_oss", "both t5gemma"])
def test_maps_scores_and_heads_are_the_librarys(name: str) -> None:
    check_scores(tinyhosts.make(name))
    check_maps(tinyhosts.make(name))
    check_heads(tinyhosts.make(name))


def anew(name: str) -> Any:
    """A host's model that nothing has prepared."""
    return library_model(tinyhosts.make(name).model)


def checkpoint_of(name: str, model: Any) -> Checkpoint:
    checkpoint = tinyhosts.make(name)
    return Checkpoint(model, checkpoint.tokenizer, checkpoint.spec)


def check_kept(checkpoint: Checkpoint) -> None:
    """The attention is the library's: its maps are shown, its queries and keys are not."""
    model = checkpoint.model
    assert model.config._attn_implementation == "eager"
    assert not any("_attends" in vars(module) for module in model.modules())
    inputs = inputs_of(checkpoint)
    with pytest.raises(NoAttentionMatrix, match="queries, keys and heads cannot be read here"):
        scores_by_layer(Inputs(checkpoint, inputs, ()))
    assert len(capture(checkpoint, PLAIN).maps) == 1


def test_weights_that_are_not_the_librarys_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here the library doubles the scores after all, and nothing that is passed along says so."""
    model = anew("decoder phi3")
    library = sys.modules[type(model).__module__]
    eager = library.eager_attention_forward  # type: ignore[attr-defined]

    def doubled(module: Any, query: Any, *others: Any, **more: Any) -> Any:
        return eager(module, query * 2, *others, **more)

    monkeypatch.setattr(library, "eager_attention_forward", doubled)
    check_kept(checkpoint_of("decoder phi3", model))


def test_a_head_that_reads_other_tokens_is_refused() -> None:
    """An intervention gives the head one state."""

    class Mixing(torch.nn.Linear):
        def forward(self, states: torch.Tensor) -> torch.Tensor:
            return super().forward(states + states.mean(1, keepdim=True))

    model = anew("decoder phi3")
    model.lm_head.__class__ = Mixing
    check_kept(checkpoint_of("decoder phi3", model))


def test_a_model_that_fails_on_a_few_tokens_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    model = anew("decoder phi3")

    def failing(self: Any, *_: Any, **__: Any) -> None:
        raise RuntimeError("no pass of seven tokens")

    with monkeypatch.context() as patched:
        patched.setattr(type(model), "forward", failing)
        checkpoint = checkpoint_of("decoder phi3", model)
    check_kept(checkpoint)


def test_attention_that_calls_no_function_is_kept() -> None:
    check_kept(tinyhosts.make("decoder bloom"))


TURNS: dict[str, tuple[Any, dict[str, Any], int]] = {
    "decoder diffllama": ("causal-lm", tinyhosts.SHARED, 2),  # a module attends twice, with the same weights
    "decoder hrm_text": ("causal-lm", tinyhosts.SHARED | {"head_dim": 4}, 16),  # layers run again and again
    "both seamless_m4t": ("seq2seq-lm", BART | {"hidden_size": 16}, 3),  # its decoder has a name of its own
}


@pytest.mark.parametrize("name", TURNS)
def test_calls_of_a_module_are_its_layers_in_turn(name: str) -> None:
    kind, settings, count = TURNS[name]
    checkpoint = tinyhosts.build(name, kind, settings)
    assert len(attention_layers(checkpoint)["decoder"]) == count
    inputs = inputs_of(checkpoint)
    expected, recomputed = of_the_library(checkpoint, inputs), scores(checkpoint, inputs)
    for of_kind, weights in expected.items():
        np.testing.assert_allclose(softmax(recomputed[of_kind]), weights, atol=1e-5)
        assert np.abs(weights[0] - weights[1]).max() > 1e-3
    heads = heads_of(checkpoint)
    assert ablate_heads(checkpoint, PLAIN, heads[-1:]).bits > 0


def test_a_sink_that_scales_the_output_is_seen_in_the_weights() -> None:
    """The library returns Granite's weights without its sinks; what a head puts out is their sum with them."""
    settings = tinyhosts.SHARED | {"sliding_window": 5, "layer_types": ["sliding_attention", "full_attention"]}
    checkpoint = tinyhosts.build("decoder granite_swa", "causal-lm", settings)
    decoder = capture(checkpoint, PLAIN).decoder
    assert decoder is not None
    ids = torch.tensor([checkpoint.tokenizer(PLAIN)["input_ids"]])
    expected = of_the_library(checkpoint, {"input_ids": ids})["decoder"]
    assert decoder.weights.sum(-1).max() < 1
    assert "every head has a sink" in decoder.note
    np.testing.assert_allclose(decoder.weights / decoder.weights.sum(-1, keepdims=True), expected, atol=1e-5)


def test_layers_that_share_a_module_are_not_told_apart() -> None:
    """transformers returns the weights of each once for every layer that has the module."""
    model = anew("decoder phi3")
    model.model.layers[1].self_attn = model.model.layers[0].self_attn
    check_kept(checkpoint_of("decoder phi3", model))


@pytest.mark.parametrize("name", tinyhosts.ALL)
def test_a_model_is_as_before(name: str) -> None:
    """Its answers, its numbers and the random generator, whether its attention was found or not."""
    model, library = anew(name), anew(name)
    numbers = {key: value.clone() for key, value in (*model.named_parameters(), *model.named_buffers())}
    generator = torch.get_rng_state()
    checkpoint = checkpoint_of(name, model)
    assert bool(plan_of(checkpoint).layers) == (name in tinyhosts.HOOKED)
    assert torch.equal(torch.get_rng_state(), generator)
    for key, value in (*model.named_parameters(), *model.named_buffers()):
        assert torch.equal(value, numbers[key]), key
    inputs = inputs_of(checkpoint)
    answers = []
    for entry in (model, library):
        torch.manual_seed(0)  # some hash at random
        with torch.inference_mode():
            answers.append(entry(**inputs).logits)
    torch.testing.assert_close(*answers, atol=1e-4, rtol=1e-5)


def test_layers_are_found_once() -> None:
    checkpoint = tinyhosts.make("decoder qwen3")
    layers_by_kind = attention_layers(checkpoint)
    assert [layer.module for layer in layers_by_kind["decoder"]] == [f"model.layers.{i}.self_attn" for i in range(2)]
    assert {layer.heads for layer in layers_by_kind["decoder"]} == {4}
    passes: list[Any] = []
    handle = checkpoint.model.register_forward_pre_hook(lambda _, inputs: passes.append(inputs))
    again = Checkpoint(checkpoint.model, checkpoint.tokenizer, checkpoint.spec)
    handle.remove()
    assert attention_layers(again) is layers_by_kind
    assert not passes


def test_visitors_read_one_model_at_once() -> None:
    checkpoint = tinyhosts.make("decoder gpt_oss")
    inputs = inputs_of(checkpoint)
    interface = transformers.AttentionInterface()
    functions = {name: interface[name] for name in interface if name != NAME}

    def read() -> Any:
        with torch.inference_mode():
            return torch.cat(checkpoint.model(**inputs, output_attentions=True).attentions).numpy()

    before = read()
    with ThreadPoolExecutor(2) as pool:  # one visitor looks inside while another only reads
        looks = [pool.submit(scores_by_layer, Inputs(checkpoint, inputs, ())) for _ in range(4)]
        reads = [pool.submit(read) for _ in range(4)]
        for look, weights in zip(looks, reads, strict=True):
            np.testing.assert_array_equal(weights.result(), before)
            layer_weights = torch.stack([layer.weights for _, layer in look.result()["decoder"]])
            np.testing.assert_array_equal(layer_weights.numpy(), before)
    assert {name: interface[name] for name in interface if name != NAME} == functions


def test_what_the_score_is_beside_the_product_is_said() -> None:
    def notes(name: str, target: str | None = None) -> list[str]:
        return [
            attention_map.note
            for attention_map in capture(tinyhosts.make(name), PLAIN, target=target, vectors=True).maps
        ]

    (gpt_oss,), (gemma2,) = notes("decoder gpt_oss"), notes("decoder gemma2")
    for note in (gpt_oss, gemma2):
        assert note.count("Queries and keys are shown as they enter the scores, after any norms and rotations") == 1
        assert note.count("Several heads share a key") == 1
    assert "every head has a sink" in gpt_oss
    assert "Their product is multiplied by 0.378, not" in gemma2  # 7 ** -0.5, where the head dimension is 6
    assert "one more term, a bias for the distance" in notes("both umt5", "The dog.")[0]
    assert all("limited to -2 to 2 by a hyperbolic tangent" in note for note in notes("both t5gemma", "The dog."))


def test_queries_before_a_rotation_are_not_claimed_to_be_unrotated() -> None:
    with pytest.raises(InputUnusable, match="only after they are rotated"):
        rotary_vectors(tinyhosts.make("decoder gpt_oss"), PLAIN)


def test_windows_are_those_of_each_side_and_layer() -> None:
    modernbert = capture(tinyhosts.make("encoder modernbert"), PLAIN).encoder
    assert [bool(modernbert.computed(layer, 0).all()) for layer in range(4)] == [True, False, False, True]
    assert modernbert.computed(1, 0)[6].nonzero()[0].tolist() == [3, 4, 5, 6, 7, 8, 9]
    trace = capture(tinyhosts.make("both t5gemma"), PLAIN)
    assert trace.encoder.computed(0, 0)[10].nonzero()[0].tolist() == list(range(5, 16))
    assert trace.decoder.computed(1, 0)[10].nonzero()[0].tolist() == list(range(6, 11))
    assert trace.decoder.computed(0, 0)[10].nonzero()[0].tolist() == list(range(11))
