"""Attention of an architecture without a blueprint, read at its own calls: checked, said, and harmless to others."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from core.attention.ablation.ablate import HeadMask, ablate_heads, heads_of
from core.attention.ablation.question import Reader, prepare_question
from core.attention.architectures.hooks import NAME, register_attention_hook
from core.attention.architectures.recording import private_twin
from core.attention.architectures.vectors import attention_layers, scores_by_layer
from core.attention.capture import capture
from core.checkpoints.spec import Checkpoint
from core.errors import InputUnusable, NoAttentionMatrix, ScoresUnreadable
from core.vectors.positions import rotary_vectors
from tests import tinyhosts
from tests.parity.test_ablate import mutilated
from tests.parity.test_vectors import inputs_of, of_the_library, scores, softmax
from tests.tinyfamilies import PLAIN, answer_of, text_for


def check_scores(checkpoint: Checkpoint) -> None:
    given = inputs_of(checkpoint)
    expected, found = of_the_library(checkpoint, given), scores(checkpoint, given)
    assert found.keys() == expected.keys()
    for kind, weights in expected.items():
        assert found[kind].shape == weights.shape
        assert np.abs(weights - 1 / weights.shape[-1]).max() > 1e-3  # there is something to tell apart
        for layer, score, own in zip(attention_layers(checkpoint)[kind], found[kind], weights, strict=True):
            sinks = getattr(checkpoint.model.get_submodule(layer.module), "sinks", None)
            sink = np.full((layer.heads, 1, 1), -np.inf) if sinks is None else sinks.numpy()[:, None, None]
            with_sink = np.concatenate([score, np.broadcast_to(sink, (*score.shape[:2], 1))], axis=-1)
            np.testing.assert_allclose(softmax(with_sink)[..., :-1], own, atol=1e-5)


def check_maps(checkpoint: Checkpoint) -> None:
    seq2seq = checkpoint.spec.kind == "seq2seq-lm"
    trace = capture(checkpoint, PLAIN, target="The dog sat on the mat." if seq2seq else None, vectors=True)
    assert len(trace.maps) == (3 if seq2seq else 1)
    for found in trace.maps:
        assert found.queries.shape[:3] == found.weights.shape[:3]
        assert found.keys.shape[:3] == (*found.weights.shape[:2], found.weights.shape[3])
        sums = found.weights.sum(-1)
        if "Rows sum to less than one" in found.note:
            assert sums.min() < 0.99
            assert sums.max() < 1
        else:
            np.testing.assert_allclose(sums, 1.0, atol=1e-4)
        seen = True if found.allowed is None else np.broadcast_to(found.allowed, found.weights.shape)
        np.testing.assert_array_equal(found.weights > 0, seen)


def check_heads(checkpoint: Checkpoint) -> None:
    question = prepare_question(checkpoint, text_for(checkpoint))
    every = heads_of(checkpoint)
    off = [set(), {every[1]}, set({head.kind: head for head in every}.values()), set(every)]
    reader = Reader(question)
    HeadMask(reader.model, checkpoint).ablate(off)
    found = reader.answers(len(off))
    for row, heads in enumerate(off):
        expected = answer_of(mutilated(checkpoint, heads), question)
        torch.testing.assert_close(found[row], expected, atol=2e-4, rtol=1e-4)
        assert row == 0 or not torch.allclose(found[row], found[0], atol=1e-4), "nothing was switched off"
    assert ablate_heads(checkpoint, text_for(checkpoint), every[:1]).bits >= 0


@pytest.mark.parametrize("name", ["encoder nomic_bert", "decoder gpt_oss", "both t5gemma"])
def test_maps_scores_and_heads_are_the_librarys(name: str) -> None:
    check_scores(tinyhosts.make(name))
    check_maps(tinyhosts.make(name))
    check_heads(tinyhosts.make(name))


def test_weights_that_the_calls_do_not_explain_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here the library doubles the scores after all, and nothing that is passed along says so."""
    checkpoint = tinyhosts.make("decoder phi3")
    given = inputs_of(checkpoint)
    assert len(scores_by_layer(checkpoint, given)["decoder"]) == 2
    library = sys.modules[type(checkpoint.model).__module__]
    eager = library.eager_attention_forward  # type: ignore[attr-defined]

    def doubled(module: Any, query: Any, *rest: Any, **more: Any) -> Any:
        return eager(module, query * 2, *rest, **more)

    monkeypatch.setattr(library, "eager_attention_forward", doubled)
    with pytest.raises(NoAttentionMatrix, match="queries, keys and heads cannot be read here"):
        scores_by_layer(checkpoint, given)


def test_queries_and_keys_of_attention_that_calls_no_function_are_refused() -> None:
    checkpoint = tinyhosts.make("decoder bloom")
    for look in (lambda: capture(checkpoint, PLAIN, vectors=True), lambda: heads_of(checkpoint)):
        with pytest.raises(ScoresUnreadable, match=r"bloom.*cannot be read here"):
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
        looks = [pool.submit(scores_by_layer, checkpoint, given) for _ in range(4)]
        reads = [pool.submit(of_the_library, checkpoint, given) for _ in range(4)]
        for look, read in zip(looks, reads, strict=True):
            assert len(look.result()["decoder"]) == 2
            np.testing.assert_array_equal(read.result()["decoder"], before)
    for module, config, own in zip(model.modules(), configs, keys, strict=True):
        assert getattr(module, "config", None) is config
        assert set(vars(module)) <= own | {"_output_capturing_hooks_installed"}
        assert config is None or type(config._attn_implementation) is str
    assert {name: interface[name] for name in interface if name != NAME} == functions


def test_a_hook_leaves_the_configurations_within_a_configuration_alone() -> None:
    """Naming a function in a configuration names it in those of its parts, which are the shared model's."""
    own: Any = private_twin(tinyhosts.make("decoder qwen3"))
    module = own.model.layers[0].self_attn
    whole = transformers.Gemma3Config(attn_implementation="eager")
    module.config = whole
    register_attention_hook(module, "here", lambda _: None)
    assert module.config._attn_implementation == NAME
    assert whole._attn_implementation == whole.text_config._attn_implementation == "eager"


def test_layers_are_found_once() -> None:
    checkpoint = tinyhosts.make("decoder qwen3")
    found = attention_layers(checkpoint)
    assert [layer.module for layer in found["decoder"]] == [f"model.layers.{i}.self_attn" for i in range(2)]
    assert {layer.heads for layer in found["decoder"]} == {4}
    assert attention_layers(checkpoint) is found


def test_what_the_score_is_beside_the_product_is_said() -> None:
    def notes(name: str, target: str | None = None) -> list[str]:
        return [found.note for found in capture(tinyhosts.make(name), PLAIN, target=target, vectors=True).maps]

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
